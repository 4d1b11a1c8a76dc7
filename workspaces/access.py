"""This file decides what a turn may read and write: the matrix of session types, and nothing else does.

A path's audience is its scope. `memory/shared/<chat>/…` belongs to that chat; everything else is private. The scope
is taken from the path, never from a text.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Never, NewType
from urllib.parse import unquote

AgentId = NewType("AgentId", str)
Scope = NewType("Scope", str)
"""The audience a text belongs to: `private`, or `shared:<chat>`, where `<chat>` is opaque to this wing."""

PRIVATE = Scope("private")
SHARED_FOLDER = PurePosixPath("memory/shared")
ATTACHMENTS = "attachments"
"""Holds, in the workspace or in a chat's own folder, the files that came with messages."""
_KEPT = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789-._~")


class SessionType(StrEnum):
    """The kinds of conversation that differ in what they may see."""

    MAIN = "main"
    GUEST = "guest"
    GROUP = "group"
    SUBAGENT = "subagent"
    CRON = "cron"
    HEARTBEAT = "heartbeat"


class Grant(StrEnum):
    """What the configuration may add to a row of the matrix."""

    USER_FILE_IN_GROUPS = "user_file_in_groups"
    """A group sees `USER.md`."""
    FULL_HEARTBEAT = "full_heartbeat"
    """A heartbeat sees what main sees (`light = false`)."""
    PRIVATE_JOB = "private_job"
    """A cron job works over private memory and delivers to the owner."""
    APPROVED = "approved"
    """The owner has seen this very change and approved it: a private turn's may go into the notes that others read."""


@dataclass(frozen=True, slots=True)
class Access:
    """What one turn may read and write.

    It is computed in one place when a turn starts, from the platform's own facts, and required by everything that
    reads; it has no default, and it cannot be stored.
    """

    agent: AgentId
    session_type: SessionType
    scope: Scope
    """The audience of the chat that the turn answers: `private` for the owner's own."""
    principal: str
    """Who asked, as `<channel>:<numeric id>`, or the cause of a turn that nobody asked for."""
    depth: int
    """0 for a turn that a person started, 1 for a subagent of it."""
    grants: frozenset[Grant]

    def __reduce__(self) -> Never:
        raise TypeError("Access is computed for each turn and never stored")


def owner_access(agent: AgentId, via: str, grants: frozenset[Grant] = frozenset()) -> Access:
    """Return the whole owner's access to *agent*, without a turn; *via* names the cause, such as `terminal:owner`."""
    return Access(agent, SessionType.MAIN, PRIVATE, via, depth=0, grants=grants)


@dataclass(frozen=True, slots=True)
class Rights:
    """One row of the matrix, with the grants of a turn applied."""

    files: frozenset[str]
    """Workspace files, by name, that the prompt shows and the tools may read."""
    private: bool
    """`MEMORY.md`, daily notes and transcripts of direct chats are readable."""
    own_scope: bool
    """The notes shared in this chat are readable and searchable."""
    memory_tools: bool
    writes: bool
    """It may write: if `private`, everywhere but among the notes that others read; else among its own chat's only."""
    flush: bool
    memory_in_prompt: bool
    """`MEMORY.md` and the days' notes go into the prompt; what is `private` without it is reached by the tools."""


_INSTRUCTIONS = frozenset({"AGENTS.md", "TOOLS.md"})
_PERSONA = frozenset({"SOUL.md", "IDENTITY.md"})
_USER = frozenset({"USER.md"})
_FIRST_RUN = frozenset({"BOOTSTRAP.md"})
_HEARTBEAT = frozenset({"HEARTBEAT.md"})

_CHAT = Rights(
    _INSTRUCTIONS | _PERSONA,
    private=False,
    own_scope=True,
    memory_tools=True,
    writes=True,
    flush=True,
    memory_in_prompt=False,
)
_MINIMAL = Rights(
    _INSTRUCTIONS,
    private=False,
    own_scope=False,
    memory_tools=False,
    writes=False,
    flush=False,
    memory_in_prompt=False,
)
_MATRIX: Mapping[SessionType, Rights] = MappingProxyType(
    {
        SessionType.MAIN: Rights(
            _INSTRUCTIONS | _PERSONA | _USER | _FIRST_RUN,
            private=True,
            own_scope=True,
            memory_tools=True,
            writes=True,
            flush=True,
            memory_in_prompt=True,
        ),
        SessionType.GUEST: _CHAT,
        SessionType.GROUP: _CHAT,
        SessionType.SUBAGENT: _MINIMAL,
        SessionType.CRON: _MINIMAL,
        SessionType.HEARTBEAT: Rights(
            _HEARTBEAT,
            private=True,
            own_scope=True,
            memory_tools=True,
            writes=True,
            flush=False,
            memory_in_prompt=False,
        ),
    }
)
"""The table "The matrix" of the requirements, in code."""

