"""Fetching of messages missed during a long outage: in order, once, and within limits."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest

from adapters.channel import Address, ChannelUnavailableError, ChatKind, InboundMessage, Via
from adapters.discord import DiscordAdapter
from adapters.discord.catching_up import MISSED
from adapters.discord.heard import KEPT_EVERY_S, MOST_DIRECT, LastMessages, LastMessageTracker
from adapters.discord.missed import PAGE, CatchUp, first_id_of, moment_of
from adapters.discord.places import ChatLocation
from strandline.testing.listening import Received, listening
from tests.adapters.discord.test_session import Kept
from tests.fakes.discord import Discord, Fault, servers_of
from tests.fakes.discord_shapes import BOT_ID, CHANNEL, DIRECT, GUILD, PERSON, THREAD, TOKEN
from tests.fakes.patience import PATIENCE_S
from tests.fakes.tally import Tally

HERE = CatchUp(groups=frozenset({CHANNEL}))
OTHER = "301"


@pytest.fixture
async def server() -> AsyncIterator[Discord]:
    async with Discord() as server:
        server.channels[OTHER] = {"id": OTHER, "type": 0, "guild_id": GUILD}
        yield server


@pytest.fixture
def kept() -> Kept:
    return Kept()


class Run(Received):
    """What one run of a bot hands over, counts and tells."""

    def __init__(self) -> None:
        super().__init__()
        self.tally = Tally()
        self.told: list[tuple[Address, datetime]] = []

    async def tell(self, chat: Address, since: datetime) -> None:
        self.told.append((chat, since))


class Halted(Run):
    """A run that comes to its end while it takes in a certain message."""

    def __init__(self, last: str) -> None:
        super().__init__()
        self.last = last
        self.is_over = asyncio.Event()

    async def __call__(self, message: InboundMessage) -> None:
        if message.text == self.last:
            self.is_over.set()
            await asyncio.Event().wait()
        await super().__call__(message)


@asynccontextmanager
async def one_run(server: Discord, kept: Kept, rule: CatchUp = HERE, run: Run | None = None) -> AsyncIterator[Run]:
    run = run or Run()
    adapter = DiscordAdapter("home", TOKEN, run.tally.count, servers=servers_of(server), keeps=kept, catch_up=rule)
    adapter.on_missed(run.tell)
    try:
        async with listening(adapter, run):
            yield run
    finally:
        await adapter.close()


def heard(server: Discord, kept: Kept, *chats: str, ago: timedelta = timedelta(hours=3)) -> datetime:
    """An earlier run heard something in each of the *chats*, a while *ago*; since then Discord forgot its session."""
    server.forget_session()
    mark = str(first_id_of(datetime.now(UTC) - ago))
    direct = dict.fromkeys({DIRECT} & {*chats}, mark)
    shared = dict.fromkeys({*chats} - {DIRECT}, mark)
    kept.values["discord.heard.home"] = LastMessages(direct=direct, shared=shared, groups=(CHANNEL,)).model_dump_json()
    return moment_of(int(mark))


async def test_what_was_said_while_away_comes_first_and_in_order(server: Discord, kept: Kept) -> None:
    """From direct chats, channels and threads, before what is said from now on; what was heard does not come again."""
    heard(server, kept, DIRECT, CHANNEL)
    for text in ("one", "two", "three"):
        server.says(f"direct {text}", DIRECT)
        server.says(f"<@{BOT_ID}> channel {text}", CHANNEL)
        server.says(f"thread {text}", THREAD)
    async with one_run(server, kept) as run:
        await run.wait_for(9)
        server.says("now", DIRECT)
        await run.hear("now")
    for place in ("direct", "channel", "thread"):
        assert [text for text in run.texts if text.startswith(place)] == [
            f"{place} {n}" for n in ("one", "two", "three")
        ]
    assert len(run.messages) == 10
    assert run.texts[-1] == "now"
    assert (run.told, run.tally.reasons) == ([], {})


async def test_a_missed_message_is_what_an_event_would_have_told(server: Discord, kept: Kept) -> None:
    """Where it was said, whether to us, by whom, with their name and their roles there: rules ask for all of them."""
    heard(server, kept, CHANNEL)
    number = server.says(f"<@{BOT_ID}> hello", THREAD)
    async with one_run(server, kept) as run:
        (found,) = await run.wait_for(1)
    assert (found.address, found.id, found.via) == (Address("discord", "home", CHANNEL, THREAD), number, Via.TEXT)
    assert (found.space, found.is_for_us, found.text) == (GUILD, True, "hello")
    assert (found.sender.id, found.sender.name, found.sender.roles) == (PERSON, "Nick", ("77",))


async def test_what_was_taken_back_is_gone_and_what_was_changed_reads_as_it_does_now(
    server: Discord, kept: Kept
) -> None:
    """Nobody is answered to words that do not stand there any more."""
    heard(server, kept, DIRECT)
    server.deletes(server.says("never mind"))
    server.changes(server.says("helo"), "hello", datetime.now(UTC))
    async with one_run(server, kept) as run:
        await run.wait_for(1)
        server.says("now")
        await run.hear("now")
    assert [(each.text, each.via) for each in run.messages] == [("hello", Via.TEXT), ("now", Via.TEXT)]


async def test_the_next_run_begins_where_this_one_ended(server: Discord, kept: Kept) -> None:
    """What was fetched once is not fetched again."""
    heard(server, kept, DIRECT)
    server.says("missed")
    async with one_run(server, kept) as run:
        server.says("now", CHANNEL)
        await run.hear("now")
    server.forget_session()
    del kept.values["discord.session.home"]
    server.says("later")
    async with one_run(server, kept) as run:
        await run.hear("later")
    assert run.texts == ["later"]


async def test_what_a_run_did_not_come_to_is_left_to_the_next(server: Discord, kept: Kept) -> None:
    """Also where nothing was heard before, such as in a thread that was opened meanwhile."""
    heard(server, kept, DIRECT)
    server.says("in a new thread", THREAD)
    server.says("direct")
    halted = Halted("in a new thread")
    async with one_run(server, kept, run=halted), asyncio.timeout(PATIENCE_S):
        await halted.is_over.wait()
    assert halted.texts == ["direct"]
    server.forget_session()
    del kept.values["discord.session.home"]
    async with one_run(server, kept) as run:
        await run.hear("in a new thread")
        server.says("now")
        await run.hear("now")
    assert run.texts == ["in a new thread", "now"]


@pytest.mark.parametrize("now_allowed", [{CHANNEL}, {CHANNEL, OTHER}])
async def test_a_channel_that_was_not_allowed_is_not_read(server: Discord, kept: Kept, now_allowed: set[str]) -> None:
    """Neither one that is not allowed now, nor one that was not when its words were said, nor a stranger's chat."""
    heard(server, kept, CHANNEL)
    server.says(f"<@{BOT_ID}> elsewhere", OTHER)
    server.says("a stranger", DIRECT)
    async with one_run(server, kept, CatchUp(groups=frozenset(now_allowed))) as run:
        await server.until(lambda: not server.has_forgotten)
        server.says("now", CHANNEL)
        await run.hear("now")
    assert run.texts == ["now"]


