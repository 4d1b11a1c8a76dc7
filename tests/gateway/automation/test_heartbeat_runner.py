"""Running heartbeats: requests to the model, each once, and notices to the owner."""

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from msgspec import structs

from adapters.channel import Address, InboundMessage
from gateway.admission.internal_channels import heartbeat_address
from gateway.admission.routing import SessionKey
from gateway.agent.entries import ReplyEntry, ResultEntry, UserEntry
from gateway.agent.models.port import ModelRequest
from gateway.automation.heartbeat_state import Outcome
from gateway.errors import ModelUnavailableError
from gateway.schedule.settings import HeartbeatSettings
from gateway.stores.rows import InboxRow
from tests.fakes.model import ScriptedModel, Step, call, says
from tests.gateway.automation.beating import BERLIN, CHAT, Beating, open_beating
from tests.gateway.commands.house import MAIN

DAY, HOUR, MINUTE = timedelta(days=1), timedelta(hours=1), timedelta(minutes=1)
OK = "HEARTBEAT_OK"


def always(step: Step) -> ScriptedModel:
    """A model that does the same however often it is asked."""
    return ScriptedModel(*[step] * 2_000)


def telling(text: str) -> ScriptedModel:
    """A model that tells its owner *text* at each heartbeat."""

    def step(request: ModelRequest) -> str | ReplyEntry:
        return OK if isinstance(request.entries[-1], ResultEntry) else says("", call("notify", text=text))

    return always(step)


def berlin(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=BERLIN).astimezone(UTC)


def asked_at(beating: Beating) -> list[str]:
    """When the agent was asked, by the clock on the wall in Berlin."""
    return [f"{each.sent_at.astimezone(BERLIN):%m-%d %H:%M}" for each in beating.entered]


def last_said(model: ScriptedModel) -> str:
    """What the model was told last."""
    (said,) = [entry.text for entry in model.requests[-1].entries if isinstance(entry, UserEntry)]
    return said


async def test_thirty_days_with_nothing_due_ask_no_model(tmp_path: Path) -> None:
    """With the template as it is, with every box ticked, and with a date that is far away."""
    model = ScriptedModel()
    async with open_beating(tmp_path, model, berlin("2026-03-10 12:00")) as beating:
        await beating.pass_time(10 * DAY, HOUR)
        beating.lists("- [x] mail", "- [ ] 2027-01-01 09:00 fireworks")
        await beating.pass_time(10 * DAY, HOUR)
        beating.lists("# Nothing", "<!-- - [ ] mail -->")
        await beating.pass_time(10 * DAY, HOUR)
        assert (await beating.standing()).state == "on"
    assert model.requests == []
    assert beating.entered == []


@pytest.mark.parametrize("begin", ["2026-03-20 12:00", "2026-10-17 12:00"])
async def test_daily_items_are_asked_for_once_a_day_through_a_clock_change(tmp_path: Path, begin: str) -> None:
    """At their own minute, by the clock on the wall, and nothing else is asked."""
    async with open_beating(tmp_path, always(OK), berlin(begin)) as beating:
        beating.lists("- [ ] daily 09:00 mail", "- [ ] Mon 18:30 bins", "- [x] daily 10:00 tea")
        await beating.pass_time(15 * DAY)
        asked = asked_at(beating)
    assert [each for each in asked if each.endswith("09:00")] == sorted({each[:5] + " 09:00" for each in asked})[-15:]
    assert len([each for each in asked if each.endswith("09:00")]) == 15
    assert len([each for each in asked if each.endswith("18:30")]) == 2
    assert len(asked) == 17


async def test_each_slot_is_asked_for_once_whatever_is_killed_when(tmp_path: Path) -> None:
    """A kill before or after each write of the store, again and again; daily items come once a day all the same."""
    dice, model = random.Random(7), always(OK)
    async with open_beating(tmp_path, model, berlin("2026-10-20 12:00")) as beating:
        beating.lists("- [ ] daily 09:00 mail", "- [ ] daily 02:30 night")
        kept, kills, is_new = beating.store, 0, True
        beating.store = Killing(kept, dice)  # type: ignore[assignment]
        beating.restart()
        for _ in range(10 * 24 * 3):
            beating.clock.advance(1_200)
            for _ in range(2):
                try:
                    if is_new:
                        await beating.heartbeats.begin()
                    await beating.heartbeats.look()
                    is_new = False
                except KilledError:
                    kills, is_new = kills + 1, True
                    beating.restart()
                await beating.answer()
    said = [entry.text for each in model.requests for entry in each.entries if isinstance(entry, UserEntry)]
    asked = [line for text in said for line in text.splitlines() if "(due " in line]
    assert kills > 50
    assert len(asked) == len(set(asked)) == 20


