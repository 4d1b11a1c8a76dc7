"""Offline responder: answers from memory by quoting, and notes things that it is asked to remember.

It is a pure function of the request to tool calls or text: it reaches memory by the turn's tools alone, so it cannot
quote anything outside the turn's access.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Self
from uuid import uuid4

from pydantic import BaseModel, ValidationError

from gateway.agent.authorship import own_words
from gateway.agent.entries import (
    NO_REPLY,
    OFFLINE,
    SUMMARY,
    Entry,
    ReplyEntry,
    ResultEntry,
    ToolCall,
    TurnNoteEntry,
    Usage,
    UserEntry,
)
from gateway.agent.models.offline_intents import Intent, is_statement, job_intent, read_intent
from gateway.agent.models.offline_jobs import ask_which, job_named, say_jobs, subject_of
from gateway.agent.models.offline_languages import LANGUAGES
from gateway.agent.models.offline_quotes import (
    OFFER,
    as_quote,
    as_reminder,
    say_found,
    say_known,
    say_noted,
    say_own_words,
)
from gateway.agent.models.port import NOTIFY, ModelRequest, OnText
from gateway.agent.person_requests import REMINDER, Request, request_in
from gateway.schedule.two_moments import WHICH, moments_in
from workspaces.access import Locality

SEARCH, READ, NOTE, SCHEDULE = "memory_search", "memory_get", "add_note", "schedule"
MAX_RESULTS = 6

_HELP = f"""\
Hello! Two things work right away:
- Tell me what to keep, such as “remember that the spare key is with Ann”, and I write it into your notes.
- Ask me something, such as “where is the spare key?”, and I quote what your notes say, with the day and the place.

I understand “remember …”, “remind me tomorrow at 9 …”, “forget …” and “what did I say about …” in {LANGUAGES}."""
_HELP_ELSEWHERE = _HELP.replace("“remind me tomorrow at 9 …”, ", "")
"""In chats in which nobody can set reminders."""
_BRIEF_HELP = "Tell me what to keep (“remember that …”), ask what your notes say, or send `/help` for the commands."
_NO_MODEL = "No language model is configured, so I can only quote notes."
_CONNECT = " To talk with one, run `strandline connect model` in a terminal of this machine."
_NO_MODEL_SHORT = "(No language model is configured.)"
_FAILED = {
    NOTE: "I could not save that",
    SEARCH: "I could not search memory",
    SCHEDULE: "I could not schedule that",
}
_WITHHELD = "That stays out of the notes and of searches. What is noted already, `/forget` and its words remove."
_NO_TIME = "is not a "
"""Part of the error for words that name no time, or that end like a time zone and are none."""
_WHEN = "I need a time, as in “remind me tomorrow at 9 to …”: nothing was scheduled."
_NO_REMINDERS = "I cannot set reminders in this chat."
_NO_JOBS = "Reminders can only be listed and cancelled by my owner, in their own chat with me."
_DOWN = "The language model gives no answer now, so I can only quote notes."


class OfflineModel:
    """Answers in place of a model."""

    name = OFFLINE
    reader = Locality.HERE
    window_tokens = 32_000
    """It reads only the last questions; a small window keeps long conversations quick."""

    def __init__(self, *, stands_in: bool = False) -> None:
        """*stands_in*: models are configured, but none of them answered."""
        self._stands_in = stands_in

    async def reply(self, request: ModelRequest, on_text: OnText) -> ReplyEntry:
        """Answer *request*; never fails."""
        reply = replace(respond(request, stands_in=self._stands_in), is_house=request.is_house)
        if reply.text:
            await on_text(reply.text)
        return reply

    async def close(self) -> None:
        """Do nothing: there is nothing to release."""


def respond(request: ModelRequest, *, stands_in: bool = False) -> ReplyEntry:
    """Return the calls that the last message needs, or, once they have results, the answer."""
    entries = [entry for entry in request.entries if not _is_of_the_gateway(entry)]
    said, since = _last_message(entries)
    earlier = entries[: len(entries) - len(since)]
    tools = {spec.name for spec in request.tools}
    intent = _intent(said, _last_answer(earlier), tools)
    listed = _jobs_listed(intent, since)
    if number := _job_to_cancel(said[-1], listed):
        return ReplyEntry("", (_call(SCHEDULE, cancel=number),), OFFLINE, Usage())
    people = [entry for entry in earlier if isinstance(entry, UserEntry)]
    own = [own_words(entry) for entry in people[:-1] if entry.sender == people[-1].sender]
    outcomes = (_outcome_text(*outcome, own, can_note=NOTE in tools) for outcome in _outcomes(since))
    told = _cancelled(said[-1], listed) or [part for part in outcomes if part]
    reminder = _reminder(said[-1], tools)
    if not told and not reminder and (calls := tuple(_calls(intent, tools))):
        return ReplyEntry("", calls, OFFLINE, Usage())
    if request.has_notified:
        return ReplyEntry(NO_REPLY, (), OFFLINE, Usage())
    if reminder:
        return ReplyEntry("", (_call(NOTIFY, text=reminder),), OFFLINE, Usage())
    can_plan = SCHEDULE in tools
    parts = told or [_without_tools(intent, own, is_known=bool(_last_answer(earlier)), can_plan=can_plan)]
    if remark := _remark(entries, intent, stands_in=stands_in, can_plan=can_plan):
        parts.append(remark)
    answer = "\n\n".join(parts)
    if NOTIFY in tools:  # the plain answer is not shown to anybody
        return ReplyEntry("", (_call(NOTIFY, text=answer),), OFFLINE, Usage())
    return ReplyEntry(answer, (), OFFLINE, Usage())


def _is_of_the_gateway(entry: Entry) -> bool:
    """Return whether *entry* is a turn note, or a summary of earlier turns: nobody's message."""
    if isinstance(entry, UserEntry):
        return not entry.message_id and entry.text.startswith(SUMMARY)
    return isinstance(entry, TurnNoteEntry)


