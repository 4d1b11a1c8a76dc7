"""Webhook: statuses and their time, order of updates, and registration at Telegram."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from adapters.abilities import TakesUpdates
from adapters.channel import ChannelConfigError, ChannelUnavailableError, InboundMessage, Via
from adapters.telegram import LongPoll, TelegramAdapter, Webhook
from adapters.telegram.incoming import ALLOWED_UPDATES
from adapters.telegram.parse import IgnoredUpdate
from adapters.telegram.webhook import UNPROVEN, WEBHOOK_TROUBLE
from gateway.errors import StoreError
from strandline.testing.listening import Received, listening
from tests.fakes.botapi import TOKEN, BotApi
from tests.fakes.tally import Tally
from tests.fakes.telegram import Fault
from tests.fakes.telegram_shapes import Hook
from tests.fakes.webhook import Bringer, door

SECRET = "s3cret_of-the-hook"
WAY = Webhook("https://bot.example.org/telegram/home", SECRET)
HELLO = {"message_id": 7, "date": 1793707200, "chat": {"id": 42, "type": "private"}, "text": "hello"}


@asynccontextmanager
async def connected(
    server: BotApi, tally: Tally, way: LongPoll | Webhook = WAY, token: str = TOKEN
) -> AsyncIterator[TelegramAdapter]:
    adapter = TelegramAdapter("home", token, tally.count, base_url=server.url, way=way)
    try:
        yield adapter
    finally:
        await adapter.close()


@pytest.fixture
async def adapter(server: BotApi, tally: Tally) -> AsyncIterator[TelegramAdapter]:
    async with connected(server, tally) as adapter:
        yield adapter


@asynccontextmanager
async def brought(server: BotApi, received: Received, tally: Tally, *, twice: bool = False) -> AsyncIterator[Bringer]:
    """A bot whose updates are brought to it over HTTP."""
    adapters: dict[str, TakesUpdates] = {}
    async with door(adapters, received) as address:
        way = replace(WAY, url=f"{address}/home")
        bringer = Bringer(server, twice=twice)
        async with connected(server, tally, way) as adapter, listening(adapter, received):
            adapters["home"] = adapter
            async with bringer.at_work():
                yield bringer


def body(update_id: int, text: str = "hello", chat: int = 42) -> bytes:
    message = HELLO | {"message_id": update_id, "text": text, "chat": {"id": chat, "type": "private"}}
    return json.dumps({"update_id": update_id, "message": message}).encode()


async def test_what_people_write_is_brought(server: BotApi, tally: Tally) -> None:
    """The webhook is set with its secret and the kinds that we read; what waited before is kept."""
    received = Received()
    server.says(42, "before")
    async with brought(server, received, tally):
        await received.hear("before")
        server.says(42, "after")
        await received.hear("after")
    assert server.hook is not None
    assert server.hook.secret == SECRET
    assert (server.hook.allowed, server.hook.connections) == (ALLOWED_UPDATES, 40)
    (params,) = server.calls("setWebhook")
    assert params["drop_pending_updates"] == "false"
    assert tally.reasons == {}


async def test_200_is_answered_only_when_receive_has_returned(adapter: TelegramAdapter) -> None:
    """Until then Telegram keeps the update."""
    received = Received(hold=True)
    async with asyncio.TaskGroup() as tasks:
        taking = tasks.create_task(adapter.take(SECRET, body(1), received))
        await received.begun.wait()
        assert not taking.done()
        received.go_on.set()
    assert taking.result() == 200
    assert received.texts == ["hello"]


@pytest.mark.parametrize("secret", ["", "wrong", SECRET[:-1], f"{SECRET}x", "ключ"])
async def test_without_the_secret_nothing_is_read(adapter: TelegramAdapter, tally: Tally, secret: str) -> None:
    """It is counted."""
    received = Received()
    assert await adapter.take(secret, body(1), received) == 401
    assert received.offered == []
    assert tally.reasons == {UNPROVEN: 1}


@pytest.mark.parametrize(
    "sent",
    [b"", b"hello", b"{}", b'{"update_id": "x"}', b"[1]", b"\xff", b"[" * 100_000],
    ids=["nothing", "text", "no id", "no number", "a list", "no text", "deep"],
)
async def test_what_is_no_update_is_refused(adapter: TelegramAdapter, tally: Tally, sent: bytes) -> None:
    """Only somebody with the secret can bring it, so it is counted as unreadable."""
    assert await adapter.take(SECRET, sent, Received()) == 400
    assert tally.reasons == {IgnoredUpdate.UNREADABLE: 1}


async def test_an_update_that_cannot_be_read_does_not_come_for_ever(
    adapter: TelegramAdapter, tally: Tally, caplog: pytest.LogCaptureFixture
) -> None:
    """It is counted and taken, for the next ones of its chat wait behind it."""
    caplog.set_level(logging.DEBUG)
    strange = {"update_id": 5, "message": HELLO | {"text": "secret words", "forward_origin": {"type": "invented"}}}
    assert await adapter.take(SECRET, json.dumps(strange).encode(), Received()) == 200
    assert tally.reasons == {IgnoredUpdate.UNREADABLE: 1}
    assert "secret words" not in caplog.text
    assert SECRET not in caplog.text + repr(WAY)


async def test_one_chat_is_taken_in_order_and_others_beside_it(server: BotApi, adapter: TelegramAdapter) -> None:
    """Requests come side by side; even the first ones, while we ask who we are, keep their places."""
    received = Received(hold=True)
    async with asyncio.TaskGroup() as tasks:
        for number in range(1, 21):
            tasks.create_task(adapter.take(SECRET, body(number, f"a{number}"), received))
        other = tasks.create_task(adapter.take(SECRET, body(30, "b", chat=43), received))
        await received.begun.wait()
        await server.until(lambda: len(received.offered) == 2)
        assert sorted(message.text for message in received.offered) == ["a1", "b"]
        received.go_on.set()
    assert other.result() == 200
    assert [text for text in received.texts if text != "b"] == [f"a{number}" for number in range(1, 21)]
    assert len(server.calls("getMe")) == 1


async def test_what_cannot_be_stored_comes_again(server: BotApi, tally: Tally) -> None:
    """A full disk delays: nothing is lost, nothing changes its order."""
    received, left = Received(), 3

    async def full_at_first(message: InboundMessage) -> None:
        nonlocal left
        left -= 1
        if left >= 0:
            raise StoreError("no space left on device")
        await received(message)

    adapters: dict[str, TakesUpdates] = {}
    bringer = Bringer(server)
    async with (
        door(adapters, full_at_first) as address,
        connected(server, tally, replace(WAY, url=f"{address}/home")) as adapter,
    ):
        adapters["home"] = adapter
        for text in ("one", "two", "three"):
            server.says(42, text)
        async with listening(adapter, received), bringer.at_work():
            await received.wait_for(3)
            await server.until(lambda: not server.updates)
    assert received.texts == ["one", "two", "three"]
    assert bringer.statuses == [503] * 3 + [200] * 3


async def test_while_telegram_does_not_say_who_we_are_updates_wait(server: BotApi, adapter: TelegramAdapter) -> None:
    """Whether a message is meant for us cannot be told without."""
    server.fault(Fault("getMe", status=500, description="Internal Server Error"))
    received = Received()
    assert await adapter.take(SECRET, body(1), received) == 503
    assert await adapter.take(SECRET, body(1), received) == 200
    assert received.texts == ["hello"]


async def test_a_burst_in_many_chats_is_taken_side_by_side(server: BotApi, tally: Tally) -> None:
    """Each update comes twice; within each chat the messages are in order."""
    received = Received()
    for number in range(10):
        for chat in range(1, 31):
            server.says(chat, str(number))
    async with brought(server, received, tally, twice=True) as bringer:
        await server.until(lambda: not server.updates)
    assert bringer.most_at_once > 10
    assert len(received.messages) == 600
    for chat in range(1, 31):
        ids = [message.id for message in received.messages if message.address.chat == str(chat)]
        assert list(dict.fromkeys(ids)) == [str(number) for number in range(1, 11)]


async def test_a_press_that_is_refused_looks_like_any_other(server: BotApi, adapter: TelegramAdapter) -> None:
    """A stranger who presses a button is not told that anything took it."""

    async def refuse(_: InboundMessage) -> str:
        return "stranger"

    press = server.presses(42, 3, "/approve 3")
    assert await adapter.take(SECRET, json.dumps(press).encode(), refuse) == 200
    assert server.acknowledged == []


async def test_any_gateway_takes_what_another_one_listens_for(server: BotApi, tally: Tally) -> None:
    """Only the one that holds the account sets the webhook; all of them know the secret."""
    received = Received()
    async with connected(server, tally) as idle, connected(server, tally) as listener, listening(listener, received):
        await server.until(lambda: bool(server.calls("getWebhookInfo")))
        assert await idle.take(SECRET, body(1), received) == 200
    assert received.texts == ["hello"]
    assert len(server.calls("setWebhook")) == 1


async def test_who_polls_takes_nothing_and_who_is_closed_nothing_more(server: BotApi, tally: Tally) -> None:
    """The one will never, the other may after a restart."""
    async with connected(server, tally, LongPoll(5)) as polling:
        assert await polling.take(SECRET, body(1), Received()) == 404
        assert await polling.take("", body(1), Received()) == 404
    async with connected(server, tally) as adapter:
        await adapter.close()
        assert await adapter.take(SECRET, body(1), Received()) == 503


async def test_a_press_is_acknowledged_when_it_is_durable(server: BotApi, adapter: TelegramAdapter) -> None:
    """Telegram shows a sign on the button until then; that it cannot be told is no reason to bring it again."""
    received = Received(hold=True)
    press = server.presses(42, 3, "/approve 3")
    async with asyncio.TaskGroup() as tasks:
        taking = tasks.create_task(adapter.take(SECRET, json.dumps(press).encode(), received))
        await received.begun.wait()
        assert server.acknowledged == []
        received.go_on.set()
    assert taking.result() == 200
    assert server.acknowledged == [press["callback_query"]["id"]]
    assert [(message.text, message.via) for message in received.messages] == [("/approve 3", Via.BUTTON)]
    server.fault(Fault("answerCallbackQuery", status=400, description="Bad Request: query is too old"))
    assert await adapter.take(SECRET, json.dumps(press).encode(), received) == 200


@pytest.mark.parametrize(
    ("meanwhile", "said"),
    [
        (Hook("https://other.example/", SECRET, 40, ALLOWED_UPDATES), "another address"),
        (Hook("", "", 40, []), "another address"),
        (Hook(WAY.url, SECRET, 40, ["message"]), "other types"),
    ],
    ids=["moved", "deleted", "narrowed"],
)
async def test_a_webhook_that_was_changed_is_set_again(
    server: BotApi, tally: Tally, caplog: pytest.LogCaptureFixture, meanwhile: Hook, said: str
) -> None:
    """Another program with our token may have done it; it is counted and logged."""
    async with connected(server, tally, replace(WAY, look_every_s=0.01)) as adapter, listening(adapter, Received()):
        await server.until(lambda: server.hook is not None)
        server.hook = meanwhile
        await server.until(lambda: len(server.calls("setWebhook")) == 2)
        looks = len(server.calls("getWebhookInfo"))
        await server.until(lambda: len(server.calls("getWebhookInfo")) > looks + 2)
    assert server.hook == Hook(WAY.url, SECRET, 40, ALLOWED_UPDATES)
    assert tally.reasons == {WEBHOOK_TROUBLE: 1}
    assert said in " ".join(str(record.__dict__.get("detail", "")) for record in caplog.records)


async def test_an_error_that_telegram_reports_is_told_once(
    server: BotApi, tally: Tally, caplog: pytest.LogCaptureFixture
) -> None:
    """One from before we began is no news; to set the webhook anew makes Telegram try again at once."""
    server.not_brought("Connection refused")
    async with connected(server, tally, replace(WAY, look_every_s=0.01)) as adapter, listening(adapter, Received()):
        await server.until(lambda: len(server.calls("getWebhookInfo")) > 2)
        assert tally.reasons == {}
        server.not_brought("Wrong response from the webhook: 502 Bad Gateway")
        await server.until(lambda: len(server.calls("setWebhook")) == 2)
        looks = len(server.calls("getWebhookInfo"))
        await server.until(lambda: len(server.calls("getWebhookInfo")) > looks + 2)
    assert tally.reasons == {WEBHOOK_TROUBLE: 1}
    assert len(server.calls("setWebhook")) == 2
    assert "502 Bad Gateway" in " ".join(str(record.__dict__.get("detail", "")) for record in caplog.records)


async def test_an_address_that_telegram_refuses_is_said(server: BotApi, adapter: TelegramAdapter) -> None:
    """It may be a name that is not known yet, so it is tried again."""
    said = "Bad Request: bad webhook: Failed to resolve host: Name or service not known"
    server.fault(Fault("setWebhook", status=400, description=said))
    with pytest.raises(ChannelUnavailableError, match="Failed to resolve host"):
        await adapter.listen(Received())


async def test_a_wrong_token_names_the_setting(server: BotApi, tally: Tally) -> None:
    """As when polling."""
    async with connected(server, tally, token="123456:wrong") as adapter:
        with pytest.raises(ChannelConfigError, match=r"\[channels\.telegram\.home\]"):
            await adapter.listen(Received())
        assert await adapter.take(SECRET, body(1), Received()) == 503


@pytest.mark.parametrize("secret", ["", " ", "two words", "x" * 257, "ключ"])
async def test_a_secret_that_telegram_would_not_take_is_refused(server: BotApi, tally: Tally, secret: str) -> None:
    """Before anything is asked of Telegram; the message does not show it."""
    with pytest.raises(ChannelConfigError, match="openssl rand") as caught:
        TelegramAdapter("home", TOKEN, tally.count, base_url=server.url, way=replace(WAY, secret=secret))
    assert len(secret) < 2 or secret not in str(caught.value)


async def test_two_bots_take_side_by_side(tally: Tally) -> None:
    """Each has its own token, secret and chats; the same message number in both is two messages."""
    other_token, received = "654321:the-other-bot", Received()
    async with BotApi() as first, BotApi(other_token) as second:
        home = TelegramAdapter("home", TOKEN, tally.count, base_url=first.url, way=WAY)
        work_way = Webhook("https://bot.example.org/telegram/work", "another")
        work = TelegramAdapter("work", other_token, tally.count, base_url=second.url, way=work_way)
        polled = TelegramAdapter("third", TOKEN, tally.count, base_url=first.url, way=LongPoll(5))
        assert await home.take(SECRET, body(1, "to home"), received) == 200
        assert await work.take("another", body(1, "to work"), received) == 200
        assert await work.take(SECRET, body(2), received) == 401
        first.says(42, "by poll")
        async with listening(polled, received):
            await received.hear("by poll")
        for adapter in (home, work, polled):
            await adapter.close()
    assert [(message.address.account, message.text) for message in received.messages] == [
        ("home", "to home"),
        ("work", "to work"),
        ("third", "by poll"),
    ]
