"""Slash commands and buttons with a server: their input, and the places of their answers."""

import asyncio
import logging
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from adapters.channel import (
    Address,
    Body,
    Button,
    ChannelConfigError,
    ChannelUnavailableError,
    ChatKind,
    InboundMessage,
    OutboundMessage,
    Sender,
    SendRefusedError,
    UnsureSendError,
    Upload,
    Via,
)
from adapters.discord import DiscordAdapter
from adapters.discord.interactions import Deferred, parse_interaction
from adapters.discord.listen import NOT_ACKNOWLEDGED
from adapters.discord.parse import DiscordBot, IgnoredEvent
from adapters.discord.places import ChatLocation
from adapters.discord.send import nonce_of
from adapters.discord.wire import Interaction
from strandline.testing.listening import Received, listening
from tests.fakes.discord import Discord, Fault, servers_of
from tests.fakes.discord_shapes import BOT_ID, CHANNEL, DIRECT, GUILD, PERSON, THREAD, TOKEN, message, user
from tests.fakes.tally import Tally

HERE = Address("discord", "home", CHANNEL)
DEFERRED, SILENT = 5, 6


def to(text: str, reply_to: str | None, *buttons: Button, key: str = "t1.0") -> OutboundMessage:
    return OutboundMessage(HERE, Body(text), key, reply_to, buttons)


async def given(server: Discord, adapter: DiscordAdapter, name: str = "status", **more: str) -> InboundMessage:
    """Let a person give a command, and return what the gateway was handed."""
    received = Received()
    async with listening(adapter, received):
        asked = server.gives(name, channel=CHANNEL, **more)
        await server.until(lambda: bool(asked.acknowledged))
    return received.messages[0]


def edits(server: Discord) -> list[Any]:
    return server.calls("/@original")


async def test_a_slash_command_comes_as_if_it_were_typed(server: Discord, adapter: DiscordAdapter) -> None:
    """With who gave it, their roles, where and when, by the transport's facts."""
    before = datetime.now(UTC) - timedelta(seconds=5)
    found = await given(server, adapter, "remember", arguments="the milk")
    assert (found.text, found.via, found.is_for_us) == ("/remember the milk", Via.SLASH, True)
    assert found.sender == Sender(PERSON, f"person{PERSON}", roles=("77",))
    assert (found.address, found.kind, found.space) == (HERE, ChatKind.GROUP, GUILD)
    assert before < found.sent_at < datetime.now(UTC) + timedelta(seconds=5)


async def test_commands_work_in_threads_and_direct_chats(server: Discord, adapter: DiscordAdapter) -> None:
    """A place that Discord told nothing of before is named with the command: it is not asked for."""
    received = Received()
    async with listening(adapter, received):
        server.gives("help", channel=THREAD)
        server.gives("help", channel=DIRECT)
        await received.wait_for(2)
    thread, direct = received.messages
    assert thread.address == Address("discord", "home", CHANNEL, THREAD)
    assert (direct.address, direct.kind, direct.space) == (Address("discord", "home", DIRECT), ChatKind.DIRECT, None)
    assert direct.sender == Sender(PERSON, f"person{PERSON}")
    assert server.calls(f"/channels/{DIRECT}") == []


async def test_discord_hears_of_a_command_when_it_is_durable(server: Discord, adapter: DiscordAdapter) -> None:
    """Not before: what people see as taken is not lost."""
    received = Received(hold=True)
    async with listening(adapter, received):
        asked = server.gives("status", channel=CHANNEL)
        await received.begun.wait()
        assert asked.acknowledged == []
        received.go_on.set()
        await server.until(lambda: asked.acknowledged == [DEFERRED])


async def test_whoever_is_refused_sees_nothing_of_us(server: Discord, adapter: DiscordAdapter) -> None:
    """No sign that an answer is worked on: there will be none."""
    is_over = asyncio.Event()

    async def refuse(message: InboundMessage) -> str:
        if message.via is Via.TEXT:
            is_over.set()
        return "stranger"

    async with listening(adapter, refuse):
        asked = server.gives("status", channel=CHANNEL)
        server.says("and now this", CHANNEL)
        await is_over.wait()
    assert asked.acknowledged == []
    assert server.calls("/callback") == []


async def test_an_answer_takes_the_place_of_the_sign(server: Discord, adapter: DiscordAdapter) -> None:
    """Its first part; further ones are messages, each under its nonce. Nobody is pinged by any."""
    asked = await given(server, adapter)
    button = Button("Again", "/status")
    first = await adapter.send(to("@everyone all is well", asked.reply_target, button))
    await adapter.send(to("and more", None, key="t1.1"))
    assert [posted.id for posted in server.posted] == [first.message_id, server.posted[1].id]
    assert first.message_id == server.interactions[Deferred.of(asked.target).token].original  # type: ignore[union-attr]
    row = {"type": 1, "components": [{"type": 2, "style": 2, "label": "Again", "custom_id": "/status"}]}
    assert edits(server) == [
        {"content": "@everyone all is well", "allowed_mentions": {"parse": []}, "flags": 4, "components": [row]}
    ]
    (more,) = server.calls(f"/channels/{CHANNEL}/messages")
    assert more["nonce"] == nonce_of("t1.1")


