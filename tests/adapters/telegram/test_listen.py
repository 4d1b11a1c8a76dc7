"""Polling of a Bot API server: confirmation, order, and translation of faults."""

import asyncio
import logging
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from adapters.channel import Address, ChannelConfigError, ChannelUnavailableError, InboundMessage
from adapters.telegram import LongPoll, TelegramAdapter
from adapters.telegram.incoming import ALLOWED_UPDATES
from adapters.telegram.moved import MIGRATED
from adapters.telegram.parse import IgnoredUpdate
from strandline.testing.listening import Received, listening
from tests.fakes.botapi import TOKEN, BotApi
from tests.fakes.tally import Tally
from tests.fakes.telegram import Fault
from tests.fakes.telegram_shapes import BOT, Hook

OUR_SETTING = r"\[channels\.telegram\.home\]"


@pytest.fixture
async def adapter(server: BotApi, tally: Tally) -> AsyncIterator[TelegramAdapter]:
    async with connected(server, tally=tally) as adapter:
        yield adapter


@asynccontextmanager
async def connected(
    server: BotApi, token: str = TOKEN, tally: Tally | None = None, poll_timeout_s: int = 5
) -> AsyncIterator[TelegramAdapter]:
    count = (tally or Tally()).count
    adapter = TelegramAdapter("home", token, count, base_url=server.url, way=LongPoll(poll_timeout_s))
    try:
        yield adapter
    finally:
        await adapter.close()


def said(error: BaseException) -> str:
    """All that a log could show of *error*."""
    return "".join(traceback.format_exception(error)) + repr(error)


async def test_an_update_is_confirmed_only_when_receive_has_returned(server: BotApi, adapter: TelegramAdapter) -> None:
    """As long as the message is not durable, Telegram keeps it; then the next poll lets it go."""
    received = Received(hold=True)
    server.says(42, "hello")
    async with listening(adapter, received):
        await received.begun.wait()
        assert server.confirmed == []
        assert len(server.calls("getUpdates")) == 1
        received.go_on.set()
        await server.until(lambda: len(server.confirmed) == 1)
    assert received.texts == ["hello"]
    assert not server.updates


async def test_a_batch_is_confirmed_up_to_where_it_was_handled(server: BotApi, adapter: TelegramAdapter) -> None:
    """A receive that raises in the middle of a batch brings the whole batch again, in order."""
    for text in ("one", "two", "three"):
        server.says(42, text)
    offered: list[str] = []

    async def fails_at_two(message: InboundMessage) -> None:
        offered.append(message.text)
        if message.text == "two":
            raise OSError("no space left on device")

    with pytest.raises(OSError, match="no space"):
        await adapter.listen(fails_at_two)
    assert offered == ["one", "two"]
    assert server.confirmed == []
    received = Received()
    async with listening(adapter, received):
        await server.until(lambda: len(server.confirmed) == 3)
    assert received.texts == ["one", "two", "three"]


async def test_a_listener_that_is_cancelled_confirms_nothing_that_it_held(
    server: BotApi, adapter: TelegramAdapter
) -> None:
    """A shutdown within `receive` leaves the message at Telegram."""
    held, received = Received(hold=True), Received()
    server.says(42, "hold this")
    async with listening(adapter, held):
        await held.begun.wait()
    assert server.confirmed == []
    async with listening(adapter, received):
        await server.until(lambda: len(server.confirmed) == 1)
    assert received.texts == ["hold this"]


async def test_ids_that_begin_again_lower_are_followed(server: BotApi, adapter: TelegramAdapter) -> None:
    """After a quiet week update ids are random again; nothing is lost and nothing comes for ever."""
    received = Received()
    async with listening(adapter, received):
        server.says(42, "before")
        await server.until(lambda: len(server.confirmed) == 1)
        server.restart_ids(17)
        for text in ("after", "and on"):
            server.says(42, text)
            await received.hear(text)
        await server.until(lambda: not server.updates)
    assert received.texts == ["before", "after", "and on"]
    assert server.confirmed[1:] == [17, 18]


async def test_a_burst_keeps_its_order(server: BotApi, adapter: TelegramAdapter) -> None:
    """More than one batch of a hundred arrives in order, each message once."""
    for number in range(250):
        server.says(42, str(number))
    received = Received()
    async with listening(adapter, received):
        await received.wait_for(250)
    assert received.texts == [str(number) for number in range(250)]


