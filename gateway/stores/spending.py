"""Port to model costs, by agent, day and cause."""

from collections.abc import Mapping
from datetime import date
from typing import Protocol

from msgspec import Struct, structs

NANOS = 1_000_000_000
"""`Spend.nanos` in one unit of money."""


class Spend(Struct, frozen=True):
    """Tokens and money; a negative amount corrects an earlier one."""

    input_tokens: int = 0
    """All input tokens, including those that the provider had cached."""
    output_tokens: int = 0
    cached_tokens: int = 0
    nanos: int = 0
    """Money, in thousand-millionths of the unit of the prices: whole numbers add up exactly."""
    unpriced_tokens: int = 0
    """Input and output tokens of models without a known price: no sum of money includes them."""

    @property
    def tokens(self) -> int:
        """Input and output tokens."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: "Spend") -> "Spend":
        return Spend(
            *(mine + theirs for mine, theirs in zip(structs.astuple(self), structs.astuple(other), strict=True))
        )

    def __sub__(self, other: "Spend") -> "Spend":
        return Spend(
            *(mine - theirs for mine, theirs in zip(structs.astuple(self), structs.astuple(other), strict=True))
        )


class Spending(Protocol):
    """Spending records; days are the owner's."""

    async def add(self, agent: str, day: date, cause: str, spend: Spend) -> None:
        """Add *spend* to the spending of *agent* on *day* for *cause*."""

    async def correct(self, agent: str, day: date, cause: str, spend: Spend) -> None:
        """Add *spend* as `add` does, durable with the next write or soon after; `on` includes it at once.

        A crash or a disk failure may lose it: the uncorrected amount then stands.
        """

    async def on(self, agent: str, day: date) -> Mapping[str, Spend]:
        """Return the spending of *agent* on *day*, by cause; causes without any are omitted."""


def dollars(nanos: int) -> str:
    """Format an amount of money; small amounts keep enough digits to differ from zero."""
    amount = nanos / NANOS
    return f"${amount:,.2f}" if amount >= 1 or not nanos else f"${amount:.4f}"
