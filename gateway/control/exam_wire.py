"""The memory examination's order and its answer."""

from datetime import datetime
from typing import Literal

from msgspec import Struct, field

from gateway.control.order import Order


class ExamPoint(Struct, frozen=True):
    """The figures of an earlier examination."""

    at: datetime
    found: int
    asked: int


class ExamReport(Struct, frozen=True):
    """The outcome of an examination."""

    asked: int
    found: int
    """Questions whose answer is among the first six hits."""
    first: int
    """Questions whose answer is the first hit."""
    kinds: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Found and asked by kind of fact."""
    missed: tuple[str, ...] = ()
    """The questions that were not answered, each with its place."""
    lost: float = 0.0
    """Share of the last examination's questions that are no longer answered; negative for a gain."""
    before: tuple[str, ...] = ()
    """Earlier examinations in words, the latest last."""
    trend: tuple[ExamPoint, ...] = ()
    """Their figures."""


class ExamOrder(Order[ExamReport], frozen=True):
    """A request to examine an agent's memory; `None` is the default agent."""

    agent: str | None = None
    act: Literal["examine", "list"] = "examine"
    """A list has earlier examinations alone."""


class AcceptIndexOrder(Order[bool], frozen=True):
    """A request to take a change of an agent's index into use that was held back; the answer: there was one."""

    agent: str | None = None
