"""Guard for drafts: text that was streamed once is not streamed again by a second attempt."""

from gateway.agent.models.port import OnText


class DraftRelay:
    """Passes text on until an attempt fails that had shown some; from then on only the final text counts."""

    def __init__(self, on_text: OnText) -> None:
        self._on_text = on_text
        self._has_text = False
        self._is_spoilt = False

    async def __call__(self, text: str) -> None:
        if not self._is_spoilt:
            self._has_text = True
            await self._on_text(text)

    def attempt_failed(self) -> None:
        """Record that the text so far is not part of the answer."""
        self._is_spoilt = self._has_text
