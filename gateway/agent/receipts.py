"""Receipts of acts: what a turn did, from its journal alone, as the line below its answer.

The journal's entries are the only source: the acts that tools recorded, calls that failed, and calls whose outcome is
unknown. A model's words change nothing here, and cannot imitate the line (`without_imitations`). Everything is pure.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from pathlib import PurePosixPath
from types import MappingProxyType

from gateway.agent.authorship import own_words
from gateway.agent.entries import (
    COMMAND,
    HALTED,
    OFFLINE,
    Entry,
    ReplyEntry,
    ResultEntry,
    ToolAct,
    ToolActKind,
    UserEntry,
    is_interrupted,
)
from gateway.agent.person_requests import Request, request_in
from gateway.agent.unread_files import unread_files
from gateway.runtime.escape import visible
from gateway.schedule.two_moments import moments_in
from workspaces.access import Access, may_read, rights
from workspaces.house import has_tag
from workspaces.lazy_pattern import lazy_pattern


class ReceiptLevel(StrEnum):
    """The level of detail of the receipts below an answer."""

    OFF = "off"
    SHORT = "short"
    """Acts of one kind are counted."""
    FULL = "full"
    """Each act with its place, and each call that failed."""


LEAD = "— "
"""Begins the line; no line of a model's answer begins with it and a mark."""
DONE, NOT_DONE, UNSURE = "✓", "✗", "?"
_SEPARATOR = " · "
_WORDS = MappingProxyType[ToolActKind, tuple[str, str, str]](
    {
        "noted": ("noted", "1 line", "{} lines"),
        "kept": ("already had", "1 line", "{} lines"),
        "corrected": ("corrected", "1 line", "{} lines"),
        "deleted": ("deleted", "1 line", "{} lines"),
        "wrote": ("wrote", "1 file", "{} files"),
        "removed": ("removed", "1 file", "{} files"),
        "scheduled": ("scheduled", "job", "{} jobs"),
        "cancelled": ("cancelled", "job", "{} jobs"),
        "sends": ("sends", "", "{} files"),
        "notifies": ("notifies you", "", "{} times"),
        "started": ("started", "subagent", "{} subagents"),
        "stopped": ("stopped", "subagent", "{} subagents"),
        "waits": ("waits for your approval:", "", "{} changes"),
        "used": ("used", "", "{} tools"),
        "unsure": ("may have happened:", "", "{} calls"),
    }
)
"""Of each kind: its verb, one, and several."""
_NAMED = frozenset[ToolActKind]({"scheduled", "cancelled", "sends", "started", "stopped", "waits", "used"})
"""Kinds of which a single act is named in the short form too: the person cannot tell otherwise which it was."""
_PATHS = frozenset[ToolActKind]({"noted", "kept", "corrected", "deleted", "wrote", "removed", "sends"})
_OF_FILE = frozenset[ToolActKind]({"noted", "corrected", "deleted", "wrote", "removed", "waits", "used"})
_UNTOLD = frozenset[ToolActKind]({"notifies", "unsure"})
_FULFILLED_BY = MappingProxyType[Request, frozenset[ToolActKind]](
    {
        Request.REMEMBER: frozenset({"noted", "kept", "corrected", "wrote", "waits", "used"}),
        Request.REMIND: frozenset({"scheduled", "waits", "used"}),
        Request.SEND: frozenset({"sends", "used"}),
        Request.FORGET: _OF_FILE - {"noted"},
        Request.CANCEL: frozenset({"cancelled", "stopped", "waits", "used", "wrote", "scheduled"}),
    }
)
"""The acts that may be what a request asked for; noting an order to forget is none.

Any act of somebody else's tool may be one, and is named in the line.
"""
UNFULFILLED = MappingProxyType(
    {
        Request.REMEMBER: "nothing was saved",
        Request.REMIND: "no reminder was scheduled",
        Request.SEND: "nothing was sent",
        Request.FORGET: "nothing was deleted",
        Request.CANCEL: "nothing was cancelled",
    }
)
"""What is said of a request that no act fulfilled."""
_LONGEST_LINE = 80
"""Characters of a note's text that are shown; our choice."""
_ONLY_OWNER = ": only my owner can do that, in their own chat with me"
READING = frozenset(
    {
        "git_bundle",
        "git_diff",
        "git_log",
        "git_show",
        "list_files",
        "list_schedule",
        "memory_get",
        "memory_search",
        "read_file",
        "search_history",
        "search_memory",
        "summarize_conversation",
    }
)
"""Strandline's own tools that change nothing of the owner's; every other one records its acts."""
ACTING = frozenset(
    {
        "add_note",
        "cancel_schedule",
        "cancel_subagent",
        "delete_file",
        "edit_file",
        "git_restore",
        "notify",
        "save_memory",
        "schedule",
        "send_file",
        "spawn",
        "update_memory",
        "write_file",
    }
)
"""The others of Strandline's own."""
_TOOL_NAME = lazy_pattern(r"[a-zA-Z0-9_-]{1,64}")
_MARKS = "✓✔☑✅✗✘❌☒🗸"
_CLAIMS = "|".join(
    sorted({words[0] for words in _WORDS.values()} | {"nothing was", "no reminder was", "sent", "saved"})
)
_MARKED = lazy_pattern(rf"[{_MARKS}](?=[^\w\n]{{0,9}}(?:{_CLAIMS})\b)", re.IGNORECASE)
_LED = lazy_pattern(rf"(?m)^([^\w\n]{{0,9}}[—–―][^\w\n]{{0,9}})[{_MARKS}?]")


