"""A message's whole way on Discord: gateway and REST server, discord.py, the gateway of ours, a model's SDK, files."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from gateway.app.app import App
from gateway.control.status_wire import ChannelStatus, StatusOrder
from gateway.control.stream_wire import ChatOrder
from gateway.home import Home
from gateway.inbound.listener import ListeningState
from tests.fakes.discord import Discord, Fault
from tests.fakes.discord_shapes import BOT_ID, CHANNEL, DIRECT, GUILD, PERSON, THREAD, TOKEN
from tests.fakes.openai_stub import OpenAIStub
from tests.fakes.patience import PATIENCE_S
from tests.fakes.provider_stub import Body, without_note
from tests.journeys.house import make_home, openai_section, running

STRANGER = "43"
OTHER_CHANNEL = "301"


def echo(body: Body) -> str:
    """A model that repeats what was said."""
    content = body["messages"][-1]["content"]
    return f"You said: {without_note(content if isinstance(content, str) else content[0]['text'])}"


@asynccontextmanager
async def at_home(path: Path, server: Discord, provider: OpenAIStub) -> AsyncIterator[App]:
    """Run a gateway with one Discord bot, which answers in one channel."""
    home = make_home(path, model=openai_section(provider.url))
    configure(home, server, path)
    async with running(home) as app:
        yield app


def configure(home: Home, server: Discord, path: Path) -> None:
    token = path / "token"
    token.write_text(TOKEN, "utf-8")
    token.chmod(0o600)
    text = home.config_file.read_text("utf-8").replace('people = ["telegram:7"]', f'people = ["discord:{PERSON}"]')
    account = (
        f'[channels.discord.home]\ntoken_file = "{token}"\nbase_url = "{server.url}"\n'
        f'gateway_url = "{server.gateway_url}"\ngroups = {{ "{CHANNEL}" = {{ mention = true }} }}\n'
    )
    home.write(home.config_file, f"{text}\n{account}")


def has_posted(server: Discord, text: str) -> bool:
    return any(text in posted.text for posted in server.posted)


async def test_a_mention_in_a_channel_is_answered_with_a_reply(tmp_path: Path) -> None:
    """By anybody there, in the thread where it was said, tied to the question."""
    async with Discord() as server, OpenAIStub(echo) as provider:
        async with at_home(tmp_path / "home", server, provider):
            asked = server.says(f"<@{BOT_ID}> what is it?", CHANNEL, STRANGER)
            await server.wait_for_posted(1)
            below = server.says(f"<@{BOT_ID}> and here?", THREAD, STRANGER)
            await server.wait_for_posted(2)
        first, second = server.posted
        assert (first.channel, first.reply_to) == (CHANNEL, asked)
        assert (second.channel, second.reply_to) == (THREAD, below)
        assert "what is it?" in first.text
        assert server.problems == []


async def test_only_who_may_is_answered(tmp_path: Path) -> None:
    """A stranger's direct message, a channel that is not listed, words to nobody, bots: no model call, all counted."""
    async with Discord() as server, OpenAIStub(echo) as provider:
        server.channels[OTHER_CHANNEL] = {"id": OTHER_CHANNEL, "type": 0, "guild_id": "200"}
        async with at_home(tmp_path / "home", server, provider) as app:
            server.says("let me in", DIRECT, STRANGER)
            server.says(f"<@{BOT_ID}> here?", OTHER_CHANNEL)
            server.says("to nobody", CHANNEL)
            server.says(f"<@{BOT_ID}> loop", CHANNEL, webhook_id="9", author={"id": "9", "username": "hook"})
            server.says("it is me", DIRECT)
            await server.until(lambda: any("it is me" in posted.text for posted in server.posted))
            refused = (await app.operator.ask(StatusOrder())).reasons
        assert len(provider.bodies) == 1
        reasons = ("unpaired", "group_not_allowed", "not_for_us", "bot")
        assert {code: times for code, times in refused.items() if code.startswith("refused.")} == {
            f"refused.{reason}": 1 for reason in reasons
        }
        assert {posted.channel for posted in server.posted} == {DIRECT}


async def test_a_command_behind_a_mention_costs_no_model_call(tmp_path: Path) -> None:
    """The call at the beginning is addressing, as on every platform."""
    async with Discord() as server, OpenAIStub(echo) as provider:
        async with at_home(tmp_path / "home", server, provider):
            server.says(f"<@{BOT_ID}> /whoami", CHANNEL)
            (answer,) = await server.wait_for_posted(1)
        assert f"discord:{PERSON}" in answer.text
        assert provider.bodies == []


async def test_a_slash_command_is_answered_in_its_place(tmp_path: Path) -> None:
    """Discord is told when it is durable, and shows the answer there; where nobody may ask, only the owner is asked."""
    async with Discord() as server, OpenAIStub(echo) as provider:
        server.channels[OTHER_CHANNEL] = {"id": OTHER_CHANNEL, "type": 0, "guild_id": "200"}
        async with at_home(tmp_path / "home", server, provider):
            elsewhere = server.gives("whoami", channel=OTHER_CHANNEL)
            asked = server.gives("whoami", channel=CHANNEL)
            question, answer = sorted(await server.wait_for_posted(2), key=lambda posted: posted.channel == CHANNEL)
        assert (question.channel, answer.channel) == (DIRECT, CHANNEL)
        assert elsewhere.acknowledged == []
        assert answer.id == asked.original
        assert f"discord:{PERSON}" in answer.text
        assert len(server.calls("/messages")) == 1
        assert (provider.bodies, server.problems) == ([], [])


