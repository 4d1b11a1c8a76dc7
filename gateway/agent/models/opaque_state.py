"""State that a provider expects back with its own tool calls and that no history holds: signed thoughts."""

from typing import TypeVar

from gateway.runtime.bounded_dict import BoundedDict

MOST_KEPT = 500
"""Most calls that are kept; thoughts matter only within their own turn, so older ones may be dropped."""

T = TypeVar("T")


class OpaqueStates(BoundedDict[str, T]):
    """Provider state by call id; after a restart a provider goes on without it."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        super().__init__(most)
