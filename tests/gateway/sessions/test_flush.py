"""A model saves notes before text makes way: what is saved is read back, and what it does otherwise harms nothing."""

import asyncio
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePosixPath

import pytest

from gateway.admission.routing import SessionKey
from gateway.agent.entries import FlushEntry, ReplyEntry, UserEntry
from gateway.agent.models.port import ModelRequest, OnText, ToolSpec
from gateway.agent.window.settings import ContextSettings
from gateway.errors import ModelError, ModelUnavailableError
from gateway.sessions.flush import AGAIN, DEADLINE_S, PROMPT, Flush, unflushed_records
from gateway.sessions.lifecycle import LifecycleSettings
from gateway.sessions.session import Session
from gateway.stores.rows import TurnId
from tests.fakes.clock import ManualClock
from tests.fakes.keeping import Answer, KeepingModel, always, notes
from tests.fakes.model import call, says
from tests.gateway.sessions.resting import BERLIN, GROUP, KEY, MAIN, START, Resting, resting

SETTINGS = LifecycleSettings(zone=BERLIN)
TODAY = "memory/2026-03-01.md"
TALK = tuple((f"question {number}", f"answer {number}") for number in range(4))
SPECS = tuple(ToolSpec(name, "", {}) for name in ("add_note", "write_file", "save_memory", "edit_file"))


async def session(house: Resting, key: SessionKey = KEY) -> Session:
    return Session(key, house.agents[MAIN], await house.sessions.open(key))


async def flushed(
    house: Resting,
    key: SessionKey = KEY,
    settings: ContextSettings | None = None,
    clock: Callable[[], datetime] | None = None,
    deadline_s: float = DEADLINE_S,
) -> FlushEntry | None:
    """Flush what stands in the session's transcript."""
    place = await session(house, key)
    now = clock or (lambda: house.clock.now().astimezone(BERLIN))
    flush = Flush(settings or ContextSettings(), now, deadline_s=deadline_s)
    return await flush(place, ModelRequest("stable", place.transcript.entries, SPECS))


def files(house: Resting) -> dict[str, str]:
    root = house.agents[MAIN].workspace.folder.root
    return {str(file.relative_to(root)): file.read_text("utf-8") for file in root.rglob("*") if file.is_file()}


async def test_a_note_is_written_and_read_back_and_nothing_is_said(tmp_path: Path) -> None:
    """The receipt says where it stands; the conversation knows nothing of the silent turn."""
    model = KeepingModel(flush=notes("The hall is rented."))
    async with resting(tmp_path, SETTINGS, model=model) as house:
        await house.talk(KEY, *TALK)
        before = list((await session(house)).transcript.records)
        assert await flushed(house) == FlushEntry((f"{TODAY}#L3",), 1)
        assert house.file(TODAY) == "# 2026-03-01\n\n- 14:05 The hall is rented.\n"
        assert (await session(house)).transcript.records == before
        assert model.flushes[0].temperature == 0.3
        assert [spec.name for spec in model.flushes[0].tools] == [spec.name for spec in SPECS]


def elsewhere(request: ModelRequest) -> str | ReplyEntry:
    """Try every file but the day's own."""
    if request.entries and getattr(request.entries[-1], "is_error", False):
        return "Saved in MEMORY.md."
    return says(
        "",
        call("write_file", path="MEMORY.md", content="x"),
        call("save_memory", text="x", category="notes"),
        call("edit_file", path="AGENTS.md", old="a", new="b"),
        call("bash", command="rm -rf /"),
        call("add_note", text="x", path="memory/2020-01-01.md"),
    )


HARMLESS: dict[str, Answer] = {
    "silent": always("NO_REPLY"),
    "empty": always(""),
    "giant": always("word " * 200_000),
    "lies": always("I have written everything into MEMORY.md."),
    "elsewhere": elsewhere,
    "endless": lambda _: says("", call("write_file", path="a.md", content="x")),
    "its own orders": lambda _: says("", call("add_note", text=f"{PROMPT[10:]} (the end)")),
    "blank notes": lambda _: says("", call("add_note", text="  \n ")),
    "notes too large": lambda _: says("", call("add_note", text="x" * 3_000_000)),
    "no arguments": lambda _: says("", call("add_note")),
    "down": always(ModelUnavailableError("down")),
}


