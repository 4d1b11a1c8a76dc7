"""What of an answer is sent where nobody waits for one."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from adapters.channel import Address, ChatKind, InboundMessage, Sender
from gateway.admission.internal_channels import NOBODY, heartbeat_address, job_address, result_address
from gateway.agent.entries import OFFLINE, UNFINISHED, Entry, ReplyEntry, ResultEntry, ToolCall, Usage
from gateway.automation.silence import is_unasked_prose, visible_answer
from workspaces.access import AgentId, SessionType

MAIN = AgentId("main")
OWNER = Address("telegram", "home", "7")
SAID = InboundMessage(OWNER, "1", Sender("7", "Owner"), ChatKind.DIRECT, "hello", True, datetime.now(UTC))
ASKED = replace(SAID, sender=NOBODY, answers_to=OWNER)
UNASKED = {
    "heartbeat": (heartbeat_address(MAIN), SessionType.HEARTBEAT),
    "job": (job_address(MAIN, "1"), SessionType.CRON),
    "job in the owner's conversation": (job_address(MAIN, "1", in_main=True), SessionType.MAIN),
    "a helper's result for a job": (result_address(MAIN, "cron:1"), SessionType.CRON),
}
PROSE = "I looked around, and all seems to be in order."


def reply(text: str, *calls: ToolCall, model: str = "m") -> ReplyEntry:
    return ReplyEntry(text, calls, model, Usage())


def notified(text: str, *, is_error: bool = False) -> list[Entry]:
    """Return the entries of a call of `notify`."""
    call = ToolCall("c1", "notify", f'{{"text": "{text}"}}')
    return [reply("", call), ResultEntry("c1", "notify", "done", is_error)]


@pytest.mark.parametrize("what", UNASKED)
def test_a_turn_that_nobody_asked_for_speaks_by_notify_alone(what: str) -> None:
    """All else that its model writes is silence, whatever it says of itself; it is noted unless it says nothing."""
    address, kind = UNASKED[what]
    message = replace(ASKED, address=address)
    entries = [*notified("The plants are dry."), reply(PROSE)]
    assert visible_answer(message, kind, PROSE, entries) == "The plants are dry."
    assert not is_unasked_prose(message, kind, PROSE, entries)
    for unsaid in ([reply(PROSE)], [*notified("Never told.", is_error=True), reply(PROSE)]):
        assert visible_answer(message, kind, PROSE, unsaid) == ""
        assert is_unasked_prose(message, kind, PROSE, unsaid)
    for quiet in ("", "HEARTBEAT_OK", "All well. HEARTBEAT_OK"):
        assert visible_answer(message, kind, quiet, [reply(quiet)]) == ""
        assert not is_unasked_prose(message, kind, quiet, [reply(quiet)])


def test_who_asked_is_answered_as_ever() -> None:
    """In words of the model's own, also where it called what is named like the tool."""
    assert visible_answer(SAID, SessionType.MAIN, PROSE, [reply(PROSE)]) == PROSE
    assert not is_unasked_prose(SAID, SessionType.MAIN, PROSE, [reply(PROSE)])
    assert visible_answer(SAID, SessionType.GROUP, PROSE, [*notified("x"), reply(PROSE)]) == PROSE


def test_that_a_job_could_not_be_finished_is_told() -> None:
    """It is the gateway's own sentence; what was given to `notify` before comes first. A heartbeat that failed is due
    again, and tells nothing."""
    said = "I stopped: this took too many steps."
    ended = reply(said, model=UNFINISHED)
    job = replace(ASKED, address=job_address(MAIN, "1"))
    assert visible_answer(job, SessionType.CRON, said, [ended]) == said
    assert visible_answer(job, SessionType.CRON, said, [*notified("Half of it."), ended]) == f"Half of it.\n\n{said}"
    assert not is_unasked_prose(job, SessionType.CRON, said, [ended])
    beat = replace(ASKED, address=heartbeat_address(MAIN))
    for entries in ([ended], [*notified("No model."), reply("", model=OFFLINE)]):
        assert visible_answer(beat, SessionType.HEARTBEAT, said, entries) == ""


REMINDER = "A reminder:\n\n> stretch"


def test_a_reminder_is_heard_whatever_its_model_forgets() -> None:
    """By `notify` if it was called, else in the model's plain words, else in the job's own, also beside a failure."""
    job, kind = replace(ASKED, address=job_address(MAIN, "1")), SessionType.CRON
    assert visible_answer(job, kind, "Time to stretch!", [reply("Time to stretch!")], REMINDER) == "Time to stretch!"
    assert visible_answer(job, kind, PROSE, [*notified("Stretch."), reply(PROSE)], REMINDER) == "Stretch."
    for quiet in ("", "HEARTBEAT_OK", "All well. HEARTBEAT_OK", "**NO_REPLY**", "Nothing to tell: no_reply."):
        assert visible_answer(job, kind, quiet, [reply(quiet)], REMINDER) == REMINDER
    failed = [reply("I stopped.", model=UNFINISHED)]
    assert visible_answer(job, kind, "I stopped.", failed, REMINDER) == f"{REMINDER}\n\nI stopped."


@pytest.mark.parametrize("empty", ["Entendido.", "Claro, te lo recordaré mañana a las 9.", "Done!"])
def test_an_answer_that_says_nothing_of_a_reminder_is_sent_with_its_words(empty: str) -> None:
    """And below them, as a phone shows the first line: a small model that only agrees has reminded nobody.

    Words about the subject are enough, in any form.
    """
    own = "recuérdame mañana a las 9 comprar cambio"
    job = replace(ASKED, address=job_address(MAIN, "1"), text=f"Remind your owner: {own}")
    words = f"A reminder:\n\n> {own}"
    assert visible_answer(job, SessionType.CRON, empty, [reply(empty)], words) == f"{words}\n\n{empty}"
    said = "Es hora de comprar algo de cambio."
    assert visible_answer(job, SessionType.CRON, said, [reply(said)], words) == said
