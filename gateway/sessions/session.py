"""This file is a session between two turns, as whoever looks after it holds it, and why it rests or ends."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from gateway.admission.routing import SessionKey, session_access
from gateway.agent.agent import Agent
from gateway.agent.tools.tool import Run
from gateway.transcripts.writer import Transcript
from workspaces.access import Access
from workspaces.history import Origin


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
