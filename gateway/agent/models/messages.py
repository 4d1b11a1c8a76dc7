"""History in a form that providers accept: each call beside its result, each speaker distinct."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from msgspec import Struct

from gateway.agent.entries import (
    CallStartEntry,
    Entry,
    ReplyEntry,
    ResultEntry,
    ToolCall,
    TurnNoteEntry,
    UserEntry,
    interrupted_result,
    not_run,
)
from gateway.agent.models.port import ModelRequest
from workspaces.lazy_pattern import lazy_pattern

SENDER_CAP = 64
"""Longest sender name, in characters, that is shown to a model (Telegram's own limit for a first name)."""

Seen = Mapping[str, str | None]
"""Pictures as data URIs, by path; `None` for one that should be shown and is unavailable."""
NOTHING_SEEN: Seen = MappingProxyType({})
UNSEEN = "[A picture of this message could not be shown to you: you have only the line that describes it.]"

UNSHOWN = "[What was said before is not shown.]"
NOTE, NOTE_END = "[Note of the gateway]", "[End of the note]"
_FRAME = lazy_pattern(r"\[(note of the gateway|end of the note)\]", re.IGNORECASE)


class UnansweredMessages(Struct, frozen=True):
    """People's messages since the model's last words, below the gateway's note on the turn."""

    text: str
    pictures: tuple[str, ...] = ()
    """Pictures of the messages, as data URIs, in the order in which the text describes them."""


class Answered(Struct, frozen=True):
    """The model's words; the arguments of each call are a JSON object."""

    text: str
    calls: tuple[ToolCall, ...]


class Returned(Struct, frozen=True):
    """The result of one of the model's calls."""

    call_id: str
    text: str


def voices(request: ModelRequest, seen: Seen = NOTHING_SEEN) -> Iterator[UnansweredMessages | Answered | Returned]:
    """Yield the history of *request* in the form that every provider takes, for each to translate into its own format.

    Consecutive messages are merged, as many chat templates require alternating roles.
    """
    said: list[str] = []
    pictures: list[str] = []
    for entry in with_results(request.entries):
        match entry:
            case UserEntry():
                shown = [seen[each.path] for each in entry.pictures if each.path in seen]
                pictures += filter(None, shown)
                said += [readable_text(entry), *([UNSEEN] if None in shown else [])]
                continue
            case TurnNoteEntry(text=text):
                said.append(f"{NOTE}\n{text}\n{NOTE_END}")
                continue
        if said:
            yield UnansweredMessages("\n\n".join(said), tuple(pictures))
            said, pictures = [], []
        match entry:
            case ReplyEntry(text=text, calls=calls):
                yield Answered(text, tuple(_sound(call) for call in calls))
            case ResultEntry(call_id=call_id, text=text, is_error=is_error):
                yield Returned(call_id, f"Error: {text}" if is_error else text)
    if said:
        yield UnansweredMessages("\n\n".join(said), tuple(pictures))


def with_person_first(
    spoken: Iterable[UnansweredMessages | Answered | Returned],
) -> Iterator[UnansweredMessages | Answered | Returned]:
    """Yield *spoken* with a person's words first: some providers refuse a history that begins with the model's."""
    first = True
    for voice in spoken:
        if first and not isinstance(voice, UnansweredMessages):
            yield UnansweredMessages(UNSHOWN)
        first = False
        yield voice
    if first:
        yield UnansweredMessages(UNSHOWN)


def picture_data(uri: str) -> tuple[str, str]:
    """Return the MIME type and the base64 of a picture that is a data URI."""
    head, _, data = uri.partition(",")
    return head.removeprefix("data:").partition(";")[0], data


def _sound(call: ToolCall) -> ToolCall:
    """Return *call* with arguments that are a JSON object: providers refuse a history with any others."""
    try:
        if isinstance(json.loads(call.arguments), dict):
            return call
    except (ValueError, RecursionError):
        pass
    return replace(call, arguments=json.dumps({"unreadable": call.arguments}))


def with_results(entries: Sequence[Entry]) -> list[Entry]:
    """Return *entries* as a provider accepts them: every call followed by one result, and no result alone.

    A call without a result gets one that says so; a result without its call is dropped; marks of started calls are left
    out. Messages between a call and its result come after the result.
    """
    shown: list[Entry] = []
    for reply, following in _segments(entries):
        if reply is not None:
            shown.append(reply)
            shown.extend(_results(reply, following))
        shown.extend(entry for entry in following if isinstance(entry, UserEntry | TurnNoteEntry))
    return shown


def _segments(entries: Iterable[Entry]) -> Iterator[tuple[ReplyEntry | None, list[Entry]]]:
    """Yield each reply with the entries up to the next one; first, with `None`, the entries before any reply."""
    reply: ReplyEntry | None = None
    following: list[Entry] = []
    for entry in entries:
        if isinstance(entry, ReplyEntry):
            yield reply, following
            reply, following = entry, []
        else:
            following.append(entry)
    yield reply, following


def _results(reply: ReplyEntry, following: Sequence[Entry]) -> Iterator[ResultEntry]:
    results = {entry.call_id: entry for entry in reversed(following) if isinstance(entry, ResultEntry)}
    begun = {entry.call_id for entry in following if isinstance(entry, CallStartEntry)}
    for call in reply.calls:
        missing = interrupted_result(call) if call.id in begun else not_run(call)
        yield results.get(call.id, missing)


def readable_text(entry: UserEntry) -> str:
    """Return *entry* in the form that a model reads: where several people talk, it begins with the sender's name.

    Further lines are then indented, so that no text can look like another person's message; and none can look like the
    gateway's note.
    """
    said = _FRAME.sub(r"(\1)", entry.text)
    if not entry.sender:
        return said
    name = "".join(each if each.isprintable() else " " for each in entry.sender).replace(":", " ")
    name = re.sub(r"\s+", " ", name).strip()[:SENDER_CAP] or "Somebody"
    return f"{name}: " + "\n    ".join(said.splitlines())
