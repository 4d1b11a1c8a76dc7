"""Orders: the operator's requests, each of which names the type of its answer."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Generic, TypeVar, get_args

Answer = TypeVar("Answer")


class Order(Generic[Answer]):
    """A request of the operator's; each dataclass below it, such as `PairOrder(Order[PairAnswer])`, is one kind."""

    __slots__ = ()


Answers = Mapping[type[Order[Any]], Callable[[Any], Awaitable[Any]]]
"""The function that answers each kind of order."""


def path_of(kind: type[Order[Answer]]) -> str:
    """Return the path to which orders of this *kind* are posted: `/control/pair` for a `PairOrder`."""
    return f"/control/{kind.__name__.removesuffix('Order').lower()}"


def answer_of(kind: type[Order[Answer]]) -> type[Answer]:
    answer: type[Answer] = get_args(vars(kind)["__orig_bases__"][0])[0]
    return answer