async def test_a_relative_day_is_noted_with_its_date(tmp_path: Path) -> None:
    """A note is read for years."""
    async with resting(tmp_path, SETTINGS, model=KeepingModel(flush=notes("The hall was rented yesterday."))) as house:
        await house.talk(KEY, *TALK)
        await flushed(house)
        assert house.file(TODAY).endswith("The hall was rented yesterday (2026-02-28).\n")


@pytest.mark.parametrize("answer", HARMLESS.values(), ids=HARMLESS)
async def test_a_model_that_saves_nothing_is_asked_twice_and_changes_nothing(tmp_path: Path, answer: Answer) -> None:
    """Whatever it says or tries: no file but the day's could be touched, and the receipt claims nothing."""
    model = KeepingModel(flush=answer)
    async with resting(tmp_path, SETTINGS, model=model) as house:
        await house.talk(KEY, *TALK)
        before = files(house)
        assert await flushed(house) == FlushEntry((), 2)
        assert files(house) == before
        asked = [e.text for r in model.flushes for e in r.entries if isinstance(e, UserEntry) and "add_note" in e.text]
        assert list(dict.fromkeys(asked)) == [PROMPT, AGAIN]
        assert len(model.flushes) <= 2 * ContextSettings().flush_steps


async def test_notes_until_a_failure_count(tmp_path: Path) -> None:
    """The model goes away in the middle: what it wrote until then is there, with its receipt."""
    script: Iterator[ReplyEntry | ModelError] = iter(
        [says("", call("add_note", text="One.")), ModelUnavailableError("down")]
    )
    model = KeepingModel(flush=lambda _: next(script))
    async with resting(tmp_path, SETTINGS, model=model) as house:
        await house.talk(KEY, *TALK)
        assert await flushed(house) == FlushEntry((f"{TODAY}#L3",), 1)


async def test_a_note_that_is_not_in_its_file_afterwards_is_none(tmp_path: Path) -> None:
    """A disk that swallows what was written: the model is told so, and no receipt is given."""
    model = KeepingModel(flush=notes("Lost."))
    async with resting(tmp_path, SETTINGS, model=model) as house:
        await house.talk(KEY, *TALK)
        folder = house.agents[MAIN].workspace.folder
        folder.append(PurePosixPath(TODAY), "- 14:00 Before.\n", "# 2026-03-01\n\n")
        folder.append = lambda *_: 3  # type: ignore[method-assign]
        assert await flushed(house) == FlushEntry((), 2)
        assert any("not in the file" in getattr(e, "text", "") for r in model.flushes for e in r.entries)


@pytest.mark.parametrize("name", ["heartbeat", "subagent:1", "cron:morning"])
async def test_a_session_without_notes_of_its_own_is_never_asked(tmp_path: Path, name: str) -> None:
    """Nobody pays for a flush that could write nothing."""
    model, key = KeepingModel(flush=notes("x")), SessionKey(MAIN, name)
    async with resting(tmp_path, SETTINGS, model=model) as house:
        await house.talk(key, *TALK)
        assert await flushed(house, key) is None
        assert model.flushes == []


@pytest.mark.parametrize(
    ("settings", "talk", "name"),
    [
        (ContextSettings(flush=False), TALK, "scripted"),
        (ContextSettings(), TALK[:2], "scripted"),
        (ContextSettings(), TALK, "offline"),
    ],
)
async def test_where_it_is_off_or_too_little_was_said_nobody_is_asked(
    tmp_path: Path, settings: ContextSettings, talk: tuple[tuple[str, str], ...], name: str
) -> None:
    """More than two messages; a language model; the setting."""
    model = KeepingModel(flush=notes("x"), name=name)
    async with resting(tmp_path, SETTINGS, model=model) as house:
        await house.talk(KEY, *talk)
        assert await flushed(house, settings=settings) is None
        assert model.flushes == []


async def test_what_was_flushed_is_not_flushed_again(tmp_path: Path) -> None:
    """The count begins anew at the receipt; the message of the turn in which it was given belongs to what follows."""
    model = KeepingModel(flush=notes("x"))
    async with resting(tmp_path, SETTINGS, model=model) as house:
        await house.talk(KEY, *TALK)
        transcript = (await session(house)).transcript
        receipt = await flushed(house)
        assert receipt is not None
        await transcript.append(TurnId("t4"), receipt)
        assert [record.turn_id for record in unflushed_records(transcript.records)] == ["t4"] * 3
        assert await flushed(house) is None
        await house.talk(KEY, *TALK[:2], turn=5)
        assert await flushed(house) is not None


