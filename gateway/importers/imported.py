"""Conversations of other programs, in the form in which every importer returns them."""

from collections.abc import Mapping
from dataclasses import dataclass

from gateway.errors import StrandlineError


class ImportFormatError(StrandlineError):
    """The file is not in the importer's format; the message names the place."""


@dataclass(frozen=True, slots=True)
class ImportedConversation:
    """One conversation as an agent's notes."""

    agent: str
    """Name of the agent that gets the notes, unless the owner chooses another one."""
    notes: Mapping[str, str]
    """The text of each note by its path in the workspace, such as `memory/2026-03-01.md`, in order of days."""
