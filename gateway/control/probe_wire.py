"""One small request to each model and platform that a gateway uses, and its outcome."""

from dataclasses import dataclass

from gateway.control.order import Order


@dataclass(frozen=True, slots=True)
class ProbeRow:
    """The answer of one model or bot account."""

    name: str
    """Such as `models.command` or `telegram.home`."""
    detail: str = ""
    """Its answer, if it works."""
    faults: tuple[str, ...] = ()
    """What keeps it from working, each with the remedy."""


@dataclass(frozen=True, slots=True)
class ProbeAnswer:
    """The answers of all of them."""

    models: tuple[ProbeRow, ...] = ()
    channels: tuple[ProbeRow, ...] = ()
    """The accounts that are loaded; none without a running gateway."""


@dataclass(frozen=True, slots=True)
class ProbeOrder(Order[ProbeAnswer]):
    """A request to ask each model for one word, and each platform for its bot's setup."""
