"""This file is a session between two turns, as whoever looks after it holds it, and why it rests or ends."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum

from gateway.admission.routing import SessionKey, session_access
from gateway.agent.agent import Agent
from gateway.agent.tools.tool import Run
from gateway.transcripts.writer import Transcript
from workspaces.access import Access
from workspaces.history import Origin


class Ending(StrEnum):
    """Why a session is over; the next message begins another one."""

    NEW = "new"
    RESET = "reset"
    IDLE = "idle"
    DAILY = "daily"


class Pause(StrEnum):
    """Why a session is written down although it goes on."""

    REST = "rest"
    """Nobody said anything for a while."""
    DAY = "day"
    """The owner's day has changed."""
    SWITCH = "switch"
    """The owner talks to another agent now."""
    SHUTDOWN = "shutdown"
    COMPACTION = "compaction"
    """Its older part is about to be summarised."""


@dataclass(frozen=True, slots=True)
class Session:
    """A conversation that nobody works on at the moment."""

    key: SessionKey
    agent: Agent
    transcript: Transcript

    @property
    def access(self) -> Access:
        """What is written of it goes to its own audience, and nowhere else."""
        return session_access(self.key)


@asynccontextmanager
async def noting(session: Session) -> AsyncIterator[Run]:
    """Give a way to work on the session's workspace; what changes while the block runs is one commit of its history."""
    keeper, turn = session.agent.keeper, f"between turns of {session.key}"
    try:
        yield keeper.noting(session.agent.run, turn, Origin(str(session.key)))
    finally:
        keeper.ended(turn)
