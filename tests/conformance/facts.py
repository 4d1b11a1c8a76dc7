"""Facts of this product that several documents speak about."""

from pathlib import PurePosixPath

from gateway.agent.window.settings import ContextSettings
from gateway.app.agents import turn_settings
from gateway.cli.main import COMMANDS
from gateway.hooks.events import EVENTS
from tests.conformance.statements import settings
from workspaces.access import Access, may_read, rights
from workspaces.memory.index.ranking import Weights, blended
from workspaces.memory.index.settings import Blend

LONG_TERM, DAY = "MEMORY.md", "memory/2026-03-01.md"
PERSONA = ("SOUL.md", "USER.md", "IDENTITY.md")
RULES = ("AGENTS.md", "TOOLS.md")


def reads(access: Access, *paths: str) -> bool:
    """Return whether a turn with *access* may read all of *paths*."""
    return all(may_read(access, PurePosixPath(path)) for path in paths)


def reads_none(access: Access, *paths: str) -> bool:
    """Return whether a turn with *access* may read none of *paths*."""
    return not any(may_read(access, PurePosixPath(path)) for path in paths)


def searches(access: Access) -> bool:
    """Return whether a turn with *access* has tools for memory."""
    return rights(access).memory_tools


def weighs_seven_to_three(preset: str) -> bool:
    """Return whether *preset* orders by 0.7 of the cosine and 0.3 of the keywords, and by nothing else."""
    memory = settings(preset).memory
    assert memory.vector_weight is not None
    assert memory.keyword_weight is not None
    weights = blended(Blend(memory.vector_weight, memory.keyword_weight))
    names = set(Weights.__struct_fields__) - {"floor", "half_life_days"}
    parts = {name: round(getattr(weights, name), 6) for name in names if getattr(weights, name)}
    return parts == {"dense": 0.49, "keyword": 0.3}  # the dense part is the cosine divided by 0.7


def context(preset: str) -> ContextSettings:
    """Return the settings of the conversation's shown part with *preset*."""
    return turn_settings(settings(preset)).context


def has_command(name: str) -> bool:
    """Return whether the program has the command."""
    return name in {entry.name for entry in COMMANDS}


def has_event(name: str) -> bool:
    """Return whether hooks hear of the event."""
    return any(name in {event.name, *event.aliases} for event in EVENTS)