class KilledError(Exception):
    """The process is gone."""


class Killing:
    """A store whose process dies, now and then, before or after it wrote."""

    def __init__(self, store: object, dice: random.Random) -> None:
        self._store, self._dice = store, dice
        self.inbox = KillingInbox(store.inbox, self) if hasattr(store, "inbox") else None

    def perhaps(self) -> None:
        if self._dice.random() < 0.05:
            raise KilledError

    async def put(self, key: str, value: str) -> None:
        self.perhaps()
        await self._store.put(key, value)  # type: ignore[attr-defined]
        self.perhaps()

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)


class KillingInbox:
    """Its inbox."""

    def __init__(self, inbox: object, killing: Killing) -> None:
        self._inbox, self._killing = inbox, killing

    async def append(self, message: InboundMessage) -> InboxRow | None:
        self._killing.perhaps()
        row: InboxRow | None = await self._inbox.append(message)  # type: ignore[attr-defined]
        self._killing.perhaps()
        return row

    def __getattr__(self, name: str) -> object:
        return getattr(self._inbox, name)


async def test_what_names_no_time_is_asked_for_every_half_hour(tmp_path: Path) -> None:
    """On the round; what the agent is asked stands in the message, and nothing of earlier heartbeats with it."""
    model = always(OK)
    async with open_beating(tmp_path, model, berlin("2026-03-10 12:05")) as beating:
        beating.lists("- [ ] water the plants")
        await beating.pass_time(2 * HOUR)
        assert asked_at(beating) == ["03-10 12:35", "03-10 13:05", "03-10 13:35", "03-10 14:05"]
        assert "- water the plants" in last_said(model)
        assert len(model.requests) == 4


async def test_silence_reaches_nobody_and_news_go_to_the_owners_chat(tmp_path: Path) -> None:
    """By `notify` alone; what else the model writes is shown to nobody, and the ledger of silences says so."""
    model = ScriptedModel(
        OK,
        "All well.\n\n**HEARTBEAT_OK**",
        "NO_REPLY",
        says("", call("notify", text="Ann wrote.")),
        "Told them.",
        "The plants are dry.",
        says("", call("notify", text="")),
        OK,
    )
    async with open_beating(tmp_path, model, berlin("2026-03-10 12:00")) as beating:
        beating.lists("- [ ] look around")
        await beating.pass_time(7 * HOUR / 2, HOUR / 2)
        assert await beating.told() == [(CHAT, "Ann wrote.")]
        assert (await beating.house.store.report()).reasons["unasked_prose"] == 1
        (silence,) = await beating.house.store.silences.latest()
        assert (silence.address, silence.reason, silence.times) == (heartbeat_address(MAIN), "unasked_prose", 1)
        assert (await beating.standing()).outcome is Outcome.SILENT


async def test_what_is_due_in_the_night_comes_in_the_morning(tmp_path: Path) -> None:
    """Once; and where there are no active hours, never."""
    async with open_beating(tmp_path, always(OK), berlin("2026-03-10 12:00")) as beating:
        beating.rhythm = structs.replace(beating.rhythm, settings=HeartbeatSettings())
        beating.restart()
        beating.lists("- [ ] daily 02:00 dreams")
        await beating.pass_time(DAY)
        assert asked_at(beating) == ["03-11 08:00"]
        beating.rhythm = structs.replace(beating.rhythm, settings=HeartbeatSettings(active="08:00-08:00"))
        beating.restart()
        await beating.pass_time(3 * DAY, HOUR)
        assert len(beating.entered) == 1
        assert (await beating.standing()).state == "never"


