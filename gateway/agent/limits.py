"""This file says where a turn stops by itself."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from adapters.channel import Allowance
from gateway.agent.entries import ReplyEntry, ToolCall
from gateway.errors import TurnLimitError

LONGEST_CIRCLE = 4
"""Calls that a model makes in turn, again and again; a longer circle meets the limit of calls alike."""
Mark = tuple[str, str]
"""A tool's name and its arguments."""


@dataclass(frozen=True, slots=True)
class TurnLimits:
    """The limits of one turn; all but the time go on counting when a turn is resumed after a crash."""

    steps: int = 12
    """Replies of the model."""
    identical_calls: int = 3
    """From this one on, calls with the same name and arguments are no longer run."""
    tokens: int = 1_000_000
    """Input and output of all steps together."""
    seconds: float = 300.0
    calls: int = 64
    """In one reply; of more, none is run. Our choice: models ask for a few."""


def within(limits: TurnLimits, allowance: Allowance | None) -> TurnLimits:
    """Return *limits*, narrowed to what the turn's message was given."""
    if allowance is None:
        return limits
    return replace(
        limits,
        steps=min(limits.steps, allowance.steps),
        tokens=min(limits.tokens, allowance.tokens),
        seconds=min(limits.seconds, allowance.seconds),
    )


def allowed_rest(limits: TurnLimits, replies: Sequence[ReplyEntry], shares: int, seconds: float) -> Allowance:
    """Return what a turn with *replies* leaves to each of so many others: together never more than its own rest."""
    rest = max(limits.tokens - _tokens(replies), 0)
    return Allowance(max(limits.steps - len(replies), 1), rest // shares, min(limits.seconds, seconds))


def check_steps(replies: Sequence[ReplyEntry], limits: TurnLimits) -> None:
    """Raise TurnLimitError if a turn with *replies* may not ask the model again."""
    if len(replies) >= limits.steps:
        raise TurnLimitError("turn_steps", f"no answer after {limits.steps} steps")
    tokens = _tokens(replies)
    if tokens >= limits.tokens:
        raise TurnLimitError("turn_tokens", f"no answer after {tokens:,} tokens")


def check_calls(replies: Sequence[ReplyEntry], limits: TurnLimits) -> None:
    """Raise TurnLimitError if one of *replies* asks for more calls at once than a reply may."""
    most = max((len(reply.calls) for reply in replies), default=0)
    if most > limits.calls:
        raise TurnLimitError("turn_calls", f"one reply asked for {most:,} calls, more than {limits.calls:,}")


def check_repeats(marks: Sequence[Mark], limits: TurnLimits) -> None:
    """Raise TurnLimitError if the last of a turn's calls, by their *marks*, was made too often, or ends a circle."""
    if marks.count(marks[-1]) >= limits.identical_calls:
        raise TurnLimitError("turn_repeats", f"{marks[-1][0]} was called {limits.identical_calls} times alike")
    rounds = limits.identical_calls - 1
    if rounds > 1 and (circle := _circle(marks, rounds)):
        raise TurnLimitError("turn_circle", f"the same {circle} calls were made {rounds} times in the same order")


def mark_of(call: ToolCall) -> Mark:
    """Return what calls alike have in common, whatever the order and spacing of their arguments."""
    try:
        return call.name, json.dumps(json.loads(call.arguments or "{}"), sort_keys=True)
    except (ValueError, RecursionError):
        return call.name, call.arguments


def _circle(marks: Sequence[Mark], rounds: int) -> int:
    """Return how many different calls the latest ones repeat so often, one after the other; 0 if they do not."""
    lengths = range(2, min(LONGEST_CIRCLE, len(marks) // rounds) + 1)
    return next((n for n in lengths if list(marks[-n * rounds :]) == list(marks[-n:]) * rounds), 0)


def _tokens(replies: Sequence[ReplyEntry]) -> int:
    return sum(reply.usage.input_tokens + reply.usage.output_tokens for reply in replies)
