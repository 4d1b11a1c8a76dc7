"""Settings of messages that arrive during an answer."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from pydantic import Field


class QueueMode(StrEnum):
    """Handling of a message that arrives while its sender's last one is being answered."""

    FOLLOW_UP = "follow_up"
    """It waits for a turn of its own."""
    COLLECT = "collect"
    """It waits, and is answered together with all messages waiting by then."""
    STEER = "steer"
    """The running turn reads it before the model's next step; messages too late for that are collected."""
    INTERRUPT = "interrupt"
    """The running turn ends without an answer; all waiting messages are answered together."""


@dataclass(frozen=True, slots=True)
class QueueSettings:
    """Handling of messages that arrive during an answer, and how many wait in memory."""

    mode: QueueMode = QueueMode.FOLLOW_UP
    debounce_ms: Annotated[int, Field(ge=0, le=10_000)] = 0
    """Messages of one sender in quicker succession are answered together, in any mode."""
    together: Annotated[int, Field(ge=1, le=100)] = 20
    """Most messages that one turn answers; the reference system's cap."""
    session_memory: Annotated[int, Field(ge=1, le=100_000)] = 100
    """Most messages of one session in memory."""
    memory: Annotated[int, Field(ge=1, le=1_000_000)] = 10_000
    """Of all sessions together; each always has room for one, so that no chat can keep another out."""
