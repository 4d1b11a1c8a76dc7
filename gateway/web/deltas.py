"""Turns the drafts of an answer into deltas, which add up to the answer."""


class Growing:
    """The part of one answer that a client has received.

    A client cannot revoke text that it displayed. Text that a model writes before it calls a tool stays, and the next
    reply begins after an empty line; so does the answer itself if it does not continue the drafts.
    """

    def __init__(self) -> None:
        self._sent = ""
        """The part sent of the current reply."""

    def piece(self, text: str) -> str:
        """Return the new part of *text*, a whole draft or answer.

        Spaces at its ends are held back until more follows.
        """
        whole = text.strip()
        if not whole:
            return ""
        piece = whole.removeprefix(self._sent) if whole.startswith(self._sent) else f"\n\n{whole}"
        self._sent = whole
        return piece