async def test_of_more_than_is_fetched_the_latest_come_and_somebody_is_told(server: Discord, kept: Kept) -> None:
    """More than Discord gives at a time, too; the other chat is whole."""
    since = heard(server, kept, DIRECT, CHANNEL)
    for number in range(PAGE + 30):
        server.says(f"{number}")
    server.says("in the channel", CHANNEL)
    async with one_run(server, kept, CatchUp(most=PAGE + 20, groups=frozenset({CHANNEL}))) as run:
        await run.hear("in the channel")
    assert run.texts == [*(str(number) for number in range(10, PAGE + 30)), "in the channel"]
    assert run.told == [(Address("discord", "home", DIRECT), since)]
    assert run.tally.reasons == {MISSED: 1}


async def test_what_is_too_old_is_left_and_somebody_is_told(server: Discord, kept: Kept) -> None:
    """Our own words are nothing that was missed."""
    since = heard(server, kept, DIRECT, THREAD)
    now = datetime.now(UTC)
    server.wrote("too old", DIRECT, now - timedelta(minutes=119))
    server.wrote("missed", DIRECT, now - timedelta(minutes=10))
    server.wrote("our answer", THREAD, now - timedelta(hours=2), is_ours=True)
    async with one_run(server, kept, CatchUp(timedelta(hours=1), groups=frozenset({CHANNEL}))) as run:
        await run.hear("missed")
        server.says("now")
        await run.hear("now")
    assert run.texts == ["missed", "now"]
    assert run.told == [(Address("discord", "home", DIRECT), since)]


async def test_a_history_that_cannot_be_read_holds_up_nobody(server: Discord, kept: Kept) -> None:
    """The bot listens, and the owner is told."""
    heard(server, kept, DIRECT, CHANNEL)
    server.says("lost")
    server.says("in the channel", CHANNEL)
    server.fault(Fault(f"/channels/{DIRECT}/messages", page="<html>"))
    async with one_run(server, kept) as run:
        await run.hear("in the channel")
        server.says("now")
        await run.hear("now")
    assert run.texts == ["in the channel", "now"]
    assert [chat for chat, _ in run.told] == [Address("discord", "home", DIRECT)]


async def test_what_was_read_of_a_history_counts_where_the_rest_cannot_be(server: Discord, kept: Kept) -> None:
    """Somebody of whom Discord says nothing now takes away no more than what was said from there on."""
    heard(server, kept, CHANNEL)
    server.says("one", CHANNEL)
    server.says("two", CHANNEL, "12")
    server.fault(Fault(f"/guilds/{GUILD}/members/12", page="<html>"))
    async with one_run(server, kept) as run:
        await run.hear("one")
        server.says("now", CHANNEL)
        await run.hear("now")
    assert run.texts == ["one", "now"]
    assert [chat for chat, _ in run.told] == [Address("discord", "home", CHANNEL)]
    assert run.tally.reasons == {MISSED: 1}


