"""One small request to each model and platform that a gateway uses, and its outcome."""

from msgspec import Struct

from gateway.control.order import Order


class ProbeRow(Struct, frozen=True):
    """The answer of one model or bot account."""

    name: str
    """Such as `models.command` or `telegram.home`."""
    detail: str = ""
    """Its answer, if it works."""
    faults: tuple[str, ...] = ()
    """What keeps it from working, each with the remedy."""


class ProbeAnswer(Struct, frozen=True):
    """The answers of all of them."""

    models: tuple[ProbeRow, ...] = ()
    channels: tuple[ProbeRow, ...] = ()
    """The accounts that are loaded; none without a running gateway."""


class ProbeOrder(Order[ProbeAnswer], frozen=True):
    """A request to ask each model for one word, and each platform for its bot's setup."""
