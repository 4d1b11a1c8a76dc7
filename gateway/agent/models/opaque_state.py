"""State that a provider expects back with its own tool calls and that no history holds: signed thoughts."""

from collections import OrderedDict
from typing import Generic, TypeVar

MOST_KEPT = 500
"""Most calls that are kept; thoughts matter only within their own turn, so older ones may be dropped."""

T = TypeVar("T")


class Keepsakes(Generic[T]):
    """Provider state by call id; after a restart a provider goes on without it."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most = most
        self._kept: OrderedDict[str, T] = OrderedDict()

    def keep(self, call_id: str, thought: T) -> None:
        """Store *thought* for the call; the oldest entry is dropped when there are too many."""
        self._kept[call_id] = thought
        self._kept.move_to_end(call_id)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)

    def of(self, call_id: str) -> T | None:
        """Return the state stored for the call."""
        return self._kept.get(call_id)
