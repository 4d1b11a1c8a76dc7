"""The question which of several moments a reminder is for: the commands that it offers, and the one that answers it."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from gateway.agent.authorship import own_words
from gateway.agent.entries import COMMAND, OFFLINE, Entry, ReplyEntry, ResultEntry, UserEntry
from gateway.agent.person_requests import Request, request_in
from gateway.agent.receipts import ended_by
from gateway.commands.cron import added_by
from gateway.commands.fulfil import MARK, NAME
from gateway.schedule.two_moments import moments_in
from gateway.sessions.turn_request import TurnRequest

_ASKING = frozenset({"schedule", "/cron", f"/{NAME}"})
"""The tool and the commands that ask."""
_LONGEST_ANSWER = 60
"""Characters of an answer that is nothing but a time; our choice."""


def offered_moments(entries: Sequence[Entry]) -> Mapping[str, str]:
    """Return the command for each moment, such as `Tue 2026-12-01 21:00`, if a turn's last attempt ended so; pure."""
    results = [each for each in entries if isinstance(each, ResultEntry) and each.name in _ASKING]
    moments = moments_in(results[-1].text) if results and results[-1].is_error else ()
    mark = _mark_of_order(entries, results[-1].call_id) if moments else ""
    return {each: f"/{NAME} {mark} {each[4:]}" for each in moments if mark}


def _mark_of_order(entries: Sequence[Entry], call_id: str) -> str:
    """Return the mark of the message that orders a reminder in this turn, or for which a button was pressed."""
    calls = [call for each in entries if isinstance(each, ReplyEntry) for call in each.calls if call.id == call_id]
    pressed = (mark for each in calls if each.name == f"/{NAME}" for mark in MARK.findall(each.arguments))
    people = (each for each in reversed(entries) if isinstance(each, UserEntry) and not each.is_ours)
    orders = (each.source.partition(".")[0] for each in people if _orders_job(own_words(each)))
    return next(pressed, "") or next(orders, "")


def _orders_job(said: str) -> bool:
    return bool(added_by(said)) or request_in(said) is Request.REMIND


def answering_command(asked: TurnRequest) -> str | None:
    """Return the command that a message gives by answering the question of the turn before it; `None` for any other.

    A model that asked in words of its own reads the answer itself.
    """
    transcript, turn_id = asked.transcript, asked.row.turn_id
    before = next((each.turn_id for each in reversed(transcript.records) if each.turn_id != turn_id), None)
    entries = transcript.entries_of(before) if before else ()
    said = [each for each in transcript.entries_of(turn_id) if isinstance(each, UserEntry)]
    if ended_by(entries) not in {OFFLINE, COMMAND} or len(said) != 1:
        return None
    commands = offered_moments(entries)
    return commands.get(moment_meant(asked.row.message.text.strip(), tuple(commands), asked.now))


def moment_meant(answer: str, moments: tuple[str, ...], now: datetime) -> str:
    """Return which of *moments* the *answer* names, such as "tomorrow", "the evening" or "21:00"; empty if unclear.

    It holds nothing but a time. *now* is in the owner's zone.
    """
    if not moments or len(answer) > _LONGEST_ANSWER:
        return ""
    from gateway.schedule.named_time import when_named, without_times  # its patterns take time at a start

    hour, minute = moments[0][-5:].split(":")
    is_one_hour = len({each[-5:] for each in moments}) == 1
    clock = f"at {hour if is_one_hour else int(hour) % 12 or 12}:{minute}"
    phrases = (answer, f"at {answer}", f"{clock} {answer}", f"{clock} {moments[0][:3]} {answer}")
    read = [(when_named(each, now), without_times(each, now.date()).strip(" ,.!").casefold()) for each in phrases]
    found = {
        each
        for each in moments
        for when, rest in read
        if when == f"at {each[4:]}" and rest in {"", "at", "please", each[:3].casefold()}
    }
    return found.pop() if len(found) == 1 else ""
