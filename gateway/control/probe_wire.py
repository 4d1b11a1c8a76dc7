"""One small request to each model and platform that a gateway uses, and what came of it."""

from dataclasses import dataclass

from gateway.control.order import Order


@dataclass(frozen=True, slots=True)
class ProbeRow:
    """What one model or bot account said."""

    name: str
    """Such as `models.command` or `telegram.home`."""
    detail: str = ""
    """Its answer, if it works."""
    faults: tuple[str, ...] = ()
    """What keeps it from working, each with the remedy."""


@dataclass(frozen=True, slots=True)
class ProbeAnswer:
    """What all of them said."""

    models: tuple[ProbeRow, ...] = ()
    channels: tuple[ProbeRow, ...] = ()
    """The accounts that are loaded; none without a running gateway."""


@dataclass(frozen=True, slots=True)
class ProbeOrder(Order[ProbeAnswer]):
    """A request to ask each model for one word, and each platform for its bot's setup."""
