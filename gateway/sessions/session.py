"""A session between two turns, and why it pauses or ends."""

from contextlib import AbstractContextManager

from msgspec import Struct

from gateway.admission.routing import SessionKey, session_access
from gateway.agent.agent import Agent
from gateway.transcripts.writer import Transcript
from workspaces.access import Access, Locality, read_by, rights
from workspaces.history import Origin
from workspaces.run_blocking import RunBlocking


class Session(Struct, frozen=True):
    """A conversation without a running turn."""

    key: SessionKey
    agent: Agent
    transcript: Transcript

    @property
    def access(self) -> Access:
        """Return access for its own audience, and no other, for the gateway's own work."""
        return read_by(session_access(self.key), Locality.HERE, is_house=self.transcript.records.has_house)


def noting(session: Session, *, has_read_others: bool = False) -> AbstractContextManager[RunBlocking]:
    """Return a block with a runner for the session's workspace, whose changes are one commit of the history.

    *has_read_others*: the text was written by somebody, such as a model, who had read others' words.
    """
    others = has_read_others or not rights(session.access).private
    return session.agent.changing(f"between turns of {session.key}", Origin(str(session.key)), lambda: others)
