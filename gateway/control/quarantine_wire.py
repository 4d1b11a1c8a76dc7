"""Wire types for quarantined rows, shared by the commands and the gateway."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from gateway.control.order import Order


@dataclass(frozen=True, slots=True)
class QuarantineLine:
    """A quarantined row as the owner sees it."""

    id: str
    kind: str
    reason: str
    why: str
    at: datetime
    excerpt: str


@dataclass(frozen=True, slots=True)
class QuarantineAnswer:
    """The rows in quarantine, oldest first, or the outcome of a decision."""

    rows: tuple[QuarantineLine, ...] = ()
    files: tuple[str, ...] = ()
    """Files excluded from search because the memory worker crashed on them, as `file:<agent>:<path>`."""
    outcome: str = ""


@dataclass(frozen=True, slots=True)
class QuarantineOrder(Order[QuarantineAnswer]):
    """A request about quarantined rows, or a decision about one of them."""

    act: Literal["list", "retry", "drop"]
    id: str | None = None
    """Id of the row; unset for `list`."""
