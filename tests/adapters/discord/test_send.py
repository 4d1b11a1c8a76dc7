"""Sends to Discord's REST API: requests, and the meaning of each fault for the message."""

import asyncio
import traceback
from collections.abc import AsyncIterator

import pytest

from adapters.abilities import ShowsTyping
from adapters.channel import (
    Address,
    Body,
    ChannelConfigError,
    ChannelError,
    ChannelUnavailableError,
    OutboundMessage,
    SendRefusedError,
    UnsureSendError,
)
from adapters.discord import DiscordAdapter
from adapters.discord.send import nonce_of
from tests.fakes.discord import Discord, Fault, servers_of
from tests.fakes.discord_shapes import CHANNEL, SCHEMA_FILE, THREAD, TOKEN, problems_of
from tests.fakes.tally import Tally

HERE = Address("discord", "home", CHANNEL)
IN_THREAD = Address("discord", "home", CHANNEL, THREAD)
SLOW = {"message": "You are being rate limited.", "retry_after": 0.05, "global": False}
PAGE = "<html><title>502 Bad Gateway</title></html>"


@pytest.fixture
async def adapter(server: Discord) -> AsyncIterator[DiscordAdapter]:
    adapter = DiscordAdapter("home", TOKEN, Tally().count, servers=servers_of(server, 5))
    yield adapter
    await adapter.close()


@pytest.fixture
async def hasty(server: Discord) -> AsyncIterator[DiscordAdapter]:
    """An adapter that waits for nothing long."""
    adapter = DiscordAdapter("home", TOKEN, Tally().count, servers=servers_of(server, 0.3))
    yield adapter
    await adapter.close()


def to(address: Address = HERE, text: str = "hi", reply_to: str | None = None, key: str = "t1.0") -> OutboundMessage:
    return OutboundMessage(address, Body(text), key, reply_to)


async def test_a_message_names_nobody_and_shows_no_preview(server: Discord, adapter: DiscordAdapter) -> None:
    """Whatever the text says, nobody is pinged; a second try would be known by its nonce."""
    sent = await adapter.send(to(text="@everyone <@42> https://a.example"))
    (posted,) = server.posted
    assert sent.message_id == posted.id
    assert posted.text == "@everyone <@42> https://a.example"
    (body,) = server.calls("/messages")
    assert body == {
        "content": "@everyone <@42> https://a.example",
        "nonce": nonce_of("t1.0"),
        "enforce_nonce": True,
        "allowed_mentions": {"parse": []},
        "flags": 4,
        "components": [],
    }


@pytest.mark.skipif(not SCHEMA_FILE.exists(), reason="Discord's published schema lies beside the repository, or not")
def test_the_schema_is_asked() -> None:
    """A body that Discord would refuse shows; without this, the check of every other test could be an empty one."""
    post, path = "POST", f"/channels/{CHANNEL}/messages"
    right = {"content": "x", "allowed_mentions": {"parse": []}, "flags": 4, "enforce_nonce": True, "nonce": "n"}
    assert list(problems_of(post, path, right)) == []
    assert list(problems_of(post, path, {**right, "content": 7}))
    assert list(problems_of(post, path, {**right, "nonce": "n" * 26}))
    assert list(problems_of(post, path, {**right, "allowed_mentions": {"parse": ["somebody"]}}))
    assert list(problems_of("PATCH", "/webhooks/1/a-token/messages/@original", {"content": 7}))
    assert list(problems_of("PUT", "/applications/1/commands", [{"name": "x" * 33, "description": "x"}]))
    assert list(problems_of("POST", "/interactions/1/a-token/callback", {"type": "soon"}))


async def test_a_thread_is_written_into(server: Discord, adapter: DiscordAdapter) -> None:
    """It is a channel of its own, for the typing sign too."""
    await adapter.send(to(IN_THREAD))
    assert isinstance(adapter, ShowsTyping)
    await adapter.show_typing(IN_THREAD)
    await adapter.show_typing(HERE)
    assert [posted.channel for posted in server.posted] == [THREAD]
    typed = [path for _, path, _ in server.requests if path.endswith("/typing")]
    assert typed == [f"/channels/{THREAD}/typing", f"/channels/{CHANNEL}/typing"]


async def test_a_reply_is_tied_to_its_question_while_that_exists(server: Discord, adapter: DiscordAdapter) -> None:
    """When the question was deleted the answer still arrives; its author is not pinged."""
    asked = server.says("why?", CHANNEL)
    await adapter.send(to(reply_to=asked))
    await adapter.send(to(reply_to="999", key="t2.0"))
    assert [posted.reply_to for posted in server.posted] == [asked, None]