async def test_failures_come_ever_later_and_stop_it_with_one_notice(tmp_path: Path) -> None:
    """The owner reads of it once, not each time; what was due is asked for again when they start it again."""
    model = ScriptedModel(*[ModelUnavailableError("down")] * 5, OK)
    async with open_beating(tmp_path, model, berlin("2026-03-10 12:00")) as beating:
        beating.lists("- [ ] 2026-03-10 13:00 call Ann")
        await beating.pass_time(20 * HOUR)
        assert asked_at(beating) == ["03-10 13:00", "03-10 13:30", "03-10 14:00", "03-10 15:00", "03-10 17:00"]
        ((address, notice),) = await beating.told()
        assert address == CHAT
        assert "failed 5 times" in notice
        assert (await beating.standing()).state == "stopped"
        beating.restart()
        assert (await beating.standing()).state == "stopped"
        await beating.heartbeats.switch(MAIN, on=True)
        await beating.pass_time(HOUR)
        assert len(model.requests) == 6
        assert "call Ann" in last_said(model)
        assert (await beating.standing()).failures == 0
        assert len(await beating.told()) == 1


async def test_nothing_is_asked_while_the_owner_is_being_answered(tmp_path: Path) -> None:
    """It comes right after."""
    async with open_beating(tmp_path, always(OK), berlin("2026-03-10 12:00")) as beating:
        beating.lists("- [ ] daily 12:30 mail")
        await beating.pass_time(10 * MINUTE)
        beating.busy.add(SessionKey(MAIN, "main"))
        await beating.pass_time(HOUR)
        assert beating.entered == []
        beating.busy.clear()
        await beating.pass_time(10 * MINUTE)
        assert asked_at(beating) == ["03-10 13:20"]


async def test_without_a_way_to_the_owner_nothing_is_asked(tmp_path: Path) -> None:
    """It is counted once, and asked as soon as there is one: a chat that is known later, never another."""
    async with open_beating(tmp_path, telling("The plants are dry."), berlin("2026-03-10 12:00")) as beating:
        beating.lists("- [ ] daily 12:30 mail")
        beating.chat = None
        await beating.pass_time(3 * HOUR)
        assert beating.entered == []
        assert (await beating.standing()).state == "no_route"
        assert (await beating.house.store.report()).reasons == {"no_route": 1}
        beating.chat = Address("discord", "home", "5")
        await beating.pass_time(HOUR)
        assert [address for address, _ in await beating.told()] == [beating.chat]


async def test_where_the_answer_goes_is_fixed_when_the_run_starts(tmp_path: Path) -> None:
    """Whoever writes while the model thinks changes nothing."""

    def moves(_: ModelRequest) -> ReplyEntry:
        beating.chat = Address("telegram", "home", "-100")
        return says("", call("notify", text="The plants are dry."))

    async with open_beating(tmp_path, ScriptedModel(moves, OK), berlin("2026-03-10 12:00")) as beating:
        beating.lists("- [ ] daily 12:30 plants")
        await beating.pass_time(HOUR)
        assert await beating.told() == [(CHAT, "The plants are dry.")]


async def test_a_watched_file_is_asked_about_when_it_changed(tmp_path: Path) -> None:
    """Once for each change, on the round after it; not because it began to be watched."""
    async with open_beating(tmp_path, always(OK), berlin("2026-03-10 12:00")) as beating:
        beating.house.put("memory/projects.md", "one\n")
        beating.lists("- [ ] when memory/projects.md changes: compare")
        await beating.pass_time(2 * HOUR)
        assert beating.entered == []
        beating.house.put("memory/projects.md", "two\n")
        await beating.pass_time(2 * HOUR)
        assert len(beating.entered) == 1
        assert "memory/projects.md changed" in beating.entered[0].text


async def test_what_is_wrong_with_the_list_the_owner_is_told_once(tmp_path: Path) -> None:
    """A megabyte is read within limits; the rest of the list is looked after."""
    async with open_beating(tmp_path, always(OK), berlin("2026-03-10 12:00")) as beating:
        beating.lists("- [ ] daily 25:00 mail", "- [ ] daily 12:30 tea", "x" * 1_000_000)
        await beating.pass_time(3 * HOUR)
        beating.restart()
        await beating.pass_time(3 * HOUR)
        ((_, notice),) = await beating.told()
        assert "daily 25:00" in notice
        assert "20,000 characters" in notice
        assert asked_at(beating) == ["03-10 12:30"]


async def test_of_a_file_without_a_list_the_owner_is_told_once_what_it_costs(tmp_path: Path) -> None:
    """It is asked for at every round all the same; not again after a restart, nor once the prose has changed."""
    async with open_beating(tmp_path, always(OK), berlin("2026-03-10 12:00")) as beating:
        beating.lists("Look at the mail.")
        await beating.pass_time(2 * HOUR)
        beating.restart()
        beating.lists("Look at the mail, please.")
        await beating.pass_time(2 * HOUR)
        ((_, notice),) = await beating.told()
        assert "begins with a box, so I take all of it for one item" in notice
        assert "- [ ] daily 09:00" in notice
        assert len(beating.entered) == 8


