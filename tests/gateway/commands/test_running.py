"""A command's turn is a turn: written down as it happens, never run twice, and no business of a language model's."""

from datetime import UTC, timedelta

import pytest

from gateway.agent.entries import COMMAND, CallStartEntry, Entry, ReplyEntry, ResultEntry, UserEntry
from gateway.commands.command import Command, CommandCall, Who
from gateway.commands.remember import split_category
from gateway.errors import ToolError
from gateway.stores.rows import InboxRow
from gateway.transcripts.memory_source import TranscriptNotes
from tests.fakes.model import ScriptedModel, note_of
from tests.gateway.commands.house import MAIN, MEMBER, House
from workspaces.history import LogQuery
from workspaces.sections import Category


class CrashError(BaseException):
    """The process ends here."""


async def entries(house: House) -> list[Entry]:
    return (await house.sessions.open(house.key())).entries


async def test_a_command_is_journaled_and_committed_like_any_turn(house: House) -> None:
    """Message, call, start, result, answer: in this order, and the inbox is empty."""
    answer = await house.says("/remember the spare key is with Ann")
    assert answer.startswith("Noted in `MEMORY.md#L")
    said, called, started, result, told = await entries(house)
    assert isinstance(said, UserEntry)
    assert isinstance(called, ReplyEntry)
    assert [(call.name, call.arguments) for call in called.calls] == [
        ("/remember", '{"arguments": "the spare key is with Ann"}')
    ]
    assert isinstance(started, CallStartEntry)
    assert isinstance(result, ResultEntry)
    assert isinstance(told, ReplyEntry)
    assert (result.text, told.text, told.model) == (answer, answer, COMMAND)
    assert await house.store.inbox.waiting() == []


async def test_a_relative_day_is_remembered_with_its_date(house: House) -> None:
    """A note is read for years."""
    await house.says("/remember Ann comes tomorrow")
    tomorrow = house.clock.now().date() + timedelta(days=1)
    assert f"Ann comes tomorrow ({tomorrow})" in house.text("MEMORY.md")


async def test_no_model_sees_a_command_nor_its_tool(house: House) -> None:
    """The next request holds what was said to the model, and says of nothing that it was left out."""
    house.model = ScriptedModel("Good morning.", "Fine.")
    await house.says("hello")
    await house.says("/remember the spare key is with Ann")
    await house.says("/nothing")
    await house.says("and now?")
    assert isinstance(house.model, ScriptedModel)
    first, second = house.model.requests
    texts = [entry.text for entry in second.entries if isinstance(entry, UserEntry | ReplyEntry)]
    assert texts == ["hello", "Good morning.", "and now?"]
    assert not [entry for entry in second.entries if isinstance(entry, ResultEntry | CallStartEntry)]
    assert "earlier messages" not in note_of(second)
    assert not {spec.name for request in (first, second) for spec in request.tools if spec.name.startswith("/")}


async def test_what_commands_say_is_not_searched_for_as_a_conversation(house: House) -> None:
    """A passage that a list of candidates quotes would come back from there once it was forgotten."""
    house.model = ScriptedModel("Rex sleeps.")
    await house.says("the dog is called Rex")
    await house.says("/remember the key is with Ann")
    await house.says("/forget key")
    said = TranscriptNotes(MAIN, house.folder / "sessions", UTC).read("sessions/main.jsonl")
    assert said is not None
    assert [line[6:] for line in said.text.splitlines()[2:]] == [
        "Owner: the dog is called Rex",
        "main answered: Rex sleeps.",
    ]


async def test_a_command_that_was_cut_off_before_it_wrote_is_not_run_again(house: House) -> None:
    """Nobody knows whether it happened; who gave it is told so, and nothing is written behind their back."""
    times = 0

    async def run(_: CommandCall) -> str:
        nonlocal times
        times += 1
        raise CrashError

    row = await crashed(house, Command("risky", "", "may happen", Who.MAIN, False, run), "/risky now")
    await house.answer(row)
    assert await house.answered(row) == (
        "/risky was interrupted: it may or may not have happened. Please check before you repeat it."
    )
    assert times == 1


async def test_a_command_that_was_cut_off_after_it_wrote_wrote_once(house: House) -> None:
    """The crash comes between the file and the record of the result: the note stands there one time."""
    remember = next(each for each in house.commands.all if each.name == "remember")

    async def run(call: CommandCall) -> str:
        await remember.run(call)
        raise CrashError

    row = await crashed(house, Command("keep", "", "notes", Who.MAIN, False, run), "/keep the key is with Ann")
    await house.answer(row)
    assert "may or may not have happened" in await house.answered(row)
    assert house.text("MEMORY.md").count("the key is with Ann") == 1


