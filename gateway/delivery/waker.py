"""Wakes the sender of replies: whoever commits replies may hold it, also a part that the sender itself needs."""

from collections.abc import Callable, Sequence

from gateway.stores.rows import OutboxRow

Wake = Callable[[Sequence[OutboxRow]], None]
"""Takes replies that were just committed."""


class OutboxWaker:
    """Passes committed replies on; while nobody sends, they stay in the outbox for the next recovery."""

    def __init__(self) -> None:
        self._sender: Wake | None = None

    def lead_to(self, sender: Wake) -> None:
        """Pass replies on to *sender* from now on."""
        self._sender = sender

    def wake(self, rows: Sequence[OutboxRow]) -> None:
        """Have *rows*, just committed, sent."""
        if self._sender is not None:
            self._sender(rows)
