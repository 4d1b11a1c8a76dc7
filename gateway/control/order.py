"""Orders: the operator's requests, each of which names the type of its answer."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Generic, TypeVar, get_args

from msgspec import Struct

Answer = TypeVar("Answer")


class Order(Struct, Generic[Answer], frozen=True):
    """A request of the operator's; each struct below it, such as `PairOrder(Order[PairAnswer])`, is one kind."""


class LongOrder(Order[str], frozen=True):
    """A request that reports its progress; its answer describes the outcome."""


Progress = Callable[[int, int], None]
"""Receives the number of steps done, such as changed notes that are indexed, and their total."""


def ignore_progress(_done: int, _total: int) -> None:
    """Ignore the progress of an order, for callers that wait for the outcome alone."""


ShortAnswers = Mapping[type[Order[Any]], Callable[[Any], Awaitable[Any]]]


class Answers(Struct, frozen=True):
    """The functions that answer orders, by their kind."""

    short: ShortAnswers
    long: Mapping[type[LongOrder], Callable[[Any, Progress], Awaitable[str]]]


def path_of(kind: type[Order[Answer]]) -> str:
    """Return the path to which orders of this *kind* are posted: `/control/pair` for a `PairOrder`."""
    return f"/control/{kind.__name__.removesuffix('Order').lower()}"


def answer_of(kind: type[Order[Answer]]) -> type[Answer]:
    answer: type[Answer] = get_args(vars(kind)["__orig_bases__"][0])[0]
    return answer