async def test_a_long_answer_cuts_no_code_block(server: Discord, adapter: DiscordAdapter) -> None:
    """Neither in the part that takes the sign's place nor in those that follow it."""
    asked = await given(server, adapter)
    code = "\n".join(f"line_{number} = {number}" for number in range(200))
    bodies = adapter.render(f"Here:\n\n```python\n{code}\n```\n\nDone.")
    for part, body in enumerate(bodies):
        reply_to = None if part else asked.reply_target
        await adapter.send(OutboundMessage(HERE, body, f"t1.{part}", reply_to))
    assert len(server.posted) == len(bodies) > 1
    assert [posted.text for posted in server.posted] == [body.text for body in bodies]
    assert all(posted.text.count("```") % 2 == 0 for posted in server.posted)
    assert len(edits(server)) == 1


async def test_a_second_try_changes_nothing(server: Discord, adapter: DiscordAdapter) -> None:
    """An edit that was taken and whose receipt was lost is made again, on the same message."""
    asked = await given(server, adapter)
    server.fault(Fault("/@original", accepts=True, drops=True))
    with pytest.raises(UnsureSendError):
        await adapter.send(to("once", asked.reply_target))
    sent = await adapter.send(to("once", asked.reply_target))
    assert [(posted.id, posted.text) for posted in server.posted] == [(sent.message_id, "once")]


async def test_a_command_outlives_the_gateway(server: Discord, adapter: DiscordAdapter) -> None:
    """What its answer needs is stored with the message, so another run gives it."""
    asked = await given(server, adapter)
    await adapter.close()
    another = DiscordAdapter("home", TOKEN, Tally().count, servers=servers_of(server))
    sent = await another.send(to("late", asked.reply_target))
    await another.close()
    assert [posted.id for posted in server.posted] == [sent.message_id]
    assert len(edits(server)) == 1


async def test_an_answer_after_a_quarter_of_an_hour_is_a_message(server: Discord, adapter: DiscordAdapter) -> None:
    """Discord has forgotten the command: then the answer stands for itself, and replies to nothing."""
    asked = await given(server, adapter)
    next(iter(server.interactions.values())).is_known = False
    sent = await adapter.send(to("late", asked.reply_target))
    again = await adapter.send(to("late", asked.reply_target))
    assert sent == again
    assert [(posted.text, posted.reply_to) for posted in server.posted] == [("late", None)]


async def test_an_answer_that_stands_is_not_given_again(server: Discord, adapter: DiscordAdapter) -> None:
    """An edit ended unsure and Discord forgot the command meanwhile: the message itself says that it was answered."""
    asked = await given(server, adapter)
    answered = await adapter.send(to("once\n", asked.reply_target))
    next(iter(server.interactions.values())).is_known = False
    assert await adapter.send(to("once\n", asked.reply_target)) == answered
    await adapter.send(to("something else", asked.reply_target, key="t2.0"))
    assert [posted.text for posted in server.posted] == ["once\n", "something else"]


async def test_a_command_of_which_discord_was_not_told_is_answered_too(
    server: Discord, adapter: DiscordAdapter, tally: Tally
) -> None:
    """By a message; that Discord showed it as unanswered is counted."""
    received = Received()
    server.fault(Fault("/callback", status=503))
    async with listening(adapter, received):
        server.gives("status", channel=CHANNEL)
        server.says("next", CHANNEL)
        await received.wait_for(2)
    assert tally.reasons == {NOT_ACKNOWLEDGED: 1}
    await adapter.send(to("well", received.messages[0].reply_target))
    assert [posted.text for posted in server.posted] == ["well"]


async def test_a_command_that_is_told_again_counts_as_told(
    server: Discord, adapter: DiscordAdapter, tally: Tally
) -> None:
    """The inbox knows it; Discord was told in time."""
    received = Received()
    async with listening(adapter, received):
        asked = server.gives("status", channel=CHANNEL)
        await server.until(lambda: bool(asked.acknowledged))
        server.replay("INTERACTION_CREATE")
        server.says("next", CHANNEL)
        await received.hear("next")
    assert received.texts == ["/status", "/status", "next"]
    assert len(server.calls("/callback")) == 2
    assert (asked.acknowledged, tally.reasons) == ([DEFERRED], {})


async def test_faults_of_an_answer_say_whether_it_is_there(server: Discord, adapter: DiscordAdapter) -> None:
    """As they do for any other message."""
    asked = await given(server, adapter)
    faults: list[tuple[Fault, type[Exception]]] = [
        (Fault("/@original", status=503), UnsureSendError),
        (Fault("/@original", status=429, answer={}, headers={"Retry-After": "60"}), ChannelUnavailableError),
        (Fault("/@original", status=400, answer={"message": "Invalid Form Body", "code": 50035}), SendRefusedError),
        (Fault("/@original", page="<html>"), UnsureSendError),
    ]
    for fault, error in faults:
        server.fault(fault)
        with pytest.raises(error):
            await adapter.send(to("well", asked.reply_target))
    assert server.posted == []
    next(iter(server.interactions.values())).is_known = False
    server.token = "another"
    with pytest.raises(ChannelConfigError):
        await adapter.send(to("well", asked.reply_target))


