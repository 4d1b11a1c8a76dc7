"""The memory examination's order and its answer."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from gateway.control.order import Order


@dataclass(frozen=True, slots=True)
class ExamPoint:
    """The figures of an earlier examination."""

    at: datetime
    found: int
    asked: int


@dataclass(frozen=True, slots=True)
class ExamReport:
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


@dataclass(frozen=True, slots=True)
class ExamOrder(Order[ExamReport]):
    """A request to examine an agent's memory; `None` is the default agent."""

    agent: str | None = None
    act: Literal["examine", "list"] = "examine"
    """A list has earlier examinations alone."""


@dataclass(frozen=True, slots=True)
class AcceptIndexOrder(Order[bool]):
    """A request to take a change of an agent's index into use that was held back; the answer: there was one."""

    agent: str | None = None
