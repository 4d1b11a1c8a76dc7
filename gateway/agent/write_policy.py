"""Policy for the changes that a turn makes to its own files: at once, or after the owner's approval.

Everything here is pure: it depends on the turn's access, the path, and the text that the turn has seen.
"""

from enum import StrEnum
from pathlib import PurePosixPath

from gateway.agent.authorship import others_words
from gateway.agent.entries import Entry, Mark, ResultEntry, SummaryEntry, TurnNoteEntry, UserEntry
from workspaces.access import PRIVATE, SHARED_FOLDER, Access, SessionType, rights, scope_of
from workspaces.history import Act
from workspaces.paths import fold

_BEHAVIOUR = frozenset(
    {"agents.md", "soul.md", "identity.md", "tools.md", "heartbeat.md", "boot.md", "bootstrap.md"}
)  # folded: a file system may ignore letter case
_BEHAVIOUR_FOLDER = "skills"
_ONCE = "bootstrap.md"
_LASTING = frozenset({"memory.md", "user.md"})
_OTHERS_FOLDERS = (SHARED_FOLDER.parts, ("attachments",))


class ApprovalReason(StrEnum):
    """Why the owner is asked before a file changes; the value is the reason code that is counted."""

    BEHAVIOUR = "behaviour"
    SHARED = "shared"
    UNTRUSTED = "untrusted"
    UNASKED = "unasked"
    UNMARKED = "unmarked"

    @property
    def in_words(self) -> str:
        """Return the rest of a sentence that begins with "because"."""
        return _IN_WORDS[self]


_IN_WORDS = {
    ApprovalReason.BEHAVIOUR: "this file decides how the agent behaves",
    ApprovalReason.SHARED: "others read this file",
    ApprovalReason.UNTRUSTED: "the conversation holds text that others wrote",
    ApprovalReason.UNASKED: "none of your messages asked for it",
    ApprovalReason.UNMARKED: "it takes the mark `house` from text",
}


def reason_to_ask(access: Access, path: PurePosixPath, act: Act, *, is_exposed: bool) -> ApprovalReason | None:
    """Return why a turn must ask its owner before it does *act* to the file at *path*; `None` leaves it to `Access`.

    *is_exposed*: the turn's model has seen text that others wrote. Only turns over private memory ever ask: every other
    one writes its own chat's notes at most. Daily notes are exempt, as the subject of a conversation belongs there.
    """
    row = rights(access)
    if not (row.private and row.writes):
        return None
    if _steers(path) and not (act is Act.DELETE and not is_exposed and _folded_parts(path) == (_ONCE,)):
        return ApprovalReason.BEHAVIOUR
    if scope_of(path) != PRIVATE:
        return ApprovalReason.SHARED
    if is_exposed and len(path.parts) == 1 and fold(path.name) in _LASTING:
        return ApprovalReason.UNTRUSTED
    return None


def reason_to_ask_for_job(*, is_asked: bool, is_exposed: bool) -> ApprovalReason | None:
    """Return why a turn must ask its owner before it schedules a job; `None` if it may at once.

    *is_asked*: a message of the owner began the turn. So no job makes another one by itself.
    """
    if not is_asked:
        return ApprovalReason.UNASKED
    return ApprovalReason.UNTRUSTED if is_exposed else None


def reason_to_ask_for_outgoing(access: Access, *, is_exposed: bool) -> ApprovalReason | None:
    """Return why a turn must ask its owner before text leaves it other than by its answer; `None` if it may leave.

    No turn has private text, others' words and a way out at once without a question. A subagent's task may hold any
    private text, since its parent wrote it.
    """
    may_hold_private = rights(access).private or access.session_type is SessionType.SUBAGENT
    return ApprovalReason.UNTRUSTED if may_hold_private and is_exposed else None


def is_from_outside(entry: Entry | Mark) -> bool:
    """Return whether *entry* shows the model text that others wrote, or may have written."""
    match entry:
        case UserEntry():  # text in a picture, or a long name, may be anybody's words, and the answer may repeat them
            return entry.from_outside or bool(entry.pictures) or bool(others_words(entry))
        case TurnNoteEntry() | ResultEntry() | SummaryEntry():
            return entry.from_outside
        case _:
            return False


def is_others_place(path: PurePosixPath) -> bool:
    """Return whether the content at *path*, names in a listing too, is written by others than the owner."""
    parts = _folded_parts(path)
    return any(parts[: len(folder)] == folder for folder in _OTHERS_FOLDERS)


def _steers(path: PurePosixPath) -> bool:
    parts = _folded_parts(path)
    return parts[:1] == (_BEHAVIOUR_FOLDER,) or (len(parts) == 1 and parts[0] in _BEHAVIOUR)


def _folded_parts(path: PurePosixPath) -> tuple[str, ...]:
    return tuple(map(fold, path.parts))