async def test_only_messages_are_asked_for(server: BotApi, adapter: TelegramAdapter) -> None:
    """Telegram is told which updates we read and how long to wait."""
    async with listening(adapter, Received()):
        await server.wait_for_polls(1)
    assert server.calls("getUpdates") == [{"timeout": "5", "allowed_updates": ALLOWED_UPDATES}]


async def test_what_is_ignored_is_counted_and_confirmed(server: BotApi, adapter: TelegramAdapter, tally: Tally) -> None:
    """A message without words, and the news of a block, raise their counters by one and do not hold up what follows."""
    chat = {"id": 42, "type": "private"}
    person = {"id": 42, "is_bot": False, "first_name": "Anna"}
    blocked = {"status": "kicked", "user": BOT, "until_date": 0}
    member = {"status": "member", "user": BOT}
    server.update(
        my_chat_member={
            "chat": chat,
            "from": person,
            "date": 1,
            "old_chat_member": member,
            "new_chat_member": blocked,
        }
    )
    server.update(message={"message_id": 2, "date": 1, "chat": chat})
    server.says(42, "hello")
    received = Received()
    async with listening(adapter, received):
        await server.until(lambda: len(server.confirmed) == 3)
    assert received.texts == ["hello"]
    assert tally.reasons == {IgnoredUpdate.REMOVED: 1, IgnoredUpdate.NO_TEXT: 1}


async def test_a_group_that_becomes_a_supergroup_keeps_its_conversation(
    server: BotApi, adapter: TelegramAdapter, tally: Tally
) -> None:
    """It keeps its address; its messages, numbered anew from 1, are told from the old ones; the move is news once."""
    told: list[tuple[Address, str]] = []

    async def tell(address: Address, now: str) -> None:
        told.append((address, now))

    adapter.on_moved(tell)
    server.says(-5, "before", user_id=42, chat_type="group")
    server.says(-5, "", chat_type="group", migrate_to_chat_id=-1007)
    server.says(-1007, "", chat_type="supergroup", migrate_from_chat_id=-5)
    new = server.says(-1007, "after", user_id=42, chat_type="supergroup")["message"]
    server.edits(new, "afterwards", 1793707300)
    server.presses(-1007, 2, "/approve 3", user_id=42)
    received = Received()
    async with listening(adapter, received):
        await received.hear("/approve 3")
    group = Address("telegram", "home", "-5")
    assert [message.address for message in received.messages] == [group] * 4
    assert [message.reply_target for message in received.messages] == ["1", "2@-1007", "2@-1007", "2@-1007"]
    assert len({message.id for message in received.messages}) == 4
    assert all(message.id.endswith("@-1007") for message in received.messages[1:])
    assert told == [(group, "-1007")]
    assert tally.reasons == {MIGRATED: 1}


async def test_one_unreadable_update_does_not_stop_the_rest(
    server: BotApi, adapter: TelegramAdapter, tally: Tally, caplog: pytest.LogCaptureFixture
) -> None:
    """A shape that the SDK does not know is passed over, counted and logged; its neighbours are read."""
    caplog.set_level(logging.DEBUG)
    server.says(42, "before")
    server.says(42, "secret words", forward_origin={"type": "invented", "date": 1})
    server.says(42, "after")
    received = Received()
    async with listening(adapter, received):
        await server.until(lambda: len(server.confirmed) == 3)
    assert received.texts == ["before", "after"]
    assert tally.reasons == {IgnoredUpdate.UNREADABLE: 1}
    assert "secret" not in caplog.text


async def test_a_webhook_makes_way(server: BotApi, adapter: TelegramAdapter) -> None:
    """Polling is what the configuration asks for; what waited for the webhook is read."""
    server.hook = Hook("https://old.example/hook", "", 40, [])
    server.says(42, "hello")
    received = Received()
    async with listening(adapter, received):
        await received.hear("hello")
    assert server.calls("deleteWebhook") == [{}]


