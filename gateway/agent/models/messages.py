"""This file turns a history into what a provider accepts: each call beside its result, each voice told apart."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from gateway.agent.entries import (
    CallStartEntry,
    Entry,
    ReplyEntry,
    ResultEntry,
    ToolCall,
    UserEntry,
    interrupted,
    not_run,
)
from gateway.agent.models.port import ModelRequest

SENDER_CAP = 64
"""Longest sender name, in characters, that is shown to a model (Telegram's own limit for a first name)."""

Seen = Mapping[str, str | None]
"""Pictures as data URIs, by where they lie; `None` for one that was to be shown, and cannot be."""
NOTHING_SEEN: Seen = MappingProxyType({})
UNSEEN = "[A picture of this message could not be shown to you: you have only the line that describes it.]"

UNSHOWN = "[What was said before is not shown.]"


@dataclass(frozen=True, slots=True)
class Said:
    """What people said since the model's last words, and the gateway's note."""

    text: str
    pictures: tuple[str, ...] = ()
    """What came with it, as data URIs, in the order in which the text describes it."""


@dataclass(frozen=True, slots=True)
class Answered:
    """What the model said; the arguments of each call are a JSON object."""

    text: str
    calls: tuple[ToolCall, ...]


@dataclass(frozen=True, slots=True)
class Returned:
    """What one of the model's calls returned."""

    call_id: str
    text: str


def voices(request: ModelRequest, seen: Seen = NOTHING_SEEN) -> Iterator[Said | Answered | Returned]:
    """Yield the history of *request* as every provider takes it, for each to write down in its own format.

    Messages in a row become one, for many chat templates want voices to take turns.
    """
    said: list[str] = []
    pictures: list[str] = []
    for entry in noted(paired(request.entries), request.volatile):
        match entry:
            case UserEntry():
                shown = [seen[each.path] for each in entry.pictures if each.path in seen]
                pictures += filter(None, shown)
                said += [spoken(entry), *([UNSEEN] if None in shown else [])]
                continue
            case Note():
                said.append(entry.framed)
                continue
        if said:
            yield Said("\n\n".join(said), tuple(pictures))
            said, pictures = [], []
        match entry:
            case ReplyEntry(text=text, calls=calls):
                yield Answered(text, tuple(_sound(call) for call in calls))
            case ResultEntry(call_id=call_id, text=text, is_error=is_error):
                yield Returned(call_id, f"Error: {text}" if is_error else text)
    if said:
        yield Said("\n\n".join(said), tuple(pictures))


def opened(spoken: Iterable[Said | Answered | Returned]) -> Iterator[Said | Answered | Returned]:
    """Yield *spoken* with somebody's words first: some providers refuse a history that begins with the model's."""
    first = True
    for voice in spoken:
        if first and not isinstance(voice, Said):
            yield Said(UNSHOWN)
        first = False
        yield voice
    if first:
        yield Said(UNSHOWN)


def picture_data(uri: str) -> tuple[str, str]:
    """Return the MIME type and the base64 of a picture that is a data URI."""
    head, _, data = uri.partition(",")
    return head.removeprefix("data:").partition(";")[0], data


def _sound(call: ToolCall) -> ToolCall:
    """Return *call* with arguments that a provider takes: it refuses a history in which they are no JSON object."""
    try:
        if isinstance(json.loads(call.arguments), dict):
            return call
    except (ValueError, RecursionError):
        pass
    return replace(call, arguments=json.dumps({"unreadable": call.arguments}))


def paired(entries: Sequence[Entry]) -> list[Entry]:
    """Return *entries* as a provider accepts them: every call followed by one result, and no result alone.

    A call without a result gets one that says so; a result without its call is dropped; marks of begun calls are left
    out. What was said between a call and its result comes after the result.
    """
    shown: list[Entry] = []
    for reply, following in _segments(entries):
        if reply is not None:
            shown.append(reply)
            shown.extend(_results(reply, following))
        shown.extend(entry for entry in following if isinstance(entry, UserEntry))
    return shown


def _segments(entries: Iterable[Entry]) -> Iterator[tuple[ReplyEntry | None, list[Entry]]]:
    """Yield each reply with what follows it up to the next one; first, with `None`, what comes before any reply."""
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
        missing = interrupted(call) if call.id in begun else not_run(call)
        yield results.get(call.id, missing)


@dataclass(frozen=True, slots=True)
class Note:
    """What the gateway tells the model about this one turn: the day, the chat, memories that bear on the message."""

    text: str

    @property
    def framed(self) -> str:
        """Return the note as a model reads it."""
        return f"[Note of the gateway]\n{self.text}\n[End of the note]"


def noted(entries: Sequence[Entry], volatile: str) -> list[Entry | Note]:
    """Return *entries* with the gateway's note before what was said last.

    It stands there and not in the system prompt, so that everything before the turn is the same bytes as in the last
    request of the turn before, and a provider's prompt cache holds. It is the first thing that the model reads after
    its own last words, so no message can pass for it.
    """
    spoken_at = max((i for i, entry in enumerate(entries) if isinstance(entry, UserEntry)), default=len(entries))
    while spoken_at and isinstance(entries[spoken_at - 1], UserEntry):
        spoken_at -= 1
    return [*entries[:spoken_at], *([Note(volatile)] if volatile else []), *entries[spoken_at:]]


def spoken(entry: UserEntry) -> str:
    """Return what a model reads of *entry*: where several people talk, it begins with the sender's name.

    Further lines are then indented, so that no text can look like another person's message.
    """
    if not entry.sender:
        return entry.text
    name = "".join(each if each.isprintable() else " " for each in entry.sender).replace(":", " ")
    name = re.sub(r"\s+", " ", name).strip()[:SENDER_CAP] or "Somebody"
    return f"{name}: " + "\n    ".join(entry.text.splitlines())
