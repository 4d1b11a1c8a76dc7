"""Reasons for a session's pause or end, and the item that waits for it in its lane."""

from enum import StrEnum

from msgspec import Struct

from gateway.admission.routing import SessionKey


class Ending(StrEnum):
    """Why a session is over; the next message begins a new one."""

    NEW = "new"
    RESET = "reset"
    IDLE = "idle"
    DAILY = "daily"


class Pause(StrEnum):
    """Why a session is written to the notes although it continues."""

    REST = "rest"
    """No messages for a while."""
    DAY = "day"
    """The owner's day has changed."""
    SWITCH = "switch"
    """The owner talks to another agent now."""
    SHUTDOWN = "shutdown"
    COMPACTION = "compaction"
    """Its older part is about to be summarised."""


class DueSession(Struct, frozen=True):
    """A session's due pause or end, which waits in the lane like a message."""

    key: SessionKey
    why: Ending | Pause
