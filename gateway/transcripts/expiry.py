"""Expiry of subagents' transcripts, once they are old and no note cites them."""

from collections.abc import Collection, Mapping
from datetime import datetime

import structlog

from gateway.admission.routing import SessionKey
from gateway.agent.agent import Agent
from gateway.transcripts.memory_source import FOLDER
from gateway.transcripts.store import Sessions
from workspaces.access import AgentId, SessionType
from workspaces.files import Folder
from workspaces.lazy_pattern import lazy_pattern

log = structlog.get_logger()

FORGOTTEN = "helper_forgotten"
"""Reason code: counted for each transcript that is removed."""
_GROWN = 1024 * 1024
"""Bytes that a note may grow by between two scans."""
_CITED = lazy_pattern(rf"{FOLDER}/([^\s/#`()\[\]]+\.jsonl)".encode())
"""No name holds a slash: so no match starts within another, and a file from any sender takes linear time."""


async def forget_subagents(
    agents: Mapping[AgentId, Agent], sessions: Sessions, before: datetime, busy: Collection[SessionKey]
) -> int:
    """Remove the transcripts of subagents to which nothing was written since *before*; return how many.

    One that a note cites is kept, as is one of a subagent that is *busy*. Raises StoreError and WorkspaceError; called
    again, it continues.
    """
    count = 0
    for agent in agents.values():
        old = [key for key in await sessions.run(sessions.silent_since, agent.id, before) if _is_over(key, busy)]
        cited = await agent.run(_cited_transcripts, agent.workspace.folder) if old else frozenset()
        for key in old:
            if sessions.path(key).name not in cited:
                await sessions.remove(key)
                count += 1
    if count:
        log.info("old transcripts of helpers removed", count=count)
    return count


def _is_over(key: SessionKey, busy: Collection[SessionKey]) -> bool:
    return key.name.startswith(f"{SessionType.SUBAGENT}:") and key not in busy


def _cited_transcripts(folder: Folder) -> frozenset[str]:
    """Return the names of the transcripts that notes cite, by scanning all of them."""
    notes = (found for found in folder.walk() if found.path.suffix == ".md")
    texts = (b"".join(folder.pieces(note.path, note.size + _GROWN)) for note in notes)
    return frozenset(match.decode("utf-8", "replace") for text in texts for match in _CITED.findall(text))