def unfulfilled(entries: Sequence[Entry]) -> tuple[Request, ...]:
    """Return the requests in people's own words that no act of the turn of *entries* can have fulfilled."""
    results = [each for each in entries if isinstance(each, ResultEntry) and each.name not in READING]
    if not _is_by_model(entries) or any(map(_is_unsure, results)):  # it may have happened
        return ()
    kinds = {act.kind for act in _acts(entries)}
    asked = (request_in(own_words(each)) for each in entries if isinstance(each, UserEntry) and not each.is_ours)
    told = {Request.REMIND} if ended_by(entries) == OFFLINE and any(map(_asks_for_moment, results)) else set()
    return tuple(dict.fromkeys(each for each in asked if each and each not in told and not kinds & _FULFILLED_BY[each]))


def _asks_for_moment(result: ResultEntry) -> bool:
    """Return whether *result* asks which of two moments a job is for: the offline responder passes that on."""
    return result.name == "schedule" and result.is_error and bool(moments_in(result.text))


def receipt_line(entries: Sequence[Entry], access: Access, level: ReceiptLevel) -> str:
    """Return the line about the turn of *entries*, for a chat with *access*; empty if there is nothing to tell.

    Commands answer with the result of their act, so they have none; the offline responder does so for its notes.
    """
    if level is ReceiptLevel.OFF or not _is_by_model(entries):
        return ""
    parts = [] if ended_by(entries) == OFFLINE else [*_told(entries, access, level)]
    parts += [f"{NOT_DONE} {_undone(each, access)}" for each in unfulfilled(entries)]
    parts += [f"{NOT_DONE} {remark}" for remark in _unread(entries)]
    return f"{LEAD}{_SEPARATOR.join(parts)}" if parts else ""


def _unread(entries: Sequence[Entry]) -> Iterator[str]:
    """Return remarks about files of people's messages that the model could not take in; none if a tool may have."""
    if any(act.kind == "used" for act in _acts(entries)):
        return iter(())
    return unread_files(each for each in entries if isinstance(each, UserEntry) and not each.is_ours)


def _undone(request: Request, access: Access) -> str:
    is_elsewhere = request is Request.REMIND and not rights(access).private
    return f"{UNFULFILLED[request]}{_ONLY_OWNER if is_elsewhere else ''}"


def with_receipts(answer: str, line: str) -> str:
    """Return *answer* with the receipt *line* as its last paragraph, and without imitations of one."""
    text = without_imitations(answer)
    return f"{text}\n\n{line}" if text and line else text or line


def parted(answer: str) -> tuple[str, str]:
    """Return *answer* without the line that `with_receipts` added, and that line; empty if there is none."""
    text, _, last = answer.rpartition("\n\n")
    is_receipt = last.startswith(tuple(f"{LEAD}{mark} " for mark in (DONE, NOT_DONE, UNSURE))) and "\n" not in last
    return (text, last) if is_receipt else (answer, "")


