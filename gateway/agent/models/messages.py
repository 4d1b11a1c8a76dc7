"""This file turns a history into what a provider accepts: each call beside its result, each voice told apart."""

import re
from collections.abc import Iterable, Iterator, Sequence

from gateway.agent.entries import (
    CallStartEntry,
    Entry,
    ReplyEntry,
    ResultEntry,
    UserEntry,
    interrupted,
    not_run,
)
from gateway.agent.models.port import ModelRequest

SENDER_CAP = 64
"""Longest sender name, in characters, that is shown to a model (Telegram's own limit for a first name)."""


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


def system_text(request: ModelRequest) -> str:
    """Return the system prompt; everything before the volatile part is the same bytes from turn to turn."""
    return "\n\n".join(part for part in (request.stable, request.volatile) if part)


def spoken(entry: UserEntry) -> str:
    """Return what a model reads of *entry*: where several people talk, it begins with the sender's name.

    Further lines are then indented, so that no text can look like another person's message.
    """
    if not entry.sender:
        return entry.text
    name = "".join(each if each.isprintable() else " " for each in entry.sender).replace(":", " ")
    name = re.sub(r"\s+", " ", name).strip()[:SENDER_CAP] or "Somebody"
    return f"{name}: " + "\n    ".join(entry.text.splitlines())