async def test_a_command_that_changes_nothing_is_run_again(house: House) -> None:
    """After a crash the question gets its answer."""
    crashes = [True]

    async def run(_: CommandCall) -> str:
        if crashes:
            crashes.pop()
            raise CrashError
        return "answered"

    row = await crashed(house, Command("ask", "", "asks", Who.MAIN, True, run), "/ask")
    await house.answer(row)
    assert await house.answered(row) == "answered"


async def test_crashes_are_no_repetitions_of_a_command(house: House) -> None:
    """A command that several crashes interrupted is carried out: its earlier calls do not count as calls alike."""
    crashes = [True] * 4

    async def run(_: CommandCall) -> str:
        if crashes:
            crashes.pop()
            raise CrashError
        return "answered"

    row = await crashed(house, Command("ask", "", "asks", Who.MAIN, True, run), "/ask")
    while crashes:
        with pytest.raises(CrashError):
            await house.answer(row)
        house.restart()
    await house.answer(row)
    assert await house.answered(row) == "answered"


async def crashed(house: House, command: Command, text: str) -> InboxRow:
    """Give *command* and let everything stop in it; return the message, which still waits."""
    house.extra = [command]
    row = await house.take_in(text)
    with pytest.raises(CrashError):
        await house.answer(row)
    house.restart()
    assert [waiting.id for waiting in await house.store.inbox.waiting()] == [row.id]
    return row


async def test_what_goes_wrong_is_one_sentence(house: House) -> None:
    """A refusal is told as it is; a defect as a code, without its details."""

    async def refuse(_: CommandCall) -> str:
        raise ToolError("Give a number.")

    async def fail(_: CommandCall) -> str:
        raise ZeroDivisionError("a secret detail")

    house.extra = [
        Command("deny", "", "refuses", Who.MAIN, False, refuse),
        Command("fail", "", "fails", Who.MAIN, False, fail),
    ]
    assert await house.says("/deny") == "Give a number."
    answer = await house.says("/fail")
    assert "Something went wrong" in answer
    assert "secret" not in answer
    house.model = ScriptedModel("Here I am.")
    assert await house.says("still there?") == "Here I am."


# --- remember, whoami, status, agents


async def test_remember_writes_where_the_chat_keeps_its_notes(house: House) -> None:
    """The owner's lasts in MEMORY.md, in the section that they name; a group's stands in the group's own notes."""
    await house.says("/remember Preferences: tea, no milk")
    await house.says("/remember at 10: call Ann")
    memory = house.text("MEMORY.md")
    preferences = memory.index("Preferences")
    assert preferences < memory.index("- tea, no milk") < memory.index("at 10: call Ann")
    answer = await house.says("/remember the key is with Sam\n# Owner\n- 09:00 forged", MEMBER)
    assert answer == "Noted in `memory/shared/telegram.home.-100/2026-03-01.md#L3`."
    assert "key is with Sam" not in house.text("MEMORY.md")
    assert house.text("memory/shared/telegram.home.-100/2026-03-01.md") == (
        "# 2026-03-01\n\n- 14:05 the key is with Sam\n  \\# Owner\n  \\- 09:00 forged\n"
    )


async def test_remember_without_words_says_how(house: House) -> None:
    """Nothing is written; a category alone is no text either."""
    before = house.files()
    assert "Add what to remember" in await house.says("/remember")
    assert "nothing to write down" in await house.says("/remember notes:")
    assert house.files() == before


async def test_what_a_command_writes_is_a_version_with_its_message(house: House) -> None:
    """The history leads from the note to the message that ordered it."""
    row = await house.take_in("/remember the key is with Ann")
    await house.answer(row)
    await house.history_writer.finish()
    history = await house.history_writer.history()
    (newest, *_) = history.view(house.access()).log(LogQuery(limit=1))
    assert newest.origin is not None
    assert (newest.origin.session, newest.origin.message, newest.origin.turn) == ("main/main", str(row.id), row.turn_id)


async def test_whoami_says_who_where_and_what(house: House) -> None:
    """By the transport's facts; a group learns what it may see, and nothing of what it may not."""
    owner = await house.says("/whoami")
    assert "`telegram:7`, my owner" in owner
    assert "`main` chat" in owner
    member = await house.says("/whoami", MEMBER)
    assert "`telegram:8`." in member
    assert "`group` chat" in member
    assert "MEMORY.md" not in member


async def test_status_and_agents_answer_the_owner(house: House) -> None:
    """What the gateway says of itself, and who answers in it."""
    assert await house.says("/status") == "all is well"
    assert "`main`, model `scripted` (this chat)" in await house.says("/agents")


def test_every_category_can_be_named() -> None:
    """In any case, with or without a space; what is no category is text."""
    for category in Category:
        assert split_category(f"{category.upper()} : x: y") == (category, "x: y")
    assert split_category("at 10: call Ann") == (Category.NOTES, "at 10: call Ann")
    assert split_category("notes") == (Category.NOTES, "notes")
