"""Gateway connection with a server: resume, order, outages, and translation of faults."""

import asyncio
import logging
import socket
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest
from msgspec import structs

from adapters.channel import Address, ChannelConfigError, ChannelUnavailableError, ChatKind, InboundMessage, Via
from adapters.discord import DiscordAdapter
from adapters.discord.parse import IgnoredEvent
from strandline.testing.listening import Received, listening
from tests.fakes.discord import Discord, Fault, servers_of
from tests.fakes.discord_shapes import BOT_ID, CHANNEL, DIRECT, GUILD, THREAD, TOKEN
from tests.fakes.patience import PATIENCE_S
from tests.fakes.tally import Tally

OUR_SETTING = r"\[channels\.discord\.home\]"
IDENTIFY, RESUME = 2, 6


@pytest.fixture
async def adapter(server: Discord, tally: Tally) -> AsyncIterator[DiscordAdapter]:
    async with connected(server, tally=tally) as adapter:
        yield adapter


@asynccontextmanager
async def connected(server: Discord, token: str = TOKEN, tally: Tally | None = None) -> AsyncIterator[DiscordAdapter]:
    count = (tally or Tally()).count
    adapter = DiscordAdapter("home", token, count, servers=servers_of(server))
    try:
        yield adapter
    finally:
        await adapter.close()


async def failure(adapter: DiscordAdapter) -> Exception:
    """How listening ends."""
    with pytest.raises(Exception) as found:  # noqa: PT011 - the callers say which
        async with asyncio.timeout(PATIENCE_S):
            await adapter.listen(Received())
    return found.value


async def test_channels_threads_and_direct_chats_have_their_addresses(server: Discord, adapter: DiscordAdapter) -> None:
    """A thread belongs to its channel; a direct chat, of which Discord tells nothing before, is asked for once."""
    received = Received()
    async with listening(adapter, received):
        server.says("in the channel", CHANNEL)
        server.says("in the thread", THREAD)
        server.says("direct", DIRECT)
        server.says("direct again", DIRECT)
        await received.wait_for(4)
    assert [(message.address, message.kind) for message in received.messages] == [
        (Address("discord", "home", CHANNEL), ChatKind.GROUP),
        (Address("discord", "home", CHANNEL, THREAD), ChatKind.GROUP),
        (Address("discord", "home", DIRECT), ChatKind.DIRECT),
        (Address("discord", "home", DIRECT), ChatKind.DIRECT),
    ]
    assert len(server.calls(f"/channels/{DIRECT}")) == 1


async def test_a_forums_post_is_a_thread_of_the_forum(server: Discord, adapter: DiscordAdapter) -> None:
    """Discord tells of it before of what was said in it."""
    forum, post = "700", "701"
    server.channels[forum] = {"id": forum, "type": 15, "guild_id": GUILD}
    received = Received()
    async with listening(adapter, received):
        server.channels[post] = {"id": post, "type": 11, "guild_id": GUILD, "parent_id": forum}
        server.dispatch("THREAD_CREATE", server.channels[post])
        server.says("the post", post)
        await received.wait_for(1)
    assert received.messages[0].address == Address("discord", "home", forum, post)


async def test_a_change_of_a_message_is_handed_over(server: Discord, adapter: DiscordAdapter) -> None:
    """As it reads now; what Discord tells of our own changes is nothing."""
    received = Received()
    async with listening(adapter, received):
        said = server.says("hello")
        server.changes(said, "hello there", datetime(2026, 3, 1, tzinfo=UTC))
        await received.wait_for(2)
    assert [(message.text, message.via) for message in received.messages] == [
        ("hello", Via.TEXT),
        ("hello there", Via.EDIT),
    ]
    assert received.messages[1].target == received.messages[0].id


async def test_a_group_of_direct_chats_is_no_direct_chat(
    server: Discord, adapter: DiscordAdapter, tally: Tally
) -> None:
    """Many read there; nor is a channel that Discord denies to know."""
    server.channels["600"] = {"id": "600", "type": 3, "recipients": []}
    received = Received()
    async with listening(adapter, received):
        server.says("to many", "600")
        server.says("from nowhere", "601")
        server.says("direct")
        await received.wait_for(1)
    assert received.texts == ["direct"]
    assert tally.reasons == {IgnoredEvent.NO_CHAT: 2}


