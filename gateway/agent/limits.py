"""Limits at which a turn stops by itself."""

import json
from collections.abc import Sequence
from dataclasses import replace

from adapters.channel import Allowance
from gateway.agent.entries import ReplyEntry, ToolCall
from gateway.agent.settings import TurnLimits
from gateway.errors import TurnLimitError

LONGEST_CIRCLE = 4
"""Longest cycle of calls that is detected; a longer one meets the limit of calls alike."""
Mark = tuple[str, str]
"""A tool's name and its arguments."""


def narrow_limits(limits: TurnLimits, allowance: Allowance | None) -> TurnLimits:
    """Return *limits*, narrowed to the allowance of the turn's message."""
    if allowance is None:
        return limits
    return replace(
        limits,
        steps=min(limits.steps, allowance.steps),
        tokens=min(limits.tokens, allowance.tokens),
        turn_s=min(limits.turn_s, allowance.seconds),
    )


def allowed_rest(limits: TurnLimits, replies: Sequence[ReplyEntry], shares: int, seconds: float) -> Allowance:
    """Return each share of the rest that a turn with *replies* leaves to others: together never more than that rest."""
    rest = max(limits.tokens - _tokens(replies), 0)
    return Allowance(max(limits.steps - len(replies), 1), rest // shares, min(limits.turn_s, seconds))


def check_steps(replies: Sequence[ReplyEntry], limits: TurnLimits) -> None:
    """Raise TurnLimitError if a turn with *replies* may not ask the model again."""
    if len(replies) >= limits.steps:
        raise TurnLimitError("turn_steps", f"no answer after {limits.steps} steps")
    tokens = _tokens(replies)
    if tokens >= limits.tokens:
        raise TurnLimitError("turn_tokens", f"no answer after {tokens:,} tokens")


def check_calls(replies: Sequence[ReplyEntry], limits: TurnLimits) -> None:
    """Raise TurnLimitError if one of *replies* asks for more calls at once than allowed."""
    most = max((len(reply.calls) for reply in replies), default=0)
    if most > limits.calls:
        raise TurnLimitError("turn_calls", f"one reply asked for {most:,} calls, more than {limits.calls:,}")


def check_repeats(marks: Sequence[Mark], limits: TurnLimits) -> None:
    """Raise TurnLimitError if the last of a turn's calls, by their *marks*, was repeated too often or ends a cycle."""
    if marks.count(marks[-1]) >= limits.identical_calls:
        raise TurnLimitError(
            "turn_repeats", f"{marks[-1][0]} was called {limits.identical_calls} times with the same arguments"
        )
    rounds = limits.identical_calls - 1
    if rounds > 1 and (circle := _circle(marks, rounds)):
        raise TurnLimitError("turn_circle", f"the same {circle} calls were made {rounds} times in the same order")


def mark_of(call: ToolCall) -> Mark:
    """Return a key that is equal for calls alike, whatever the order and spacing of their arguments."""
    try:
        return call.name, json.dumps(json.loads(call.arguments or "{}"), sort_keys=True)
    except (ValueError, RecursionError):
        return call.name, call.arguments


def _circle(marks: Sequence[Mark], rounds: int) -> int:
    """Return the length of the cycle that the latest calls repeat *rounds* times, in calls; 0 if there is none."""
    lengths = range(2, min(LONGEST_CIRCLE, len(marks) // rounds) + 1)
    return next((n for n in lengths if list(marks[-n * rounds :]) == list(marks[-n:]) * rounds), 0)


def _tokens(replies: Sequence[ReplyEntry]) -> int:
    return sum(reply.usage.input_tokens + reply.usage.output_tokens for reply in replies)