def _last_message(entries: Sequence[Entry]) -> tuple[list[str], Sequence[Entry]]:
    """Return people's latest messages, oldest first, and the entries after them; consecutive messages are one."""
    said: list[str] = []
    after = 0
    for at, entry in enumerate(entries, 1):
        if isinstance(entry, UserEntry):
            follows = at > 1 and at - 1 == after
            said.append(f"{said.pop()}\n{entry.text}" if follows else entry.text)
            after = at
    return said or [""], entries[after:]


def _last_answer(entries: Sequence[Entry]) -> str:
    """Return the responder's last answer; empty if it has not answered yet, or a model did since."""
    answers = (entry for entry in reversed(entries) if isinstance(entry, ReplyEntry) and entry.text)
    last = next(answers, None)
    return last.text if last is not None and last.model == OFFLINE else ""


def _reminder(said: str, tools: set[str]) -> str:
    """Return the text that a job's owner is reminded of; empty in other turns, and for a job that asks memory."""
    is_reminder = NOTIFY in tools and (SEARCH not in tools or said.startswith(REMINDER))
    return as_reminder(said) if is_reminder else ""


def _intent(said: list[str], last_answer: str, tools: set[str]) -> Intent:
    if (SCHEDULE in tools or NOTIFY not in tools) and request_in(said[-1]) is Request.REMIND:
        return Intent(reminder=said[-1])
    if intent := job_intent(said[-1]):
        return intent
    if request_in(said[-1]) is Request.CANCEL:
        return Intent(cancels=True)
    return read_intent(said, was_offered=OFFER in last_answer)


def _calls(intent: Intent, tools: set[str]) -> Iterator[ToolCall]:
    if intent.reminder and SCHEDULE in tools:
        yield _call(SCHEDULE, when=intent.reminder, what=f"{REMINDER}{intent.reminder}")
    if SCHEDULE in tools and (intent.lists_jobs or intent.cancels):
        yield _call(SCHEDULE, **({"cancel": intent.cancelled_job} if intent.cancelled_job else {}))
    if intent.note and NOTE in tools:
        yield _call(NOTE, text=intent.note)
    if intent.asks_about_me and {READ, SCHEDULE} <= tools:  # in the owner's own chat
        yield _call(READ, path="MEMORY.md")
    if intent.query and SEARCH in tools:
        yield _call(SEARCH, query=intent.query, max_results=MAX_RESULTS)


def _call(name: str, **arguments: str | int) -> ToolCall:
    return ToolCall(f"call_{uuid4().hex[:24]}", name, json.dumps(arguments, ensure_ascii=False))


