"""The outcome of one doctor check."""

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """Severity."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of one check."""

    check: str
    level: Level
    detail: str
    mend: str = ""
    """Remedy."""