_NAMED = frozenset[str]().union(*(row.files for row in _MATRIX.values()))
"""The workspace files that a row gives or withholds by name."""


def rights(access: Access) -> Rights:
    """Return what *access* allows: its session type's row of the matrix, widened by its grants."""
    row = _MATRIX[access.session_type]
    match access.session_type:
        case SessionType.GROUP if Grant.USER_FILE_IN_GROUPS in access.grants:
            return replace(row, files=row.files | _USER)
        case SessionType.HEARTBEAT if Grant.FULL_HEARTBEAT in access.grants:
            return replace(row, files=row.files | _MATRIX[SessionType.MAIN].files, memory_in_prompt=True)
        case SessionType.CRON if Grant.PRIVATE_JOB in access.grants:
            return replace(row, private=True, own_scope=True, memory_tools=True, writes=True, memory_in_prompt=True)
        case _:
            return row


def readable_scopes(access: Access) -> frozenset[Scope] | None:
    """Return the scopes whose notes *access* may read and search; `None` means every scope of the agent."""
    row = rights(access)
    if row.private:
        return None
    return frozenset({access.scope}) if row.own_scope and access.scope != PRIVATE else frozenset()


def scope_of(path: PurePosixPath) -> Scope:
    """Return the audience that the file at *path*, relative to the workspace, belongs to.

    A folder of shared notes whose name is not the one that `scope_folder` gives belongs to no chat: it is private.
    """
    parts = path.parts
    if len(parts) <= 3 or parts[:2] != SHARED_FOLDER.parts:
        return PRIVATE
    chat = unquote(parts[2])
    return Scope(f"shared:{chat}") if _folder_name(chat) == parts[2] else PRIVATE


@lru_cache(maxsize=512)  # each file that a turn looks for asks
def scope_folder(scope: Scope) -> PurePosixPath:
    """Return the folder, relative to the workspace, that holds the notes of a shared *scope*.

    Raises ValueError for the private scope, which has no folder of its own.
    """
    kind, _, chat = scope.partition(":")
    if kind != "shared" or not chat.strip("."):
        raise ValueError(f"no folder for scope {scope!r}")
    return SHARED_FOLDER / _folder_name(chat)


def attachments_folder(access: Access) -> PurePosixPath:
    """Return where the files lie that come with the messages of a turn: where only it and the owner's chats read them.

    Raises ValueError for a turn that has no place of its own.
    """
    if rights(access).private:
        return PurePosixPath(ATTACHMENTS)
    return scope_folder(access.scope) / ATTACHMENTS


def is_attachment(path: PurePosixPath) -> bool:
    """Say whether *path* lies where files that came with messages are kept; letter case is ignored."""
    parts = [part.casefold() for part in path.parts]
    return (parts[3:] if _is_shared(path) else parts)[:1] == [ATTACHMENTS]


def may_read(access: Access, path: PurePosixPath) -> bool:
    """Say whether *access* may read the file, or list the folder, at *path* (normalised, relative)."""
    row = rights(access)
    if row.private:
        return True
    if len(path.parts) == 1 and path.name in row.files:
        return True
    if path.parts[:1] == ("skills",):
        return True
    return row.own_scope and _is_own(access, path)


def may_write(access: Access, path: PurePosixPath) -> bool:
    """Say whether *access* may create, change or delete the file at *path* (normalised, relative)."""
    row = rights(access)
    if row.private:
        return row.writes and (not _is_shared(path) or (Grant.APPROVED in access.grants and scope_of(path) != PRIVATE))
    return row.writes and _is_own(access, path)


def may_show(access: Access, path: PurePosixPath) -> bool:
    """Say whether the prompt of a turn with *access* may hold the file at *path* (normalised, relative)."""
    row = rights(access)
    if len(path.parts) == 1 and path.name in _NAMED:
        return path.name in row.files
    return row.memory_in_prompt if row.private else may_read(access, path)


def _is_shared(path: PurePosixPath) -> bool:
    """Say whether others may come to read *path*; letter case is ignored, as some file systems do."""
    return tuple(part.casefold() for part in path.parts[:2]) == SHARED_FOLDER.parts


def _folder_name(chat: str) -> str:
    """Percent-encode *chat*, capital letters too: two chats never share a folder where letter case is ignored."""
    return "".join(chr(byte) if byte in _KEPT else f"%{byte:02X}" for byte in chat.encode())


def _is_own(access: Access, path: PurePosixPath) -> bool:
    if access.scope == PRIVATE:
        return False
    own = scope_folder(access.scope).parts
    return path.parts[: len(own)] == own