def without_imitations(answer: str) -> str:
    """Return a model's *answer* without check marks before the words of a receipt, or after its dash.

    All other text stays.
    """
    return _LED.sub(r"\1•", _MARKED.sub("•", answer))


def _told(entries: Sequence[Entry], access: Access, level: ReceiptLevel) -> Iterator[str]:
    is_full = level is ReceiptLevel.FULL
    acts = _acts(entries)
    for kind in dict.fromkeys(act.kind for act in acts):
        same = [act for act in acts if act.kind == kind]
        if is_full or (len(same) == 1 and kind in _NAMED):
            yield from (f"{DONE} {_one(act, access)}" for act in same)
        else:
            yield f"{DONE} {_counted(kind, len(same))}{_text_of(same[0], access) if len(same) == 1 else ''}"
    yield from _untold_calls(entries, is_full=is_full)


def _acts(entries: Sequence[Entry]) -> list[ToolAct]:
    """Return the acts of the turn, in order; a turn that was stopped sends no files."""
    acts = [act for each in entries if isinstance(each, ResultEntry) for act in each.acts if act.kind not in _UNTOLD]
    return [act for act in acts if act.kind != "sends"] if ended_by(entries) == HALTED else acts


def _untold_calls(entries: Sequence[Entry], *, is_full: bool) -> Iterator[str]:
    """Yield the calls that failed or whose outcome is unknown; in short, failures that no later call made good."""
    results = [each for each in entries if isinstance(each, ResultEntry) and each.name not in READING]
    succeeded = {each.name for each in results if each.acts and not _is_unsure(each)}
    results = [each for each in results if not each.acts or _is_unsure(each)]
    unsure = [each for each in results if _is_unsure(each)]
    failed = [each for each in results if each.is_error and each not in unsure]
    if not is_full and Request.REMIND in unfulfilled(entries):
        succeeded.add("schedule")  # that no reminder was scheduled says it
    names = [each.name for each in failed if is_full or each.name not in succeeded]
    yield from (f"{UNSURE} {name} may have happened" for name in _names(each.name for each in unsure))
    yield from (f"{NOT_DONE} {name} failed" for name in _names(names))


def _is_unsure(result: ResultEntry) -> bool:
    """Return whether the call may or may not have happened: it was interrupted, or the disk failed after it."""
    return is_interrupted(result) or any(act.kind == "unsure" for act in result.acts)


def _names(names: Iterable[str]) -> Iterator[str]:
    """Yield each name once; one that no tool can have is the model's own text and is not repeated."""
    for name in dict.fromkeys(names):
        yield f"`{name}`" if _TOOL_NAME.fullmatch(name) else "an unknown tool"


def _one(act: ToolAct, access: Access) -> str:
    verb, one, _ = _WORDS[act.kind]
    about = _shown(act, access)
    named = about and act.kind in _PATHS
    return (f"{verb} {about}" if named else " ".join(filter(None, (verb, one, about)))) + _text_of(act, access)


def _text_of(act: ToolAct, access: Access) -> str:
    """Return the text of the line that *act* names, to follow the words about it; empty if it is not for this chat."""
    text = visible(" ".join(act.line.split()))
    if not text or "`" in text or has_tag(act.line) or not _shown(act, access):
        return ""
    return f": `{text if len(text) <= _LONGEST_LINE else f'{text[: _LONGEST_LINE - 1]}…'}`"


def _shown(act: ToolAct, access: Access) -> str:
    """Return the object of *act* as this chat may see it: a path that it may not read is left out."""
    if act.kind in _PATHS:
        path = PurePosixPath(act.object.rpartition("#")[0] or act.object)
        if not may_read(access, path):
            return ""
    shown = visible(act.object)
    return shown if not shown or "`" in shown else f"`{shown}`"


def _counted(kind: ToolActKind, count: int) -> str:
    verb, one, several = _WORDS[kind]
    return f"{verb} {one if count == 1 else several.format(f'{count:,}')}".rstrip()


def _is_by_model(entries: Sequence[Entry]) -> bool:
    return ended_by(entries) != COMMAND


def ended_by(entries: Sequence[Entry]) -> str:
    """Return the name of the model that ended the turn of *entries*; the gateway's own name for its sentences."""
    return next((each.model for each in reversed(entries) if isinstance(each, ReplyEntry)), "")
