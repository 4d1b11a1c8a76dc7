"""The loop of a turn: ask the model and run its calls, until it answers."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from msgspec import Struct, field, structs

from gateway.agent.cancellation import Halt
from gateway.agent.entries import (
    COMMAND,
    HALTED,
    NO_REPLY,
    OFFLINE,
    CallStartEntry,
    Entry,
    ReplyEntry,
    ResultEntry,
    Usage,
    UserEntry,
    interrupted_result,
    is_interrupted,
    not_run,
)
from gateway.agent.limits import Mark, check_calls, check_repeats, check_steps, mark_of
from gateway.agent.models.port import Model, ModelRequest, OnText
from gateway.agent.repetition import own_part
from gateway.agent.settings import TurnLimits
from gateway.agent.tools.tool import Toolbox
from gateway.errors import ModelFloodError, TurnLimitError, WrittenCallError
from gateway.runtime.clock import unless

Journal = Callable[[Entry], Awaitable[None]]
"""Takes each new entry of the history, and returns once it is durable."""

_WRITTEN_CALL = (
    "my language model wrote a tool call as text, again and again, so it was not made. Please ask in other words; "
    "what its server may lack is in `strandline docs troubleshooting`"
)
UNANSWERED = ReplyEntry("(This turn was stopped before it had an answer.)", (), HALTED, Usage())
"""Ends a turn that was stopped; it is never sent."""
_LONG = 4_000
"""Characters from which an answer is compared with notes beside the event loop: it takes some ten milliseconds."""


async def _nothing_joined() -> Sequence[UserEntry]:
    return ()


class TurnOutlets(Struct, frozen=True):
    """A turn's outlets while it runs, and its source of messages that arrive meanwhile."""

    journal: Journal
    on_text: OnText
    joined: Callable[[], Awaitable[Sequence[UserEntry]]] = _nothing_joined
    """Called before each of the model's steps: returns the messages since, journaled already; that step sees them."""
    halt: Halt = field(default_factory=Halt)


class TurnAnswer(Struct, frozen=True):
    text: str
    """Markdown for the chat; empty if the turn is silent."""
    model: str


async def run_turn(
    model: Model, request: ModelRequest, toolbox: Toolbox, limits: TurnLimits, course: TurnOutlets
) -> TurnAnswer:
    """Answer the last message of `request.entries`; a turn that was cut off resumes from its last record.

    The tools of *request* are replaced by those of *toolbox*. A turn that is halted ends, silent, with every call's
    outcome in the journal. Raises ModelError when no model answers and TurnLimitError with reason `turn_steps`,
    `turn_repeats`, `turn_circle`, `turn_calls`, `turn_output`, `turn_tokens` or `turn_time` at a limit.
    """
    record = _TurnHistory(request.entries, course.journal)
    deadline = asyncio.timeout(limits.turn_s)
    try:
        async with deadline:
            while (reply := record.last_reply()) is None or reply.calls:
                await _finish_calls(record, toolbox, limits, course.halt)
                record.entries.extend(await course.joined())
                check_steps(record.replies(), limits)
                step = structs.replace(request, entries=tuple(record.entries), tools=toolbox.specs)
                await record.add(await _next_reply(model, step, course))
    except TimeoutError as exc:
        if not deadline.expired():
            raise
        raise TurnLimitError("turn_time", f"no answer within {limits.turn_s:g} seconds") from exc
    return _answer(reply)


async def _finish_calls(record: "_TurnHistory", toolbox: Toolbox, limits: TurnLimits, halt: Halt) -> None:
    """Run, in order, each call without a record of its start; a started call is never run again."""
    check_calls(record.replies(), limits)
    calls = [call for reply in record.replies() for call in reply.calls]
    done, begun = record.outcomes()
    marks: list[Mark] = []
    for call in calls:
        if (result := done.get(call.id)) is not None:
            marks += [] if is_interrupted(result) else [mark_of(call)]  # a crash is no repetition of the model's
            continue
        if call.id in begun:
            await record.add(interrupted_result(call))
            continue
        if halt.soon.is_set():
            await record.add(not_run(call))
            continue
        marks.append(mark_of(call))
        check_repeats(marks, limits)
        await record.add(CallStartEntry(call.id))
        await record.add(await unless(halt.now, toolbox.call(call)) or interrupted_result(call))


async def _next_reply(model: Model, step: ModelRequest, course: TurnOutlets) -> ReplyEntry:
    """Return the model's reply to *step*, or the end of the turn if it is halted first."""
    reply = None
    if not course.halt.soon.is_set():
        try:
            reply = await unless(course.halt.soon, model.reply(step, course.on_text))
        except ModelFloodError as exc:
            raise TurnLimitError("turn_output", str(exc)) from exc
        except WrittenCallError as exc:
            raise TurnLimitError("turn_written_call", _WRITTEN_CALL) from exc
    return UNANSWERED if reply is None else await _as_recorded(reply, step)


async def _as_recorded(reply: ReplyEntry, step: ModelRequest) -> ReplyEntry:
    """Return *reply* with the length of *step*, in which its tokens were counted, and its part that quotes no note."""
    usage = replace(reply.usage, characters=step.characters)
    if reply.calls or reply.model in {COMMAND, OFFLINE}:
        return replace(reply, usage=usage)
    own = own_part(reply.text, step) if len(reply.text) < _LONG else await asyncio.to_thread(own_part, reply.text, step)
    return replace(reply, usage=usage, own=own)


class _TurnHistory:
    """The history; each addition is durable before the next step."""

    def __init__(self, entries: Sequence[Entry], journal: Journal) -> None:
        self.entries = list(entries)
        self._journal = journal
        self._begin = next((i for i in range(len(entries), 0, -1) if _begins_turn(entries[i - 1])), 0)

    async def add(self, entry: Entry) -> None:
        await self._journal(entry)
        self.entries.append(entry)

    def replies(self) -> list[ReplyEntry]:
        """Return the model's replies in this turn, which begins after the last message that joined no other."""
        return [entry for entry in self.entries[self._begin :] if isinstance(entry, ReplyEntry)]

    def last_reply(self) -> ReplyEntry | None:
        return next(reversed(self.replies()), None)

    def outcomes(self) -> tuple[dict[str, ResultEntry], set[str]]:
        """Return the results of this turn's calls by their ids, and the ids of those that have started."""
        turn = self.entries[self._begin :]
        done = {entry.call_id: entry for entry in turn if isinstance(entry, ResultEntry)}
        return done, {entry.call_id for entry in turn if isinstance(entry, CallStartEntry)}


def _begins_turn(entry: Entry) -> bool:
    return isinstance(entry, UserEntry) and not entry.joins


def _answer(reply: ReplyEntry) -> TurnAnswer:
    text = reply.text.strip()
    is_silent = text.upper() == NO_REPLY or reply.model == HALTED
    return TurnAnswer("" if is_silent else text, reply.model)
