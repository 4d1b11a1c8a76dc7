"""This file is the port to what says, among several gateways, which copy of an agent's files is the one."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Pin:
    """Names one copy of an agent's files; the same stands in their folder and in the store."""

    identity: str
    """Of the files; a copy has it too."""
    claims: int
    """How often a gateway took the agent; a copy that was left behind knows of fewer."""
    number: str = ""
    """Of the last claim, by chance: two copies that were claimed equally often differ in it. Pins from before there
    were such numbers have none."""

    def __str__(self) -> str:
        return " ".join(filter(None, (self.identity, str(self.claims), self.number)))

    @classmethod
    def read(cls, text: str) -> "Pin | None":
        """Return what `str` wrote; `None` for anything else."""
        found = _PIN.fullmatch(text.strip())
        return cls(found["identity"], int(found["claims"]), found["number"] or "") if found else None


_PIN = re.compile(r"\A(?P<identity>\S+) (?P<claims>[0-9]{1,18})(?: (?P<number>\S+))?")


@dataclass(frozen=True, slots=True)
class Known:
    """What the store knows of one agent."""

    pin: Pin | None
    """`None`: no gateway that marks files took it yet."""
    is_free: bool
    """No other gateway that lives looks after it."""
    had_messages: bool = False
    """It has no pin, and messages for it came in while a gateway looked after it: one that marked no files yet."""


class Pins(Protocol):
    """Which gateway may take which agent, by the files that it has."""

    async def known(self, agents: Sequence[str]) -> Mapping[str, Known]:
        """Return what is known of each of *agents*."""

    async def take(self, agent: str, had: Pin | None, fresh: Pin) -> bool:
        """Look after *agent* and make *fresh* its pin; `False`, with nothing done, if it is not free or *had* is not
        its pin. Raises LeaseLostError."""
