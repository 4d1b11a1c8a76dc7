"""Wire types for quarantined rows, shared by the commands and the gateway."""

from datetime import datetime
from typing import Literal

from msgspec import Struct

from gateway.control.order import Order


class QuarantineLine(Struct, frozen=True):
    """A quarantined row as the owner sees it."""

    id: str
    kind: str
    reason: str
    why: str
    at: datetime
    excerpt: str


class QuarantineAnswer(Struct, frozen=True):
    """The rows in quarantine, oldest first, or the outcome of a decision."""

    rows: tuple[QuarantineLine, ...] = ()
    files: tuple[str, ...] = ()
    """Files excluded from search because the memory worker crashed on them, as `file:<agent>:<path>`."""
    outcome: str = ""


class QuarantineOrder(Order[QuarantineAnswer], frozen=True):
    """A request about quarantined rows, or a decision about one of them."""

    act: Literal["list", "retry", "drop"]
    id: str | None = None
    """Id of the row; unset for `list`."""
