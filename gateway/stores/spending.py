"""This file is the port to what models have cost: by agent, by day and by what it was spent on."""

from collections.abc import Mapping
from dataclasses import astuple, dataclass
from datetime import date
from typing import Protocol

NANOS = 1_000_000_000
"""Of `Spend.nanos`, in one unit of money."""


@dataclass(frozen=True, slots=True)
class Spend:
    """Tokens and money; an amount that takes back what was counted before is negative."""

    input_tokens: int = 0
    """All that was read, what the provider had cached included."""
    output_tokens: int = 0
    cached_tokens: int = 0
    nanos: int = 0
    """Money, in thousand-millionths of the unit in which prices are given: whole numbers add up exactly."""
    unpriced_tokens: int = 0
    """Read and written by models whose price nobody knows: they are in no sum of money."""

    @property
    def tokens(self) -> int:
        """Read and written."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: "Spend") -> "Spend":
        return Spend(*(mine + theirs for mine, theirs in zip(astuple(self), astuple(other), strict=True)))

    def __sub__(self, other: "Spend") -> "Spend":
        return Spend(*(mine - theirs for mine, theirs in zip(astuple(self), astuple(other), strict=True)))


class Spending(Protocol):
    """What was spent; days are the owner's."""

    async def add(self, agent: str, day: date, cause: str, spend: Spend) -> None:
        """Add *spend* to what *agent* spent on *day* for *cause*."""

    async def correct(self, agent: str, day: date, cause: str, spend: Spend) -> None:
        """Add *spend* as `add` does, durable with what is stored next or soon after; `on` tells it at once.

        A crash may lose it, and so may a disk that fails: what it corrects then stands.
        """

    async def on(self, agent: str, day: date) -> Mapping[str, Spend]:
        """Return what *agent* spent on *day*, by cause; a cause for which nothing was is left out."""
