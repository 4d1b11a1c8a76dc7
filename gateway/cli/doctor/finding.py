"""This file is the outcome of one of the doctor's checks."""

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How bad it is."""

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
    """What to do about it."""
