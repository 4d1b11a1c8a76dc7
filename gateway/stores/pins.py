"""Port to the pins, which determine the authoritative copy of an agent's files among several gateways."""

from msgspec import Struct

from workspaces.lazy_pattern import lazy_pattern


class Pin(Struct, frozen=True):
    """Identifies one copy of an agent's files; stored both in their folder and in the store."""

    identity: str
    """Identity of the files; copies share it."""
    claims: int
    """How often a gateway claimed the agent; a stale copy has a lower count."""
    number: str
    """Random number of the last claim: two copies with equally many claims differ in it."""

    def __str__(self) -> str:
        return f"{self.identity} {self.claims} {self.number}"

    @classmethod
    def read(cls, text: str) -> "Pin | None":
        """Parse the result of `str`; `None` for anything else."""
        found = _PIN.fullmatch(text.strip())
        return cls(found["identity"], int(found["claims"]), found["number"]) if found else None


_PIN = lazy_pattern(r"\A(?P<identity>\S+) (?P<claims>[0-9]{1,18}) (?P<number>\S+)")


class KnownAgent(Struct, frozen=True):
    """The store's knowledge of one agent."""

    pin: Pin | None
    """`None`: not yet claimed by a gateway."""
    is_free: bool
    """No other live gateway runs it."""
