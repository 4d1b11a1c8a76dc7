"""Read and write permissions of a turn: the one matrix of session types.

A path's audience is its scope. `memory/shared/<chat>/…` belongs to that chat; everything else is private. The scope is
derived from the path, never from a text.
"""

from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Never, NewType
from urllib.parse import unquote

from msgspec import Struct, structs

AgentId = NewType("AgentId", str)
Scope = NewType("Scope", str)
"""Audience of a text: `private`, or `shared:<chat>`, where `<chat>` is opaque to this package."""

PRIVATE = Scope("private")
SHARED_FOLDER = PurePosixPath("memory/shared")
ATTACHMENTS = "attachments"
"""Folder for files that came with messages, in the workspace or in a chat's own folder."""
ATTACHMENTS_OF_HOUSE = PurePosixPath(ATTACHMENTS) / "house"
"""The same for those of conversations with the mark `house`; its files carry the mark."""
_KEPT = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789-._~")


class SessionType(StrEnum):
    """Kinds of conversations with different permissions."""

    MAIN = "main"
    GUEST = "guest"
    GROUP = "group"
    SUBAGENT = "subagent"
    CRON = "cron"
    HEARTBEAT = "heartbeat"


class Grant(StrEnum):
    """A configured extension of a row of the matrix."""

    USER_FILE_IN_GROUPS = "user_file_in_groups"
    """Groups may read `USER.md`."""
    FULL_HEARTBEAT = "full_heartbeat"
    """A heartbeat has the permissions of main (`light = false`)."""
    PRIVATE_JOB = "private_job"
    """A cron job works on private memory and delivers to the owner."""
    APPROVED = "approved"
    """The owner has approved this exact change: a private turn may write it to notes that others read."""


class Locality(StrEnum):
    """Where those run who read the texts of a turn: its model's provider reads them too."""

    HERE = "here"
    """On the owner's own machines, or the reader is a person."""
    ELSEWHERE = "elsewhere"


class Access(Struct, frozen=True):
    """Read and write permissions of one turn.

    Computed in one place when a turn starts, from facts stated by the platform, and required by every reader; it has no
    default, and it cannot be stored.
    """

    agent: AgentId
    session_type: SessionType
    scope: Scope
    """Audience of the chat that the turn answers: `private` for the owner's own."""
    principal: str
    """The requester, as `<channel>:<numeric id>`, or the cause of a turn without one."""
    depth: int
    """0 for a turn started by a person, 1 for its subagent."""
    grants: frozenset[Grant]
    reader: Locality = Locality.ELSEWHERE
    """Until it is known that the model runs on the owner's machines, it does not."""
    is_house: bool = False
    """The conversation carries the mark `house`: its texts, queries too, stay on the owner's machines."""

    def __reduce__(self) -> Never:
        raise TypeError("Access is computed for each turn and never stored")

    __copy__ = __reduce__


def owner_access(agent: AgentId, via: str, grants: frozenset[Grant] = frozenset()) -> Access:
    """Return the owner's full access to *agent*, outside a turn; *via* names the cause, such as `terminal:owner`."""
    return Access(agent, SessionType.MAIN, PRIVATE, via, depth=0, grants=grants, reader=Locality.HERE)


def read_by(access: Access, reader: Locality, *, is_house: bool = False) -> Access:
    """Return *access* for a turn whose texts *reader* reads; *is_house* adds the mark of the conversation."""
    return structs.replace(access, reader=reader, is_house=access.is_house or is_house)


def may_know(reader: Locality, *, is_house: bool) -> bool:
    """Tell whether *reader* may be given a text that carries the mark `house`, or (not *is_house*) one that does not.

    Asked for each text beside the matrix, and again for each model of a chain.
    """
    return reader is Locality.HERE or not is_house


def reader_in(chat: Locality, model: Locality) -> Locality:
    """Return the reader of a turn: its *model*, and whoever carries the *chat* that its answer goes to."""
    return model if chat is Locality.HERE else chat


class Rights(Struct, frozen=True):
    """One row of the matrix, with a turn's grants applied."""

    files: frozenset[str]
    """Workspace files, by name, that appear in the prompt and that tools may read."""
    private: bool
    """May read `MEMORY.md`, daily notes and transcripts of direct chats."""
    own_scope: bool
    """May read and search the notes shared in this chat."""
    memory_tools: bool
    writes: bool
    """May write: if `private`, everywhere except notes that others read; else only its own chat's notes."""
    flush: bool
    memory_in_prompt: bool
    """`MEMORY.md` and daily notes go into the prompt; with `private` alone only tools can read them."""


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
"""The workspace files that some row permits or withholds by name."""


