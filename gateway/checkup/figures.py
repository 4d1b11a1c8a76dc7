"""Figures of a check-up: the quality of each lasting note, and how much of all notes is junk."""

from datetime import datetime

from msgspec import Struct


class NoteScore(Struct, frozen=True):
    """The quality of a lasting note: its score and the parts of it, each from 0 to 1."""

    citation: str
    text: str
    score: float
    stable: float
    specific: float
    confirmed: float
    recent: float
    used: float


class CheckupFigures(Struct, frozen=True):
    """The figures of one check-up; nothing of a note can be read from them."""

    at: datetime
    entries: int
    junk: float
    """Share of the entries that should change, from 0 to 1."""
    score: float
    """Mean quality of the lasting notes."""