async def test_a_button_gives_its_command_as_whoever_presses_it(server: Discord, adapter: DiscordAdapter) -> None:
    """Discord hears of it when it is durable, and shows nothing; the answer replies to the message with the button."""
    sent = await adapter.send(to("Approve?", None, Button("Yes", "/approve 3"), Button("No", "/refuse 3")))
    received = Received()
    async with listening(adapter, received):
        pressed = server.presses("/approve 3", sent.message_id, "43")
        await server.until(lambda: pressed.acknowledged == [SILENT])
    (found,) = received.messages
    assert (found.text, found.via, found.target) == ("/approve 3", Via.BUTTON, sent.message_id)
    assert found.sender.id == "43"
    assert found.address == HERE
    await adapter.send(to("Done.", found.reply_target, key="t2.0"))
    assert server.posted[-1].reply_to == sent.message_id


async def test_many_buttons_stand_in_rows(server: Discord, adapter: DiscordAdapter) -> None:
    """Five fit into one; a long label is cut."""
    await adapter.send(to("Which?", None, *(Button(f"{n} " + "x" * 90, f"/use {n}") for n in range(7))))
    (body,) = server.calls("/messages")
    assert [len(row["components"]) for row in body["components"]] == [5, 2]
    assert {len(cell["label"]) for row in body["components"] for cell in row["components"]} == {80}


async def test_a_file_may_be_the_answer(server: Discord, adapter: DiscordAdapter) -> None:
    """It goes with the edit as it does with a message."""
    asked = await given(server, adapter)
    body = Body("here", upload=Upload("plan.txt", b"milk"))
    await adapter.send(OutboundMessage(HERE, body, "t1.0", asked.reply_target))
    assert [(posted.text, posted.upload) for posted in server.posted] == [("here", b"milk")]


PLACE = ChatLocation(ChatKind.GROUP, CHANNEL)


def interaction(**more: Any) -> Interaction:
    plain = {"id": "1000", "type": 2, "token": "t", "channel_id": CHANNEL, "user": user(PERSON)}
    return Interaction.model_validate({**plain, "data": {"type": 1, "name": "help"}, **more})


@pytest.mark.parametrize(
    "more",
    [
        {"type": 4},
        {"data": None},
        {"data": {"type": 2, "name": "a person's menu"}},
        {"user": None},
        {
            "type": 3,
            "data": {"component_type": 3, "custom_id": "/x"},
            "message": message("1", CHANNEL, user(BOT_ID), ""),
        },
        {"type": 3, "data": {"component_type": 2, "custom_id": "/x"}, "message": message("1", CHANNEL, user("9"), "")},
        {"type": 3, "data": {"component_type": 2, "custom_id": "/x"}},
    ],
    ids=["completion", "nothing", "other menu", "nobody", "choices", "another's button", "no message"],
)
def test_controls_that_are_none_of_ours_are_no_commands(more: dict[str, Any]) -> None:
    """Only our slash commands, and buttons below what we wrote."""
    assert parse_interaction(interaction(**more), PLACE, DiscordBot("home", BOT_ID)) is IgnoredEvent.NO_COMMAND


def test_a_command_in_no_chat_is_none() -> None:
    """A group of direct chats."""
    assert parse_interaction(interaction(), None, DiscordBot("home", BOT_ID)) is IgnoredEvent.NO_CHAT


def test_only_a_commands_mark_is_read_as_one() -> None:
    """A message's id is none, nor is nothing."""
    assert Deferred.of(str(Deferred("12", "aT-_9"))) == Deferred("12", "aT-_9")
    assert Deferred.of("12") is None
    assert Deferred.of(None) is None


async def test_no_log_and_no_error_shows_the_token_of_a_command(
    server: Discord, adapter: DiscordAdapter, caplog: pytest.LogCaptureFixture
) -> None:
    """It is a secret for a quarter of an hour; the SDK's warnings hold whole addresses."""
    caplog.set_level(logging.INFO)
    slow = {"message": "slow", "retry_after": 0.01, "global": False}
    server.fault(Fault("/callback", status=429, answer=slow, headers={"Via": "1.1 google"}))
    asked = await given(server, adapter)
    server.fault(Fault("/@original", status=429, answer=slow, headers={"Via": "1.1 google"}))
    await adapter.send(to("well", asked.reply_target))
    server.fault(Fault("/@original", status=400, answer={"message": "no", "code": 50035}))
    with pytest.raises(SendRefusedError) as refused:
        await adapter.send(to("well", asked.reply_target))
    shown = [*(record.getMessage() for record in caplog.records), str(refused.value)]
    assert not [text for text in shown if "interaction-token" in text]