async def test_a_send_that_was_taken_and_reset_comes_once(server: Discord, adapter: DiscordAdapter) -> None:
    """It is unsure; the next try with the same key is answered with the message that is there."""
    server.fault(Fault(accepts=True, drops=True))
    with pytest.raises(UnsureSendError):
        await adapter.send(to())
    sent = await adapter.send(to())
    assert [posted.id for posted in server.posted] == [sent.message_id]
    await adapter.send(to(key="t1.1"))
    assert len(server.posted) == 2


def test_a_nonce_fits_and_tells_keys_apart() -> None:
    """Discord takes 25 characters; a key may be longer."""
    keys = [f"0123456789abcdef.{part}.note{number}" for part in range(30) for number in range(30)]
    nonces = {nonce_of(key) for key in keys}
    assert len(nonces) == len(keys)
    assert max(map(len, nonces)) <= 25
    assert nonce_of(keys[0]) == nonce_of(keys[0])


@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=429, answer=SLOW, headers={"Via": "1.1 google"}),
        Fault(status=502, page=PAGE),
        Fault(status=500, answer={"message": "500", "code": 0}),
    ],
    ids=["429", "502 page", "500"],
)
async def test_the_sdk_waits_out_what_is_short(server: Discord, adapter: DiscordAdapter, fault: Fault) -> None:
    """A rate limit and an error of a machine in between: tried again with the same nonce, once there."""
    server.fault(fault)
    await adapter.send(to())
    bodies = server.calls("/messages")
    assert len(server.posted) == 1
    assert len(bodies) == 2
    assert bodies[0] == bodies[1]


@pytest.mark.parametrize(
    ("fault", "wait_s"),
    [
        (Fault(status=429, page="<html>banned</html>", headers={"Retry-After": "600"}), 600.0),
        (Fault(status=429, answer=SLOW), None),
        (Fault(status=429, answer={**SLOW, "retry_after": 900.0}, headers={"Via": "1.1 google"}), 900.0),
        (Fault(status=429, answer={**SLOW, "retry_after": 5.5}, headers={"Via": "1.1 google"}), 5.5),
        (Fault(status=429, answer={"message": "slowmode", "code": 20016}, headers={"Retry-After": "9"}), 9.0),
        (Fault(status=400, answer={"message": "slowmode", "code": 20016}), None),
    ],
    ids=["Cloudflare", "no Via", "long", "longer than a call waits", "slow mode", "slow mode of another status"],
)
async def test_being_told_to_wait_leaves_no_doubt(
    server: Discord, adapter: DiscordAdapter, fault: Fault, wait_s: float | None
) -> None:
    """The message was not taken; how long to wait is passed on where it is said."""
    server.fault(fault)
    with pytest.raises(ChannelUnavailableError) as found:
        await adapter.send(to())
    assert found.value.retry_after_s == wait_s
    assert server.posted == []


@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=503, answer={"message": "503", "code": 0}),
        Fault(status=502, page=PAGE),
        Fault(drops=True),
        Fault(hangs=True),
        Fault(page="<html>all is well</html>"),
        Fault(answer={"ok": "but no message"}),
    ],
    ids=["503", "502 for long", "reset", "hangs", "page", "no message"],
)
async def test_no_verdict_means_that_we_do_not_know(server: Discord, hasty: DiscordAdapter, fault: Fault) -> None:
    """The outbox sends again with the same nonce."""
    server.fault(fault)
    with pytest.raises(UnsureSendError):
        await hasty.send(to())
    server.faults.clear()
    await hasty.send(to())
    assert len(server.posted) == 1


async def test_a_page_of_a_machine_in_between_is_not_repeated(server: Discord, hasty: DiscordAdapter) -> None:
    """Only what Discord says with a code of its own is shown."""
    server.fault(Fault(status=503, page=PAGE))
    with pytest.raises(UnsureSendError, match=r"^Discord responds with status 503$"):
        await hasty.send(to())


async def test_what_discord_will_never_take_is_refused(server: Discord, adapter: DiscordAdapter) -> None:
    """With Discord's own words, and how to mend it where we know."""
    server.closed_channels.add(CHANNEL)
    with pytest.raises(
        SendRefusedError,
        match=r"Missing Access \(50001\): give the bot permission to view this "
        r"channel",
    ):
        await adapter.send(to())
    with pytest.raises(SendRefusedError, match=r"Unknown Channel \(10003\)"):
        await adapter.send(to(Address("discord", "home", "999")))
    with pytest.raises(SendRefusedError, match="50035"):
        await adapter.send(to(IN_THREAD, "x" * 2001))
    with pytest.raises(SendRefusedError, match="by numbers, not by 'general'"):
        await adapter.send(to(Address("discord", "home", "general")))
    with pytest.raises(SendRefusedError, match="by number"):
        await adapter.send(to(reply_to="../1"))