async def test_a_message_of_a_history_that_cannot_be_read_is_passed_over(server: Discord, kept: Kept) -> None:
    """The others come; a channel that the bot may not see any more has none."""
    heard(server, kept, DIRECT, CHANNEL)
    server.closed_channels.add(CHANNEL)
    server.says("in the channel", CHANNEL)
    server.message(server.says("odd"))["attachments"] = "none"
    server.says("plain")
    async with one_run(server, kept) as run:
        await run.hear("plain")
        server.says("now")
        await run.hear("now")
    assert run.texts == ["plain", "now"]
    assert run.tally.reasons == {"discord_unreadable": 1}


@pytest.mark.parametrize("kept_before", ["nothing", "rubbish", "switched off"])
async def test_without_a_mark_nothing_is_fetched(server: Discord, kept: Kept, kept_before: str) -> None:
    """At the very first start, or where it is switched off, a bot does not answer old words."""
    heard(server, kept, DIRECT, CHANNEL)
    if kept_before != "switched off":
        kept.values["discord.heard.home"] = "" if kept_before == "nothing" else '{"direct": 7}'
    server.says("long ago", DIRECT)
    server.says("long ago", CHANNEL)
    rule = CatchUp(timedelta(0), groups=frozenset({CHANNEL})) if kept_before == "switched off" else HERE
    async with one_run(server, kept, rule) as run:
        await server.until(lambda: not server.has_forgotten)
        server.says("now")
        await run.hear("now")
    assert run.texts == ["now"]


@pytest.mark.parametrize("is_on", [True, False])
async def test_a_session_that_was_lost_while_running_is_made_up_for(server: Discord, *, is_on: bool) -> None:
    """As after an outage of hours, without a restart; where it is switched off nobody is told of anything."""
    run, rule = Run(), CatchUp(timedelta(hours=24 if is_on else 0))
    adapter = DiscordAdapter("home", TOKEN, run.tally.count, servers=servers_of(server), catch_up=rule)
    adapter.on_missed(run.tell)
    async with listening(adapter, run):
        server.says("one")
        await run.hear("one")
    server.forget_session()
    server.says("missed")
    with pytest.raises(ChannelUnavailableError, match="starting a new one"):
        await adapter.listen(run)
    async with listening(adapter, run):
        await server.until(lambda: not server.has_forgotten)
        if is_on:
            await run.hear("missed")
        server.says("now")
        await run.hear("now")
    await adapter.close()
    assert run.texts == (["one", "missed", "now"] if is_on else ["one", "now"])
    assert (run.told, run.tally.reasons) == ([], {})


async def test_marks_are_few_and_kept_now_and_then(kept: Kept) -> None:
    """A write for every message of a busy server is not worth it; the chat that was silent for longest makes way."""
    now = 0.0
    keeper = LastMessageTracker("home", kept, frozenset({CHANNEL}), lambda: now)
    direct, channel = ChatLocation(ChatKind.DIRECT, "1"), ChatLocation(ChatKind.GROUP, CHANNEL)
    for number in range(1, MOST_DIRECT + 2):
        keeper.note(direct, str(number), str(1000 + number), is_admitted=True)
        await keeper.keep()
    assert kept.puts == 1
    now += KEPT_EVERY_S
    keeper.note(direct, "9999", "9999", is_admitted=False)
    keeper.note(channel, CHANNEL, "5", is_admitted=False)
    keeper.note(channel, CHANNEL, "4", is_admitted=False)
    await keeper.keep()
    marks = LastMessages.model_validate_json(kept.values["discord.heard.home"])
    assert kept.puts == 2
    assert (len(marks.direct), min(map(int, marks.direct)), marks.shared) == (MOST_DIRECT, 2, {CHANNEL: "5"})


async def test_a_channel_is_allowed_from_the_next_message_on(kept: Kept) -> None:
    """What was said there before is left, over restarts and however much else is made up for."""
    place, channel = ChatLocation(ChatKind.GROUP, OTHER), ChatLocation(ChatKind.GROUP, CHANNEL)
    kept.values["discord.heard.home"] = LastMessages(shared={CHANNEL: "5"}, groups=(CHANNEL,)).model_dump_json()
    history_writers = [LastMessageTracker("home", kept, frozenset({CHANNEL, OTHER})) for _ in range(2)]
    for keeper in history_writers:
        await keeper.recall()
        assert keeper.after(place, OTHER) is None
        with keeper.making_up():
            keeper.note(channel, CHANNEL, "7", is_admitted=True)
        await keeper.keep()
    keeper = history_writers[-1]
    keeper.note(channel, CHANNEL, "9", is_admitted=True)
    assert keeper.after(place, OTHER) is None
    keeper.begin()
    assert keeper.after(place, OTHER) == 9
