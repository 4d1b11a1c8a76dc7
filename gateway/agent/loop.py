"""This file is the loop of a turn: ask the model, run what it calls, until it answers."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from gateway.agent.entries import CallStartEntry, Entry, ReplyEntry, ResultEntry, UserEntry, interrupted
from gateway.agent.limits import TurnLimits, check_repeats, check_steps
from gateway.agent.models.port import Model, ModelRequest, OnText
from gateway.agent.tools.tool import Toolbox
from gateway.agent.window.count import request_characters
from gateway.errors import TurnLimitError

__all__ = ["NO_REPLY", "Answer", "Journal", "TurnLimits", "run_turn"]

NO_REPLY = "NO_REPLY"
"""A model that has nothing to say answers exactly this, in any case; it never reaches a chat."""

Journal = Callable[[Entry], Awaitable[None]]
"""Takes each new entry of the history, and returns once it is durable."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a turn came to."""

    text: str
    """Markdown for the chat; empty if the turn is silent."""
    model: str
    """Which model answered."""

    @property
    def is_silent(self) -> bool:
        return not self.text


async def run_turn(
    model: Model, request: ModelRequest, toolbox: Toolbox, limits: TurnLimits, journal: Journal, on_text: OnText
) -> Answer:
    """Answer the last message of `request.entries`; a turn that was cut off goes on from its last record.

    The tools of *request* are replaced by those of *toolbox*. Raises ModelError when no model answers and
    TurnLimitError with reason `turn_steps`, `turn_repeats`, `turn_tokens` or `turn_time` at a limit.
    """
    record = _Record(request.entries, journal)
    deadline = asyncio.timeout(limits.seconds)
    try:
        async with deadline:
            while (reply := record.last_reply()) is None or reply.calls:
                await _finish_calls(record, toolbox, limits)
                check_steps(record.replies(), limits)
                step = replace(request, entries=tuple(record.entries), tools=toolbox.specs)
                await record.add(_weighed(await model.reply(step, on_text), step))
    except TimeoutError as exc:
        if not deadline.expired():
            raise
        raise TurnLimitError("turn_time", f"no answer within {limits.seconds:g} seconds") from exc
    return _answer(reply)


async def _finish_calls(record: "_Record", toolbox: Toolbox, limits: TurnLimits) -> None:
    """Run, in order, each call that no record shows as begun; one that was begun is never run again."""
    calls = [call for reply in record.replies() for call in reply.calls]
    done, begun = record.outcomes()
    for place, call in enumerate(calls):
        if call.id in done:
            continue
        if call.id in begun:
            await record.add(interrupted(call))
            continue
        check_repeats(call, calls[:place], limits)
        await record.add(CallStartEntry(call.id))
        await record.add(await toolbox.call(call))


def _weighed(reply: ReplyEntry, step: ModelRequest) -> ReplyEntry:
    """Return *reply* with how long the request was that its tokens were counted in."""
    return replace(reply, usage=replace(reply.usage, characters=request_characters(step)))


class _Record:
    """The history; what is added is durable before the next thing happens."""

    def __init__(self, entries: Sequence[Entry], journal: Journal) -> None:
        self.entries = list(entries)
        self._journal = journal
        self._begin = max((i for i, entry in enumerate(entries, 1) if isinstance(entry, UserEntry)), default=0)

    async def add(self, entry: Entry) -> None:
        await self._journal(entry)
        self.entries.append(entry)

    def replies(self) -> list[ReplyEntry]:
        """Return the model's replies in this turn, which begins after the last message."""
        return [entry for entry in self.entries[self._begin :] if isinstance(entry, ReplyEntry)]

    def last_reply(self) -> ReplyEntry | None:
        return next(reversed(self.replies()), None)

    def outcomes(self) -> tuple[set[str], set[str]]:
        """Return the ids of the calls of this turn that have a result, and of those that were begun."""
        turn = self.entries[self._begin :]
        done = {entry.call_id for entry in turn if isinstance(entry, ResultEntry)}
        return done, {entry.call_id for entry in turn if isinstance(entry, CallStartEntry)}


def _answer(reply: ReplyEntry) -> Answer:
    text = reply.text.strip()
    return Answer("" if text.upper() == NO_REPLY else text, reply.model)
