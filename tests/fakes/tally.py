"""Counter of reason codes, like the store's ledger."""

from collections import Counter


class Tally:
    """A `Count` that stores its counts."""

    def __init__(self) -> None:
        self.reasons: Counter[str] = Counter()

    async def count(self, reason: str) -> None:
        """Count *reason* once."""
        self.reasons[reason] += 1