def rights(access: Access) -> Rights:
    """Return the permissions of *access*: its session type's row of the matrix, extended by its grants."""
    row = _MATRIX[access.session_type]
    match access.session_type:
        case SessionType.GROUP if Grant.USER_FILE_IN_GROUPS in access.grants:
            return structs.replace(row, files=row.files | _USER)
        case SessionType.HEARTBEAT if Grant.FULL_HEARTBEAT in access.grants:
            return structs.replace(row, files=row.files | _MATRIX[SessionType.MAIN].files, memory_in_prompt=True)
        case SessionType.CRON if Grant.PRIVATE_JOB in access.grants:
            return structs.replace(
                row, private=True, own_scope=True, memory_tools=True, writes=True, memory_in_prompt=True
            )
        case _:
            return row


def readable_scopes(access: Access) -> frozenset[Scope] | None:
    """Return the scopes whose notes *access* may read and search; `None` means every scope of the agent."""
    row = rights(access)
    if row.private:
        return None
    return frozenset({access.scope}) if row.own_scope and access.scope != PRIVATE else frozenset()


def scope_of(path: PurePosixPath) -> Scope:
    """Return the audience of the file at *path*, relative to the workspace.

    A folder of shared notes with a name that `scope_folder` does not produce belongs to no chat: it is private.
    """
    parts = path.parts
    if len(parts) <= 3 or parts[:2] != SHARED_FOLDER.parts:
        return PRIVATE
    chat = unquote(parts[2])
    return Scope(f"shared:{chat}") if _folder_name(chat) == parts[2] else PRIVATE


@lru_cache(maxsize=512)  # called for each file of a turn
def scope_folder(scope: Scope) -> PurePosixPath:
    """Return the folder, relative to the workspace, that holds the notes of a shared *scope*.

    Raises ValueError for the private scope, which has no folder of its own.
    """
    kind, _, chat = scope.partition(":")
    if kind != "shared" or not chat.strip("."):
        raise ValueError(f"no folder for scope {scope!r}")
    return SHARED_FOLDER / _folder_name(chat)


def attachments_folder(access: Access) -> PurePosixPath:
    """Return the folder for files that come with the messages of a turn: only it and the owner's chats read them.

    Raises ValueError for a turn without a folder of its own.
    """
    folder = ATTACHMENTS_OF_HOUSE if access.is_house else PurePosixPath(ATTACHMENTS)
    return folder if rights(access).private else scope_folder(access.scope) / folder


def is_attachment(path: PurePosixPath) -> bool:
    """Tell whether *path* is in a folder for files that came with messages; letter case is ignored."""
    parts = [part.casefold() for part in path.parts]
    return (parts[3:] if _is_shared(path) else parts)[:1] == [ATTACHMENTS]


def may_read(access: Access, path: PurePosixPath) -> bool:
    """Tell whether *access* may read the file, or list the folder, at *path* (normalised, relative)."""
    row = rights(access)
    if row.private:
        return True
    if len(path.parts) == 1 and path.name in row.files:
        return True
    if path.parts[:1] == ("skills",):
        return True
    return row.own_scope and _is_own(access, path)


def may_write(access: Access, path: PurePosixPath) -> bool:
    """Tell whether *access* may create, change or delete the file at *path* (normalised, relative)."""
    row = rights(access)
    if row.private:
        return row.writes and (not _is_shared(path) or (Grant.APPROVED in access.grants and scope_of(path) != PRIVATE))
    return row.writes and _is_own(access, path)


def may_show(access: Access, path: PurePosixPath) -> bool:
    """Tell whether the prompt of a turn with *access* may contain the file at *path* (normalised, relative)."""
    row = rights(access)
    if len(path.parts) == 1 and path.name in _NAMED:
        return path.name in row.files
    return row.memory_in_prompt if row.private else may_read(access, path)


def _is_shared(path: PurePosixPath) -> bool:
    """Tell whether other audiences may read *path*; letter case is ignored, as in some file systems."""
    return tuple(part.casefold() for part in path.parts[:2]) == SHARED_FOLDER.parts


def _folder_name(chat: str) -> str:
    """Percent-encode *chat*, capital letters too: no two chats share a folder on a case-insensitive file system."""
    return "".join(chr(byte) if byte in _KEPT else f"%{byte:02X}" for byte in chat.encode())


def _is_own(access: Access, path: PurePosixPath) -> bool:
    if access.scope == PRIVATE:
        return False
    own = scope_folder(access.scope).parts
    return path.parts[: len(own)] == own