@pytest.mark.parametrize(
    ("code", "hint"),
    [
        (50013, "give the bot permission to send messages in this channel"),
        (50013, "to attach files there"),
        (160002, "read this channel's history"),
        (50083, "archived and locked"),
        (160005, "unlock it"),
    ],
)
async def test_a_refusal_says_what_to_do(server: Discord, adapter: DiscordAdapter, code: int, hint: str) -> None:
    """Missing permissions, a thread that is archived, one that is locked."""
    server.fault(Fault(status=403, answer={"message": "no", "code": code}))
    with pytest.raises(SendRefusedError, match=rf"no \({code}\): .*{hint}"):
        await adapter.send(to(IN_THREAD))


async def test_a_global_limit_holds_every_chat(server: Discord, adapter: DiscordAdapter) -> None:
    """Nothing is asked of Discord until the time is over that it told us; then both are sent."""
    await adapter.send(to())
    told_s = 0.3
    server.fault(
        Fault(status=429, answer={**SLOW, "retry_after": told_s, "global": True}, headers={"Via": "1.1 google"})
    )
    clock = asyncio.get_running_loop().time
    begun, before = clock(), len(server.requests)
    first = asyncio.ensure_future(adapter.send(to(key="t2.0")))
    await server.until(lambda: len(server.requests) > before)
    await asyncio.sleep(0.05)
    second = asyncio.ensure_future(adapter.send(to(IN_THREAD, key="t3.0")))
    await server.until(lambda: len(server.requests) > before + 1)
    assert clock() - begun >= told_s
    await asyncio.gather(first, second)
    assert len(server.posted) == 3


async def test_a_bucket_that_is_used_up_is_waited_for(server: Discord, adapter: DiscordAdapter) -> None:
    """Discord says so with the last message that fits: the next one goes out when it may, and meets no 429."""
    used_up = {"X-RateLimit-Limit": "1", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset-After": "0.3"}
    taken = {"id": "77", "channel_id": CHANNEL}
    server.fault(Fault(answer=taken, headers={**used_up, "X-RateLimit-Reset": "0", "X-RateLimit-Bucket": "b"}))
    clock = asyncio.get_running_loop().time
    begun = clock()
    await adapter.send(to())
    await adapter.send(to(key="t2.0"))
    assert clock() - begun >= 0.3
    assert len(server.calls("/messages")) == 2


async def test_a_wrong_token_and_no_connection_are_told_apart(server: Discord, adapter: DiscordAdapter) -> None:
    """One is a matter of configuration, the other passes; in both cases nothing was sent."""
    await adapter.send(to())
    server.token = "another"
    with pytest.raises(ChannelConfigError, match=r"\[channels\.discord\.home\]"):
        await adapter.send(to(key="t2.0"))
    await server.close()
    with pytest.raises((ChannelUnavailableError, UnsureSendError)):
        await adapter.send(to(key="t3.0"))  # over the connection that was open, or already over a new one
    with pytest.raises(ChannelUnavailableError):
        await adapter.send(to(key="t3.0"))


async def test_typing_that_fails_is_a_channel_error(server: Discord, adapter: DiscordAdapter) -> None:
    """The gateway passes over it."""
    server.closed_channels.add(CHANNEL)
    with pytest.raises(ChannelUnavailableError, match="Missing Access"):
        await adapter.show_typing(HERE)


async def test_no_error_shows_the_token_or_the_text(server: Discord, hasty: DiscordAdapter) -> None:
    """Neither in its words nor in what is chained to it."""
    faults = [Fault(status=503, page=f"<html>{TOKEN}</html>"), Fault(drops=True), Fault(page=TOKEN)]
    faults.append(Fault(status=400, answer={"message": f"bad {TOKEN}", "code": 50035}))
    for fault in faults:
        server.fault(fault)
        with pytest.raises(ChannelError) as found:
            await hasty.send(to(text="the secret of the day"))
        shown = "".join(traceback.format_exception(found.value)) + repr(found.value)
        assert TOKEN not in shown
        assert "secret of the day" not in shown.replace('to(text="the secret of the day")', "")