def _outcomes(since: Sequence[Entry]) -> Iterator[tuple[ResultEntry, "_ToolArguments"]]:
    """Yield each result of this turn with the arguments of its call."""
    calls = {call.id: call for entry in since if isinstance(entry, ReplyEntry) for call in entry.calls}
    for entry in since:
        if isinstance(entry, ResultEntry) and entry.call_id in calls:
            yield entry, _ToolArguments.of(calls[entry.call_id])


class _ToolArguments(BaseModel):
    """The arguments of a search or a note, called by us or by a model that answered before us."""

    text: str = ""
    query: str = ""

    @classmethod
    def of(cls, call: ToolCall) -> Self:
        try:
            return cls.model_validate_json(call.arguments or "{}")
        except ValidationError:
            return cls()


def _outcome_text(result: ResultEntry, asked: _ToolArguments, said: Sequence[str], *, can_note: bool) -> str:
    """Return the outcome of a call as text; empty for tools called only by a real model that answered before us.

    *said*: the earlier messages of the conversation, oldest first.
    """
    if result.is_error:
        return _failure(result)
    match result.name:
        case "add_note":
            return say_noted(asked.text, result.text)
        case "schedule":
            return say_jobs(result.text) if result.text[:1].isdecimal() else result.text
        case "memory_get":
            return say_known(result.text)
        case "memory_search":
            return say_found(result.text, asked.query, said, may_be_noted=can_note and is_statement(asked.query))
        case _:
            return ""


def _jobs_listed(intent: Intent, since: Sequence[Entry]) -> list[str]:
    """Return the results of an order to cancel a job that is not numbered: the list of jobs, then what was done."""
    results = [entry for entry in since if isinstance(entry, ResultEntry)]
    is_wanted = intent.cancels and not intent.cancelled_job and not any(each.is_error for each in results)
    return [each.text for each in results] if is_wanted else []


def _job_to_cancel(order: str, listed: Sequence[str]) -> int:
    """Return the number of the job that *order* names, once the jobs are listed and none is cancelled; else 0."""
    return job_named(order, listed[0]) if len(listed) == 1 else 0


def _cancelled(order: str, listed: Sequence[str]) -> list[str]:
    """Return what became of *order*; nothing before the jobs are listed."""
    if len(listed) < 2:
        return [ask_which(each) for each in listed]
    return [*listed[1:], as_quote(subject_of(job_named(order, listed[0]), listed[0]))]


def _failure(result: ResultEntry) -> str:
    if result.name == SCHEDULE and moments_in(result.text):
        return f"{result.text.partition(WHICH)[0]}. Which one do you mean?"
    if result.name == SCHEDULE and _NO_TIME in result.text:
        return _WHEN
    return f"{_FAILED[result.name]}: {result.text}" if result.name in _FAILED else ""


def _without_tools(intent: Intent, before: Sequence[str], *, is_known: bool, can_plan: bool) -> str:
    """Return the answer to a message that needs no tool, or one that is not there, after the messages *before*.

    *is_known*: not the first; *can_plan*: in the owner's own chat, where jobs can be changed.
    """
    if intent.reminder:
        return _NO_REMINDERS
    if intent.asks_own_words:
        return say_own_words(before)
    if intent.cancels or intent.lists_jobs:
        return _NO_JOBS
    if intent.forgets:
        return f"Send `/forget {intent.forgets}`: it removes the note that holds these words, or lists several."
    if intent.wants_help:
        return _BRIEF_HELP if is_known else _HELP if can_plan else _HELP_ELSEWHERE
    return _refusal(intent)


def _refusal(intent: Intent) -> str:
    """Return the answer to an order for which the tool, or the text, is missing; and to thanks."""
    if intent.is_thanks:
        return "You are welcome."
    if intent.withholds:
        return _WITHHELD
    if intent.asks_about_me:
        return "Ask for something in the notes of this chat, or send `/memory` with a word."
    if intent.lacks_note:
        return "What should I remember? Write it after “remember that …”."
    if intent.note:
        return "I cannot save notes in this conversation."
    return "I cannot search memory in this conversation."


def _remark(entries: Sequence[Entry], intent: Intent, *, stands_in: bool, can_plan: bool) -> str:
    """Return the explanation of the responder: in full once a conversation, then in short below each quote."""
    is_first = not any(isinstance(entry, ReplyEntry) and entry.model == OFFLINE and entry.text for entry in entries)
    if stands_in:
        return _DOWN
    if is_first:
        return f"{_NO_MODEL}{_CONNECT if can_plan else ''}"
    return _NO_MODEL_SHORT if intent.query else ""