async def test_a_second_poller_is_said_plainly(server: BotApi, adapter: TelegramAdapter) -> None:
    """Telegram ends the older of two polls; its gateway is told what to mend, and may try again."""
    async with asyncio.TaskGroup() as tasks:
        first = tasks.create_task(_error(adapter))
        await server.wait_for_polls(1)
        async with connected(server) as other, listening(other, Received()):
            error = await first
    assert isinstance(error, ChannelUnavailableError)
    assert "another program is polling" in str(error)
    assert "[channels.telegram.home]" in str(error)


@pytest.mark.parametrize("token", ["123456:wrong", "no token", "", "a:b"])
async def test_a_wrong_token_names_the_setting(server: BotApi, token: str) -> None:
    """To try again would not help; the message says where to look and does not show the token."""
    with pytest.raises(ChannelConfigError, match=OUR_SETTING) as caught:
        async with connected(server, token) as adapter:
            await adapter.listen(Received())
    assert len(token) < 5 or token not in said(caught.value)


@pytest.mark.parametrize(
    ("fault", "retry_after_s"),
    [
        ({"status": 429, "description": "Too Many Requests: retry after 7", "parameters": {"retry_after": 7}}, 7.0),
        ({"status": 500, "description": "Internal Server Error"}, None),
        ({"status": 502, "body": "<html><h1>502 Bad Gateway</h1></html>"}, None),
        ({"status": 200, "body": "<html>a captive portal</html>"}, None),
        ({"status": 403, "description": "Forbidden: something new"}, None),
        ({"status": 400, "description": "Bad Request: something new"}, None),
        ({"status": 502, "body": '{"ok": false}'}, None),
        ({"status": 409, "body": '{"ok": false}'}, None),
        ({"drops": True}, None),
    ],
    ids=["429", "500", "502 page", "200 page", "403", "400", "502 alone", "409 alone", "reset"],
)
async def test_an_outage_is_temporary(
    server: BotApi, adapter: TelegramAdapter, fault: dict[str, Any], retry_after_s: float | None
) -> None:
    """The gateway waits, exactly as long as it is told to, and listens again; nothing was lost."""
    server.says(42, "hello")
    for method in ("getMe", "getUpdates"):
        server.fault(Fault(method, **fault))
        with pytest.raises(ChannelUnavailableError) as caught:
            await adapter.listen(Received())
        assert caught.value.retry_after_s == retry_after_s
    received = Received()
    async with listening(adapter, received):
        await received.hear("hello")


@pytest.mark.parametrize("status", [401, 404])
async def test_a_token_that_is_revoked_while_polling_is_a_matter_of_configuration(
    server: BotApi, adapter: TelegramAdapter, status: int
) -> None:
    """The account stops and says so."""
    server.fault(Fault("getUpdates", status=status, description="Unauthorized"))
    with pytest.raises(ChannelConfigError, match=OUR_SETTING):
        await adapter.listen(Received())


async def test_no_connection_is_temporary(server: BotApi, adapter: TelegramAdapter) -> None:
    """A refused connection reads as what it is."""
    await server.close()
    with pytest.raises(ChannelUnavailableError, match="ClientConnectorError"):
        await adapter.listen(Received())


@pytest.mark.parametrize(
    "fault",
    [
        {"status": 500, "description": f"no route to /bot{TOKEN}/getUpdates"},
        {"status": 409, "description": f"Conflict at /bot{TOKEN}/getUpdates"},
        {"status": 502, "body": f"<html>no route to /bot{TOKEN}/getUpdates</html>"},
        {"status": 302, "location": "/bot{token}/getUpdates"},
    ],
    ids=["JSON", "conflict", "page", "redirects"],
)
async def test_no_error_shows_the_token(
    server: BotApi, adapter: TelegramAdapter, caplog: pytest.LogCaptureFixture, fault: dict[str, Any]
) -> None:
    """Neither what a gateway in between says about our URL nor the SDK's own text reaches a log."""
    caplog.set_level(logging.DEBUG)
    server.fault(*[Fault("getUpdates", **fault)] * 20)
    with pytest.raises(ChannelUnavailableError) as caught:
        await adapter.listen(Received())
    assert TOKEN not in said(caught.value)
    assert TOKEN not in caplog.text


async def _error(adapter: TelegramAdapter) -> Exception:
    try:
        await adapter.listen(Received())
    except (ChannelUnavailableError, ChannelConfigError) as exc:
        return exc
