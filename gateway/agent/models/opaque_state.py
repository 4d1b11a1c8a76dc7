"""This file keeps what a provider wants back with its own tool calls, and no history holds: signed thoughts."""

from collections import OrderedDict
from typing import Generic, TypeVar

MOST_KEPT = 500
"""How many calls; thoughts matter within the turn that had them, so what is older may go."""

T = TypeVar("T")


class Keepsakes(Generic[T]):
    """What goes back with each call, by the call's id; after a restart a provider goes on without."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most = most
        self._kept: OrderedDict[str, T] = OrderedDict()

    def keep(self, call_id: str, thought: T) -> None:
        """Keep *thought* for the call; the oldest one goes where there are too many."""
        self._kept[call_id] = thought
        self._kept.move_to_end(call_id)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)

    def of(self, call_id: str) -> T | None:
        """Return what was kept for the call."""
        return self._kept.get(call_id)