async def test_a_group_is_noted_among_its_own_notes(tmp_path: Path) -> None:
    """The audience is the conversation's, whatever the model would like."""
    async with resting(tmp_path, SETTINGS, model=KeepingModel(flush=notes("In here."))) as house:
        await house.talk(GROUP, *TALK)
        receipt = await flushed(house, GROUP)
        assert receipt is not None
        assert receipt.citations == ("memory/shared/telegram.home.-100/2026-03-01.md#L3",)
        assert not house.file(TODAY)


async def test_two_conversations_flush_into_one_day(tmp_path: Path) -> None:
    """At the same time: every line is there, and each receipt leads to its own."""
    keys = [KEY, SessionKey(MAIN, "main:2")]
    numbers = iter(range(1_000))

    def twenty(request: ModelRequest) -> str | ReplyEntry:
        if request.entries[-1] in model.flushes[0].entries or isinstance(request.entries[-1], UserEntry):
            return says("", *(call("add_note", text=f"note {next(numbers)}") for _ in range(20)))
        return "NO_REPLY"

    model = KeepingModel(flush=twenty)
    async with resting(tmp_path, SETTINGS, model=model) as house:
        await house.talk(KEY, *TALK)
        place = await session(house)
        flush = Flush(ContextSettings(), lambda: START.astimezone(BERLIN))
        request = ModelRequest("", place.transcript.entries, SPECS)
        receipts = await asyncio.gather(*(flush(Session(KEY, place.agent, place.transcript), request) for _ in keys))
        lines = house.file(TODAY).splitlines()
        cited = [int(c.rpartition("#L")[2]) for r in receipts if r is not None for c in r.citations]
        assert sorted(cited) == list(range(3, 43))
        assert sorted(lines[2:]) == sorted(f"- 14:05 note {number}" for number in range(40))


@pytest.mark.parametrize("night", ["2026-03-01", "2026-03-28", "2026-10-24"])
async def test_over_midnight_each_note_goes_into_the_day_on_which_it_is_written(tmp_path: Path, night: str) -> None:
    """In the owner's zone, in the nights of both clock changes too: hours are UTC's, days are the owner's."""
    begin = datetime.fromisoformat(f"{night}T23:30").replace(tzinfo=BERLIN).astimezone(UTC)
    clock = ManualClock(begin)

    def hourly(request: ModelRequest) -> str | ReplyEntry:
        if len(request.entries) > 2 * len(TALK) + 1:
            clock.advance(3_600)
        return says("", call("add_note", text=f"{clock.now():%d %H:%M}"))

    settings = ContextSettings(flush_steps=5)
    async with resting(tmp_path, SETTINGS, model=KeepingModel(flush=hourly), clock=clock) as house:
        await house.talk(KEY, *TALK)
        receipt = await flushed(house, settings=settings, clock=lambda: clock.now().astimezone(BERLIN))
        assert receipt is not None
        next_day = datetime.fromisoformat(night) + timedelta(days=1)
        written = house.file(f"memory/{night}.md") + house.file(f"memory/{next_day:%Y-%m-%d}.md")
        moments = [begin + timedelta(hours=hour) for hour in range(5)]
        expected = [f"- {each.astimezone(BERLIN):%H:%M} {each:%d %H:%M}" for each in moments]
        assert [line for line in written.splitlines() if line.startswith("- ")] == expected
        assert house.file(f"memory/{night}.md").count("\n- ") == 1


class SlowModel(KeepingModel):
    """Notes one thing, then thinks for ever."""

    async def reply(self, request: ModelRequest, on_text: OnText) -> ReplyEntry:
        if self.flushes:
            await asyncio.Event().wait()
        return await super().reply(request, on_text)


async def test_a_model_that_thinks_too_long_is_left_alone(tmp_path: Path) -> None:
    """What it noted in time counts."""
    model = SlowModel(flush=lambda _: says("", call("add_note", text="In time.")))
    async with resting(tmp_path, SETTINGS, model=model) as house:
        await house.talk(KEY, *TALK)
        receipt = await flushed(house, deadline_s=3)
        assert receipt == FlushEntry((f"{TODAY}#L3",), 1)
