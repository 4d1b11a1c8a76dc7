"""This file turns the drafts of an answer into pieces that, put together, are the answer."""


class Growing:
    """What a client has been sent of one answer.

    A client cannot take back what it showed. What a model writes before it calls a tool stays, and the next reply
    begins after an empty line; so does the answer itself where it is not what the drafts led to.
    """

    def __init__(self) -> None:
        self._sent = ""
        """Of the reply that is being written."""

    def piece(self, text: str) -> str:
        """Return what is new in *text*, a draft or the answer, whole; spaces at its ends wait for what follows."""
        whole = text.strip()
        if not whole:
            return ""
        piece = whole.removeprefix(self._sent) if whole.startswith(self._sent) else f"\n\n{whole}"
        self._sent = whole
        return piece