async def test_a_slash_command_is_answered_in_its_place_by_the_next_start(tmp_path: Path) -> None:
    """What is left to send knows where it belongs."""
    async with Discord() as server, OpenAIStub(echo) as provider:
        async with at_home(tmp_path / "home", server, provider):
            server.fault(*[Fault("/@original", status=429, answer={}, headers={"Retry-After": "0.05"})] * 10_000)
            asked = server.gives("whoami", channel=CHANNEL)
            await server.until(lambda: len(server.faults) < 10_000)
        assert server.posted == []
        server.faults.clear()
        async with running(Home(tmp_path / "home")):
            (answer,) = await server.wait_for_posted(1)
        assert answer.id == asked.original


async def test_a_deleted_message_is_no_context(tmp_path: Path) -> None:
    """Its author took it back, so the agent does not read it to everybody with the next question."""
    async with Discord() as server, OpenAIStub(echo) as provider:
        async with at_home(tmp_path / "home", server, provider):
            slip = server.says("my PIN is 4711", CHANNEL)
            slips = [server.says(f"and {number}", CHANNEL, STRANGER) for number in (1, 2)]
            server.says("the bus is late", CHANNEL, STRANGER)
            server.deletes(slip)
            server.dispatch("MESSAGE_DELETE_BULK", {"ids": slips, "channel_id": CHANNEL, "guild_id": GUILD})
            server.says(f"<@{BOT_ID}> and now?", CHANNEL)
            (answer,) = await server.wait_for_posted(1)
        assert "the bus is late" in answer.text
        assert not any(word in answer.text for word in ("4711", "and 1", "and 2"))


async def test_an_answer_that_was_taken_and_reset_comes_once(tmp_path: Path) -> None:
    """The outbox sends it again under the same nonce, and Discord answers with the message that is there."""
    async with Discord() as server, OpenAIStub(echo) as provider:
        server.fault(Fault(accepts=True, drops=True))
        async with at_home(tmp_path / "home", server, provider):
            server.says("once, please")
            await server.until(lambda: len(server.calls("/messages")) == 2)
        assert len(server.posted) == 1
        first, second = server.calls("/messages")
        assert first["nonce"] == second["nonce"]


async def test_what_was_said_during_a_long_absence_is_answered_once(tmp_path: Path) -> None:
    """Discord forgot the session: the histories are read, at the next start and no more after it."""
    async with Discord() as server, OpenAIStub(echo) as provider:
        async with at_home(tmp_path / "home", server, provider):
            server.says("before", DIRECT)
            server.says(f"<@{BOT_ID}> before", CHANNEL)
            await server.wait_for_posted(2)
        server.forget_session()
        missed = server.says(f"<@{BOT_ID}> missed", CHANNEL)
        server.says("to nobody", CHANNEL)
        server.says("missed too", DIRECT)
        async with running(Home(tmp_path / "home")):
            await server.wait_for_posted(4)
        server.forget_session()
        async with running(Home(tmp_path / "home")):
            await server.until(lambda: not server.has_forgotten)
            server.says("now", DIRECT)
            await server.wait_for_posted(5)
        answers = sorted((posted.channel, posted.text, posted.reply_to) for posted in server.posted[2:])
        assert [(channel, reply_to) for channel, _, reply_to in answers] == [
            (CHANNEL, missed),
            (DIRECT, None),
            (DIRECT, None),
        ]
        assert server.problems == []


async def test_the_owner_learns_that_more_was_missed_than_is_read(tmp_path: Path) -> None:
    """One line to them, instead of silence; and not again at the next start."""
    async with Discord() as server, OpenAIStub(echo) as provider:
        async with at_home(tmp_path / "home", server, provider):
            server.says("before", DIRECT)
            await server.wait_for_posted(1)
        home = Home(tmp_path / "home")
        home.write(home.config_file, home.config_file.read_text("utf-8") + "catch_up_messages = 1\n")
        server.forget_session()
        server.says("too much", DIRECT)
        server.says("the latest", DIRECT)
        waiting: list[str] = []
        for text in ("the latest", "now"):
            async with running(home) as app:
                await server.until(lambda: not server.has_forgotten)
                if text == "now":
                    server.says(text, DIRECT)
                await server.until(partial(has_posted, server, text))
                waiting = [row.outgoing.text for row in await app.parts.resources.home.store.outbox.unfinished()]
            server.forget_session()
        told = [said for said in (*(posted.text for posted in server.posted), *waiting) if "While I was away" in said]
        assert len(told) == 1
        assert "[channels.discord.home]" in told[0]
        assert not any("too much" in str(body) for body in provider.bodies)


@pytest.mark.parametrize("fault", ["token", "intent"])
async def test_a_bot_that_cannot_work_says_why_and_the_others_go_on(tmp_path: Path, fault: str) -> None:
    """A wrong token and a missing intent stand in the status with the way to mend them."""
    replies: list[str] = []

    async def on_reply(text: str, _: bool) -> None:
        replies.append(text)

    async with Discord() as server, OpenAIStub(echo) as provider:
        server.may_read_content = fault != "intent"
        server.token = "another" if fault == "token" else TOKEN
        async with at_home(tmp_path / "home", server, provider) as app:
            async with asyncio.timeout(PATIENCE_S):
                while not (shown := await discord_of(app)).reason:  # noqa: ASYNC110 - what a command shows
                    await asyncio.sleep(0.01)
                await app.operator.chat(ChatOrder("hello"), on_reply)
        assert shown.state == ListeningState.REFUSED
        assert "[channels.discord.home]" in shown.reason
        assert "Developer Portal" in shown.reason
        assert replies == ["You said: hello"]


async def discord_of(app: App) -> ChannelStatus:
    """How the bot stands."""
    (found,) = [channel for channel in (await app.operator.ask(StatusOrder())).channels if channel.channel == "discord"]
    return found
