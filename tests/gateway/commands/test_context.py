"""How full the window is can be seen, and who may can make room in it; a model can only ask for it."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.agent.entries import Entry, FlushEntry, Mark, ReplyEntry, ResultEntry, SummaryEntry, Usage, UserEntry
from gateway.agent.models.port import ModelRequest
from gateway.agent.tools.conversation import asked_focus
from gateway.sessions.compaction import BY_WORDING
from gateway.stores.rows import TurnId
from gateway.transcripts.read_tail import LEAST_MESSAGES
from tests.fakes.keeping import SUMMARY, KeepingModel, always, notes
from tests.fakes.model import call, note_of, says
from tests.gateway.commands.house import MEMBER, OWNER_IN_GROUP, House, open_house
from workspaces.errors import WorkspaceUnusableError

LONG = "about the harbour and its boats " * 30
COUNTED = ReplyEntry("Yes.", (), "scripted", Usage(4_000, 10, 3_000))


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with open_house(tmp_path) as opened:
        opened.model = KeepingModel(
            turn=always(COUNTED), flush=notes("The offer is 4,000."), summary=always(f"{SUMMARY}\nThe harbour.")
        )
        yield opened


def model_of(house: House) -> KeepingModel:
    assert isinstance(house.model, KeepingModel)
    return house.model


async def talk(house: House, messages: int = 5) -> None:
    for number in range(messages):
        await house.says(f"{number} {LONG}")
        house.clock.advance(60)


async def records(house: House) -> list[object]:
    return [record.entry for record in (await house.sessions.open(house.key())).records]


async def test_the_window_is_told_by_part(house: House) -> None:
    """Every part of the sum, the sum, the window and who counted; what the conversation cost so far."""
    await talk(house, 3)
    lines = (await house.says("/context")).splitlines()
    parts = {name: int(n.replace(",", "")) for name, n in (line[2:].split() for line in lines[2:7])}
    assert list(parts) == ["conversation", "tools", "files", "memory", "instructions"]
    total, window = (int(word.replace(",", "")) for word in lines[1].split()[0:3:2])
    assert abs(total - sum(parts.values())) <= 1
    assert window == 16_000
    assert lines[1].endswith("as the provider counted:")
    assert lines[0].endswith(f"{total / window:.0%} of the window of `scripted`")
    assert lines[-1] == "- 12,000 tokens read so far (75% from the provider's cache), 30 written"
    assert parts["conversation"] > 700
    assert max(map(len, lines)) <= 80


async def test_after_many_turns_the_count_says_since_when(house: House) -> None:
    """The turns that a summary stands for are not read again for it, and nobody takes the rest for all."""
    transcript = await house.sessions.open(house.key())
    for number in range(LEAST_MESSAGES + 5):
        house.clock.advance(60)
        turn = TurnId(f"old-{number}")
        await transcript.append(turn, UserEntry(f"question {number}", house.clock.now(), "", "1"), COUNTED)
    last = f"old-{LEAST_MESSAGES + 4}"
    await transcript.append(TurnId("old"), SummaryEntry("all of it", last, (), from_outside=False, model="m"))
    since = transcript.records[0].at
    told = (await house.says("/context")).splitlines()[-1]
    assert told.startswith(f"- {LEAST_MESSAGES * 4_000:,} tokens read since {since:%Y-%m-%d %H:%M} (75%")


async def test_before_anything_was_counted_it_is_an_estimate(house: House) -> None:
    """And it says so; nothing was spent, saved or summarised."""
    lines = (await house.says("/context")).splitlines()
    assert lines[1].endswith("a cautious estimate:")
    assert lines[7:] == ["- no tokens counted so far"]


async def test_without_a_language_model_there_is_no_window(house: House) -> None:
    """The offline responder reads no conversation."""
    house.model = KeepingModel(name="offline")
    assert "nothing limits" in await house.says("/context")


async def test_a_group_sees_its_own_window_only(house: House) -> None:
    """Whatever was said in the owner's chat, and whatever MEMORY.md holds."""
    before = await house.says("/context", MEMBER)
    await talk(house, 3)
    house.put("MEMORY.md", "secret " * 1_000)
    assert await house.says("/context", MEMBER) == before


async def test_compact_saves_and_summarises_and_says_what_it_did(house: House) -> None:
    """Also a conversation that is far from full; the next prompt has the summary, and neither command nor answer."""
    await house.says("Never sell the boat.")
    await talk(house)
    answer = await house.says("/compact the harbour")
    assert "Summarised: 5 turns." in answer
    assert "`memory/2026-03-01.md#L" in answer
    assert "> Never sell the boat." in answer
    assert "The harbour." not in answer
    assert "Keep most of what concerns: the harbour" in model_of(house).summaries[0].stable
    await house.says("And now?")
    shown = [entry.text for entry in model_of(house).turns[-1].entries if isinstance(entry, UserEntry)]
    assert shown[0].startswith("[Summary by the gateway")
    assert [text[0] for text in shown[1:]] == ["4", "A"]


