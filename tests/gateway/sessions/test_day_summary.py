"""A long conversation in the day's notes: a model's summary that invents nothing and leaves out no detail."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from gateway.agent.authorship import EARLIER_VERSION, HEARD
from gateway.agent.entries import ReplyEntry, Usage, UserEntry
from gateway.errors import ModelUnavailableError
from gateway.sessions.day_summary import LEAST_LINES, PROMPT, day_summary
from gateway.sessions.due import Ending, Pause
from gateway.sessions.extractive_summary import SpokenLine, conversation, extract
from gateway.sessions.lifecycle import LifecycleSettings
from gateway.stores.rows import TurnId
from gateway.transcripts.codec import Record
from tests.fakes.model import ScriptedModel, Step
from tests.gateway.sessions.resting import KEY, resting
from workspaces.memory.text.dialogue import LineKind, kind_of_speech

AT = datetime(2026, 3, 1, 14, 5, tzinfo=UTC)
TEXTS = (
    "The boiler was serviced, its number is BX-7741-Q.",
    "The boat leaves at 19:30.",
    "Mum's operation is on 9 December.",
    *(f"We talked about the garden for the {word} time." for word in ("first", "second", "third", "next", "last")),
)
SAID = tuple(SpokenLine(AT, "Owner", text, is_answer=False, kind=kind_of_speech(text)) for text in TEXTS)


async def test_a_summary_keeps_every_detail_and_invents_none() -> None:
    """An invented number drops its line; statements with a detail that is left out are added word for word."""
    model = ScriptedModel(
        "Notes:\n- The boiler BX-7741-Q was serviced.\n- The boat leaves at 18:30.\n* They like the garden."
    )
    assert await day_summary(SAID, model) == [
        "The boiler BX-7741-Q was serviced.",
        "They like the garden.",
        "Owner (14:05): The boat leaves at 19:30.",
        "Owner (14:05): Mum's operation is on 9 December.",
    ]
    [request] = model.requests
    assert request.stable == PROMPT
    assert "Owner: The boat leaves at 19:30." in request.entries[0].text  # type: ignore[union-attr]


@pytest.mark.parametrize("step", ["I cannot do that.", "- It cost 99 euros.", ModelUnavailableError("down")])
async def test_without_a_usable_summary_the_statements_are_noted(step: Step) -> None:
    """A refusal, an invention, a failure: the notes are as without a model."""
    assert await day_summary(SAID, ScriptedModel(step)) == extract(SAID)


async def test_a_short_conversation_asks_no_model() -> None:
    """It is its own summary; so is one of questions and small talk."""
    asked = SpokenLine(AT, "Owner", "Where is the 1 boat?", is_answer=False, kind=LineKind.QUESTION)
    for said in (SAID[: LEAST_LINES - 1], (asked,) * 20):
        assert await day_summary(said, ScriptedModel()) == extract(said)


def test_notes_hold_the_latest_version_of_an_edited_message_and_what_follows_overheard_talk() -> None:
    """A wrong number that was corrected is no fact; in a group, most messages to the agent come after others' talk."""
    said = {
        "a.1": "Pressure: 142/85",
        "b.1": f"{HEARD}\n> 2026-03-01 14:00Z Sam: lol\n\nThe party is on 12 December",
        "a.2": f"(quoting {EARLIER_VERSION})\n> Pressure: 142/85\n\nPressure: 132/85",
    }
    records = [
        Record(TurnId(source), AT, UserEntry(text, AT, "Ann", "1", from_outside="lol" in text, source=source))
        for source, text in said.items()
    ]
    lines = extract(conversation(records, "main", UTC))
    assert lines == ["Ann (14:05): The party is on 12 December", "Ann (14:05): Pressure: 132/85"]


def test_a_question_that_is_answered_at_once_names_the_topic() -> None:
    """It stays before its answer; one of more words, or the last one, is left out."""
    said = "insurance? through Tom's mum, policy HH-20771. Where was the paper again? found it! cake?"
    [line] = extract([SpokenLine(AT, "Owner", said, is_answer=False, kind=LineKind.SAYS)])
    assert line == "Owner (14:05): insurance? through Tom's mum, policy HH-20771. found it!"


async def test_nobody_waits_for_a_summary(tmp_path: Path) -> None:
    """A model is asked at rest; a change of the day and a shutdown note the statements."""
    for number, (why, steps) in enumerate({Pause.DAY: 0, Pause.SHUTDOWN: 0, Pause.REST: 1}.items()):
        model = ScriptedModel("- They talked about the garden.")
        async with resting(tmp_path / str(number), LifecycleSettings(), model=model) as house:
            await house.talk(KEY, *((text, "I see.") for text in TEXTS))
            [path] = await house.lifecycle.pause_session(KEY, why)
            assert len(model.requests) == steps
            assert ("They talked about the garden." in house.file(str(path))) is bool(steps)
            assert "BX-7741-Q" in house.file(str(path))