async def test_a_dropped_connection_is_resumed_without_a_gap(server: Discord, adapter: DiscordAdapter) -> None:
    """What was said meanwhile is told again; nothing twice, and no new session."""
    received = Received()
    async with listening(adapter, received):
        server.says("one")
        await received.wait_for(1)
        server.drop()
        server.says("two")
        await received.wait_for(2)
        server.sends({"op": 7, "d": None})
        server.says("three")
        await received.wait_for(3)
    assert received.texts == ["one", "two", "three"]
    assert len(server.ops(IDENTIFY)) == 1
    assert len(server.ops(RESUME)) == 2


async def test_a_session_is_resumed_elsewhere_when_its_own_address_is_gone(
    server: Discord, adapter: DiscordAdapter
) -> None:
    """Discord names an address to resume at; the main one knows the session too."""
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        server.resume_url = f"ws://127.0.0.1:{nobody.getsockname()[1]}/"
    received = Received()
    async with listening(adapter, received):
        server.says("one")
        await received.wait_for(1)
    server.says("two")
    assert isinstance(await failure(adapter), ChannelUnavailableError)
    async with listening(adapter, received):
        await received.wait_for(2)
    assert received.texts == ["one", "two"]
    assert len(server.ops(IDENTIFY)) == 1


async def test_what_was_not_durable_is_told_again(server: Discord, adapter: DiscordAdapter) -> None:
    """Discord is told the last event handed over, not the last one received."""
    held, received = Received(hold=True), Received()
    async with listening(adapter, held):
        server.says("one")
        server.says("two")
        await held.begun.wait()
    async with listening(adapter, received):
        await received.wait_for(2)
    assert received.texts == ["one", "two"]
    assert len(server.ops(IDENTIFY)) == 1


async def test_a_session_that_is_over_is_begun_anew(server: Discord, adapter: DiscordAdapter) -> None:
    """Discord says so; the gateway waits and calls again, and the bot introduces itself anew."""
    received = Received()
    async with listening(adapter, received):
        server.says("one")
        await received.wait_for(1)
        server.drop()
        await server.wait_for_op(RESUME)
    server.forget_session()
    error = await failure(adapter)
    assert isinstance(error, ChannelUnavailableError)
    assert "starting a new one" in str(error)
    async with listening(adapter, received):
        server.says("two")
        await received.wait_for(2)
    assert received.texts == ["one", "two"]
    assert len(server.ops(IDENTIFY)) == 2


async def test_a_burst_keeps_its_order(server: Discord, adapter: DiscordAdapter) -> None:
    """As it was written, across channels too."""
    received = Received()
    async with listening(adapter, received):
        for number in range(100):
            server.says(f"{number}", (CHANNEL, THREAD, DIRECT)[number % 3])
        await received.wait_for(100)
    assert received.texts == [f"{number}" for number in range(100)]


async def test_only_what_is_needed_is_asked_for(server: Discord, adapter: DiscordAdapter) -> None:
    """Servers, messages in them and directly, and their content; nothing about members or presence."""
    async with listening(adapter, Received()):
        await server.wait_for_op(IDENTIFY)
    assert server.ops(IDENTIFY)[0]["d"]["intents"] == 1 << 0 | 1 << 9 | 1 << 12 | 1 << 15


async def test_what_is_ignored_is_counted_and_does_not_stop_the_rest(
    server: Discord, adapter: DiscordAdapter, tally: Tally
) -> None:
    """A preview that was added, our own words, shapes and events that nobody knows."""
    received = Received()
    async with listening(adapter, received):
        seen = {"id": "1", "channel_id": DIRECT, "author": {"id": "42", "username": "a"}, "timestamp": "2026-03-01"}
        server.dispatch("MESSAGE_UPDATE", {**seen, "content": "see", "edited_timestamp": None})
        server.says("mine", CHANNEL, BOT_ID)
        server.dispatch("MESSAGE_CREATE", {"id": "no author"})
        server.dispatch("GUILD_CREATE", {"channels": "none"})
        server.dispatch("SOMETHING_NEW", {"id": 1})
        server.says("hello")
        await received.wait_for(1)
    assert received.texts == ["hello"]
    assert tally.reasons == {IgnoredEvent.UNREADABLE: 2}