async def test_off_is_off_until_it_is_on_again(tmp_path: Path) -> None:
    """Also after a restart; what was due meanwhile is let go."""
    async with open_beating(tmp_path, always(OK), berlin("2026-03-10 12:00")) as beating:
        beating.lists("- [ ] daily 12:30 tea")
        await beating.heartbeats.switch(MAIN, on=False)
        beating.restart()
        await beating.pass_time(HOUR)
        assert (await beating.standing()).state == "off"
        await beating.heartbeats.switch(MAIN, on=True)
        await beating.pass_time(HOUR)
        assert beating.entered == []
        await beating.pass_time(DAY)
        assert asked_at(beating) == ["03-11 12:30"]


async def test_the_owner_may_have_all_of_it_looked_at_now(tmp_path: Path) -> None:
    """Whatever the times say; not twice at once."""
    async with open_beating(tmp_path, always(OK), berlin("2026-03-10 12:00")) as beating:
        assert await beating.heartbeats.now(MAIN) == 0
        beating.lists("- [ ] daily 12:30 tea", "- [ ] mail")
        assert await beating.heartbeats.now(MAIN) == 2
        assert await beating.heartbeats.now(MAIN) == 0
        await beating.answer()
        await beating.pass_time(40 * MINUTE)
        assert asked_at(beating) == ["03-10 12:00", "03-10 12:30"]


async def test_boot_runs_once_a_start_and_once_an_hour_at_most(tmp_path: Path) -> None:
    """So a gateway that crashes again and again asks no model each time."""
    model = telling("The gateway is up.")
    async with open_beating(tmp_path, model, berlin("2026-03-10 12:00")) as beating:
        await beating.heartbeats.begin()
        assert beating.entered == []
        beating.house.put("BOOT.md", "# At the start\nSay that you are up.\n")
        for _ in range(5):
            beating.restart()
            await beating.heartbeats.begin()
            await beating.answer()
            beating.clock.advance(60)
        assert await beating.told() == [(CHAT, "The gateway is up.")]
        assert "Say that you are up." in last_said(model)
        beating.clock.advance(3_600)
        beating.restart()
        await beating.heartbeats.begin()
        assert len(beating.entered) == 2


async def test_what_the_store_refuses_now_a_later_look_does(tmp_path: Path) -> None:
    """The gateway goes on."""
    async with open_beating(tmp_path, always(OK), berlin("2026-03-10 12:00")) as beating:
        beating.lists("- [ ] daily 12:30 tea")
        await beating.pass_time(20 * MINUTE)
        beating.refuses = True
        await beating.pass_time(20 * MINUTE)
        assert beating.entered == []
        beating.refuses = False
        await beating.pass_time(20 * MINUTE)
        assert len(beating.entered) == 1


async def test_a_long_transcript_of_heartbeats_is_put_away(tmp_path: Path) -> None:
    """It would grow for ever otherwise; no heartbeat reads an earlier one."""
    async with open_beating(tmp_path, always("HEARTBEAT_OK" + " " * 400_000), berlin("2026-03-10 12:00")) as beating:
        beating.lists("- [ ] water the plants")
        await beating.pass_time(4 * HOUR, HOUR / 2)
        present = tmp_path / "sessions" / "heartbeat.jsonl"
        assert present.stat().st_size < 1_500_000
        assert list((tmp_path / "sessions/archive").glob("heartbeat.*.jsonl"))
        assert len(beating.entered) == 7


async def test_a_change_is_not_lost_to_a_look_between_two_rounds(tmp_path: Path) -> None:
    """Where an item with a time is asked for between the change and the round."""
    async with open_beating(tmp_path, always(OK), berlin("2026-03-10 12:00")) as beating:
        beating.house.put("USER.md", "one\n")
        beating.lists("- [ ] when USER.md changes: greet", "- [ ] daily 12:50 tea")
        await beating.pass_time(40 * MINUTE)
        beating.house.put("USER.md", "two\n")
        await beating.pass_time(30 * MINUTE)
        assert asked_at(beating) == ["03-10 12:50", "03-10 13:00"]