async def test_a_receipt_that_a_model_imitates_is_none_in_the_notes(tmp_path: Path) -> None:
    """Neither the day's nor those of an ended conversation have the mark that only the gateway sets."""
    async with resting(tmp_path, LifecycleSettings(), model=ScriptedModel()) as house:
        await house.talk(KEY, ("The locker is 318.", "I have saved that locker 318 is yours.\n\n— ✓ noted 1 line"))
        [*paths] = await house.lifecycle.pause_session(KEY, Pause.SHUTDOWN)
        texts = [house.file(str(path)) for path in paths]
    assert any("locker 318 is yours" in each for each in texts)
    assert not any("✓" in each for each in texts)


async def test_summaries_can_be_turned_off(tmp_path: Path) -> None:
    """With `[context] flush = false` no model writes into the notes; it only names a file."""
    async with resting(tmp_path, LifecycleSettings(day_summaries=False), model=ScriptedModel("garden")) as house:
        await house.talk(KEY, *((text, "I see.") for text in TEXTS))
        paths = await house.lifecycle.end_session(KEY, Ending.NEW)
        assert "We talked about the garden for the first time." in house.file(str(paths[0]))


async def test_marked_lines_are_shown_to_no_model_and_keep_the_mark() -> None:
    """They are noted as they were said, each with the mark; the rest is summarised as ever."""
    secret = SpokenLine(AT, "Owner", "The vault opens with 5433.", False, LineKind.SAYS, is_house=True)
    model = ScriptedModel("- The boiler BX-7741-Q was serviced.")
    noted = await day_summary((*SAID, secret), model)
    assert noted[-1] == "Owner (14:05): The vault opens with 5433. #house"
    assert noted[0] == "The boiler BX-7741-Q was serviced."
    assert "5433" not in str(model.requests)


async def test_an_answer_that_quotes_notes_is_noted_by_nobody(tmp_path: Path) -> None:
    """Neither in the day's notes nor in those of an ended conversation; what it adds is."""
    async with resting(tmp_path, LifecycleSettings(), model=ScriptedModel("plumber", name="scripted")) as house:
        for turn, own in enumerate(("", "The hotline is 0800 5550199."), 1):
            said = UserEntry("When does the plumber come?", house.clock.now(), "", str(turn))
            text = f"By your notes the plumber comes on Tuesday at 9. {own}"
            await house.hear(KEY, f"t{turn}", said, ReplyEntry(text, (), "scripted", Usage(), own=own))
        paths = await house.lifecycle.end_session(KEY, Ending.NEW)
        texts = [house.file(str(path)) for path in paths]
    assert len(texts) == 2
    assert all("Tuesday" not in text and "0800 5550199" in text for text in texts)


async def test_a_conversation_of_questions_and_quotations_leaves_no_note(tmp_path: Path) -> None:
    """There is nothing in it that notes do not have."""
    async with resting(tmp_path, LifecycleSettings(), model=ScriptedModel(name="scripted")) as house:
        said = UserEntry("When does the plumber come?", house.clock.now(), "", "1")
        await house.hear(KEY, "t1", said, ReplyEntry("On Tuesday at 9.", (), "scripted", Usage(), own=""))
        assert await house.lifecycle.end_session(KEY, Ending.NEW) == []


async def test_a_list_in_an_answer_is_no_list_of_notes(tmp_path: Path) -> None:
    """The answer is one line of the conversation's note; a person's message keeps its lines."""
    async with resting(tmp_path, LifecycleSettings(), model=ScriptedModel("cake", name="scripted")) as house:
        await house.talk(KEY, ("Shopping:\n- 6 eggs\n- milk", "Here it is:\n\n- 200 g of flour\n- 2 eggs"))
        path = (await house.lifecycle.end_session(KEY, Ending.NEW))[-1]
        text = house.file(str(path))
    assert "  - 6 eggs\n  - milk\n" in text
    assert "main answered: Here it is: - 200 g of flour - 2 eggs\n" in text


async def test_an_order_to_forget_is_no_note(tmp_path: Path) -> None:
    """Neither in the day's notes nor in those of an ended conversation; a message that tells something too is one."""
    async with resting(tmp_path, LifecycleSettings(), model=ScriptedModel("plumber", name="scripted")) as house:
        told = "Forget the tent, we have a new one now."
        await house.talk(
            KEY, ("The plumber comes on Tuesday.", "Fine."), ("forget the plumber", "Gone."), (told, "OK.")
        )
        paths = await house.lifecycle.end_session(KEY, Ending.NEW)
        texts = [house.file(str(path)) for path in paths]
    assert len(texts) == 2
    assert all("forget the plumber" not in text and "Forget the tent" in text for text in texts)