async def test_summarize_shows_the_summary(house: House) -> None:
    """The text that stands for the older part from now on."""
    await talk(house)
    assert (await house.says("/summarize")).startswith(f"{SUMMARY}\nThe harbour.\n")


@pytest.mark.parametrize("order", ["/compact", "/summarize"])
async def test_an_empty_conversation_gives_one_sentence(house: House, order: str) -> None:
    """There is nothing to summarise, and no model is asked."""
    assert await house.says(order) == (
        "There is nothing to summarise yet: the whole conversation is still in the window."
    )
    assert model_of(house).summaries == model_of(house).flushes == []


async def test_what_cannot_be_noted_is_not_summarised_and_is_said(house: House) -> None:
    """The reason is the answer."""
    await talk(house)

    def full(*_: object) -> int:
        raise WorkspaceUnusableError("no space left on device")

    house.workspace.folder.append = full  # type: ignore[method-assign, assignment]
    assert await house.says("/compact") == "no space left on device"
    assert not any(isinstance(entry, SummaryEntry) for entry in await records(house))


async def test_in_a_group_the_owner_alone_orders_a_summary(house: House) -> None:
    """It costs money; the members hear of no such command."""
    for number in range(4):
        await house.says(f"{number} {LONG}", MEMBER)
    assert "no command /compact" in await house.says("/compact", MEMBER)
    assert "Summarised" in await house.says("/compact", OWNER_IN_GROUP)


async def test_the_state_of_the_gateway_names_what_was_saved_and_summarised(house: House) -> None:
    """In /status and in /context, with when."""
    await talk(house)
    await house.says("/compact")
    for order in ("/status", "/context"):
        answer = await house.says(order)
        assert "- notes last saved by the model 2026-03-01 14:10: `memory/2026-03-01.md#L" in answer
        assert "- summarised 2026-03-01 14:10 by `scripted`" in answer


async def test_a_summary_by_wording_is_named_so(house: House) -> None:
    """Nobody takes it for a model's."""
    house.model = KeepingModel(summary=always("We talked."))
    await talk(house)
    await house.says("/compact")
    assert any(isinstance(entry, SummaryEntry) and entry.model == BY_WORDING for entry in await records(house))
    assert "by wording, without a model" in await house.says("/context")


def asks(request: ModelRequest) -> str | ReplyEntry:
    """Ask for a summary where the last message says so."""
    latest = request.entries[-1]
    if isinstance(latest, UserEntry) and latest.text == "Sum up.":
        return says("", call("summarize_conversation", focus="the boats"))
    return "Yes."


async def test_a_model_asks_for_a_summary_and_gets_it_before_the_next_message(house: House) -> None:
    """Not within its turn, once, with its focus, and also after a restart in between."""
    house.model = KeepingModel(turn=asks)
    await talk(house)
    await house.says("Sum up.")
    assert not any(isinstance(entry, SummaryEntry) for entry in await records(house))
    house.restart()
    for text in ("Go on.", "And on."):
        await house.says(text)
    assert sum(isinstance(entry, SummaryEntry) for entry in await records(house)) == 1
    assert [isinstance(entry, FlushEntry) for entry in await records(house)].count(True) == 1
    assert "Keep most of what concerns: the boats" in model_of(house).summaries[0].stable


async def test_only_the_owners_own_chat_has_the_tool(house: House) -> None:
    """In a group everybody could spend the owner's money with it."""
    house.model = KeepingModel()
    await house.says("hello")
    await house.says("hello", MEMBER)
    offered = [{spec.name for spec in request.tools} for request in model_of(house).turns]
    assert ["summarize_conversation" in names for names in offered] == [True, False]


def test_a_wish_is_fulfilled_by_a_summary() -> None:
    """Arguments that nobody can read are no focus."""
    asked, unread = (says("", call("summarize_conversation", focus=focus)) for focus in ("boats", 7))
    ran, misread = (ResultEntry(each.calls[0].id, "summarize_conversation", "", False) for each in (asked, unread))
    refused = replace(ran, is_error=True)
    made = SummaryEntry("", "", (), False, "m")
    assert asked_focus([ran, asked]) == "boats"
    assert asked_focus([misread, unread]) == ""
    nothing_asked: list[list[Entry | Mark]] = [[], [asked], [refused, asked], [made, ran, asked]]
    for nothing in nothing_asked:
        assert asked_focus(nothing) is None


async def test_the_agent_is_told_how_full_its_window_is_from_half_of_it_on(house: House) -> None:
    """Before its last words, in the note of the turn, so that what it reads first stays the same."""
    house.model = KeepingModel(window_tokens=60_000)
    for _ in range(3):
        assert "window" not in "".join(note_of(request) for request in model_of(house).turns)
        await house.says("x" * 28_500)
    assert "\nYour context window is 5" in note_of(model_of(house).turns[-1])
    assert not any(isinstance(entry, SummaryEntry) for entry in await records(house))