@pytest.mark.parametrize("token", ["MTAw.wrong.token", "rubbish"])
async def test_a_wrong_token_names_the_setting(server: Discord, token: str) -> None:
    """It is a matter of configuration, and says where to mend it."""
    async with connected(server, token) as adapter:
        with pytest.raises(ChannelConfigError, match=rf"{OUR_SETTING}.*Developer Portal"):
            await adapter.listen(Received())
    with pytest.raises(ChannelConfigError, match=OUR_SETTING):
        DiscordAdapter("home", " ", Tally().count)


async def test_a_token_that_is_reset_while_listening_is_a_matter_of_configuration(
    server: Discord, adapter: DiscordAdapter
) -> None:
    """The gateway says so by a code of its own."""
    async with listening(adapter, Received()):
        await server.wait_for_op(IDENTIFY)
    server.forget_session()
    server.token = "another"
    error = await failure(adapter)
    assert isinstance(error, ChannelConfigError)
    assert "rejects the bot token" in str(error)


async def test_a_missing_intent_is_said_plainly(server: Discord, adapter: DiscordAdapter) -> None:
    """Discord hides what people write unless its owner allows the bot to read: where, the error says."""
    server.may_read_content = False
    error = await failure(adapter)
    assert isinstance(error, ChannelConfigError)
    assert "[channels.discord.home]" in str(error)
    assert "MESSAGE CONTENT INTENT" in str(error)


@pytest.mark.parametrize(
    "fault",
    [
        Fault("/users/@me", status=503),
        Fault("/users/@me", status=429, answer={"message": "slow", "retry_after": 7.0}, headers={"Retry-After": "7"}),
        Fault("/users/@me", drops=True),
        Fault("/oauth2/applications/@me", page="<html>maintenance</html>"),
        Fault("/channels/500", status=503),
    ],
    ids=["503", "429", "dropped", "page", "channel"],
)
async def test_an_outage_is_temporary(server: Discord, adapter: DiscordAdapter, fault: Fault) -> None:
    """Whatever Discord answers, the gateway may try again, and then it works and nothing is missing."""
    server.fault(*[fault] * (2 if fault.drops else 1))  # aiohttp asks once more by itself
    server.says("hello")
    error = await failure(adapter)
    assert isinstance(error, ChannelUnavailableError)
    assert error.retry_after_s == (7.0 if fault.status == 429 else None)
    received = Received()
    async with listening(adapter, received):
        await received.hear("hello")


async def test_no_connection_is_temporary(server: Discord, adapter: DiscordAdapter) -> None:
    """Before the first connection and after it."""
    async with listening(adapter, Received()):
        await server.wait_for_op(IDENTIFY)
    await server.close()
    assert isinstance(await failure(adapter), ChannelUnavailableError)


async def test_two_accounts_listen_side_by_side(server: Discord) -> None:
    """Each has its own connection and says whose message it is."""
    first, second = Received(), Received()
    async with connected(server) as home, Discord() as other:
        # The SDK keeps one REST address for the process: both bots have it in common, as in life.
        other.channels = server.channels
        work = DiscordAdapter(
            "work", TOKEN, Tally().count, servers=structs.replace(servers_of(other), base_url=server.url)
        )
        async with listening(home, first), listening(work, second):
            server.says("at home", CHANNEL)
            other.says("at work", CHANNEL)
            await first.wait_for(1)
            await second.wait_for(1)
        await work.close()
    assert [message.address.account for message in (*first.messages, *second.messages)] == ["home", "work"]


async def test_no_error_and_no_log_shows_the_token_or_the_text(
    server: Discord, adapter: DiscordAdapter, caplog: pytest.LogCaptureFixture
) -> None:
    """Above the SDK's debug lines, which the gateway's logging never shows."""
    caplog.set_level(logging.INFO)

    async def full(_: InboundMessage) -> None:
        raise ChannelUnavailableError("no room")

    server.says("the secret of the day")
    shown: list[str] = []
    for fault in (Fault("/users/@me", drops=True), Fault("/users/@me", status=401), None):
        server.faults = [fault] if fault else []
        with pytest.raises((ChannelUnavailableError, ChannelConfigError)) as found:
            await adapter.listen(full)
        shown.append("".join(traceback.format_exception(found.value)))
    shown += [record.getMessage() for record in caplog.records]
    assert not any(TOKEN in text or "secret of the day" in text for text in shown)
