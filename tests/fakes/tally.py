"""This file counts reason codes, as the store's ledger does."""

from collections import Counter


class Tally:
    """A `Count` that remembers."""

    def __init__(self) -> None:
        self.reasons: Counter[str] = Counter()

    async def count(self, reason: str) -> None:
        """Count one."""
        self.reasons[reason] += 1
