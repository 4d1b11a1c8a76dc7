"""Each usual mistake names itself and the way out, alike in the chat, in `status` and by `strandline doctor`."""

import asyncio
import io
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, redirect_stdout
from pathlib import Path

import pytest

from gateway.app.app import App
from gateway.cli import main
from gateway.control.front import Front
from gateway.control.probe_wire import ProbeOrder
from gateway.control.server import control_app
from gateway.control.settings_wire import SettingsReport
from gateway.control.status_wire import StatusOrder
from gateway.control.stream_wire import ChatOrder
from gateway.home import ControlFile, Home
from gateway.runtime.http_server import serving
from tests.fakes.botapi import BotApi
from tests.fakes.cohere_stub import CohereStub
from tests.fakes.discord import Discord
from tests.fakes.openai_stub import OpenAIStub
from tests.fakes.patience import PATIENCE_S
from tests.fakes.provider_stub import Call, Fault, Refusal, Reply
from tests.journeys.house import ENVIRON, GROUP, OWNER, cohere_section, make_home, openai_section, running

CLOSED = "http://127.0.0.1:9/v1"


async def doctor(home: Home, environ: Mapping[str, str]) -> tuple[int, str]:
    """Run `strandline doctor`; return its exit status and what it prints."""
    out = io.StringIO()
    with redirect_stdout(out):
        status = await asyncio.to_thread(main.run, ["doctor", "--home", str(home.path)], environ, "strandline")
    return status, out.getvalue()


async def doctor_beside(app: App, home: Home) -> tuple[int, str]:
    """Run it from a shell without the secrets of the gateway that runs."""
    front = Front("token", SettingsReport)
    operator = control_app(app.operator, app.parts.health, front.token)
    async with serving(front, "127.0.0.1", 0, grace_s=0) as address, front.showing(operator):
        with home.announced(ControlFile(address, front.token, os.getpid())):
            return await doctor(home, {})


async def agrees(app: App, home: Home, *words: str, environ: Mapping[str, str] = ENVIRON) -> None:
    """Check that the doctor names *words* and fails, beside the gateway *app* and before one runs."""
    twin = make_home(home.path.with_name("twin"))
    twin.write(twin.config_file, home.config_file.read_text("utf-8"))
    for status, told in (await doctor_beside(app, home), await doctor(twin, environ)):
        assert all(word in told for word in words), told
        assert status == 1, told


async def said_by(app: App) -> tuple[str, str, str]:
    """Return what the chat, the status and a probe say."""
    replies: list[str] = []

    async def on_reply(text: str, _: bool) -> None:
        replies.append(text)

    await app.operator.chat(ChatOrder("hello"), on_reply)
    state = await app.operator.ask(StatusOrder())
    probed = await app.operator.ask(ProbeOrder())
    return "\n".join(replies), "\n".join(state.troubles), "\n".join(f for row in probed.models for f in row.faults)


@pytest.mark.parametrize(
    ("refusal", "words"),
    [
        (Refusal(401), ["models.stub (openai, stub-1)", "HTTP 401", "strandline keys set MODEL_KEY"]),
        (Refusal(404), ["models.stub (openai, stub-1)", "HTTP 404", "strandline config set models.stub.model"]),
        (
            Refusal(429, code="insufficient_quota"),
            ["models.stub (openai, stub-1)", "quota is used up (HTTP 429)", "strandline connect model"],
        ),
    ],
    ids=["wrong key", "wrong model", "quota"],
)
async def test_a_models_refusal_is_named(tmp_path: Path, refusal: Refusal, words: list[str]) -> None:
    """By provider, status, setting and next command."""
    async with OpenAIStub(lambda _: refusal) as model:
        home = make_home(tmp_path / "home", model=openai_section(model.url))
        async with running(home) as app:
            beside = await doctor_beside(app, home)
            for told in (*(said := await said_by(app)), beside[1]):
                assert all(word in told for word in words), told
            assert said[0].count("`") == 2  # one code span, which holds no other
        stopped = await doctor(home, ENVIRON)
        assert all(word in stopped[1] for word in words), stopped
        assert (beside[0], stopped[0]) == (1, 1)


async def test_a_model_server_that_does_not_run_is_named(tmp_path: Path) -> None:
    """As Ollama before it is started: its address and what to do."""
    home = make_home(tmp_path / "home", model=openai_section(CLOSED))
    async with running(home) as app:
        beside = await doctor_beside(app, home)
        said = await said_by(app)
    stopped = await doctor(home, ENVIRON)
    for told in (*said, beside[1], stopped[1]):
        assert "cannot be reached" in told
        assert CLOSED in told
        assert "strandline config set models.stub.base_url URL" in told
    assert (beside[0], stopped[0]) == (1, 1)


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Reply(""), "the reply is empty"),
        (Reply("half of an answ", fault=Fault.CUT), "the reply was cut off"),
        (Reply(calls=(Call("add_note", "{no", "c1"),)), "the arguments of a tool call are not JSON"),
    ],
)
async def test_a_reply_that_cannot_be_used_is_named(tmp_path: Path, reply: Reply, words: str) -> None:
    """The model was reached: nobody looks for a server that runs."""
    async with OpenAIStub(lambda _: reply) as model:
        home = make_home(tmp_path / "home", model=openai_section(model.url))
        async with running(home) as app:
            chat, troubles, _ = await said_by(app)
    assert chat.startswith(f"My language model answered, but {words}. Your message is kept; I ask again.")
    assert words in troubles
    assert "cannot be reached" not in chat + troubles


async def test_a_missing_key_is_named(tmp_path: Path) -> None:
    """The gateway runs all the same."""
    home = make_home(tmp_path / "home", model=cohere_section(CLOSED))
    async with running(home, {"MODEL_KEY": ""}) as app:
        beside = await doctor_beside(app, home)
        said = await said_by(app)
    stopped = await doctor(home, {})
    for told in (*said, beside[1], stopped[1]):
        assert "models.stub.api_key_env" in told
        assert "strandline keys set MODEL_KEY" in told
    assert (beside[0], stopped[0]) == (1, 1)


async def test_the_words_end_when_the_model_answers(tmp_path: Path) -> None:
    """And nobody else than the owner is told of settings."""
    answers = iter([Refusal(401), Refusal(401)])
    async with CohereStub(lambda _: next(answers, "well")) as model, BotApi() as bot:
        bot.join(GROUP)
        home = make_home(tmp_path / "home", bot.url, cohere_section(model.url))
        async with running(home) as app:
            bot.says(GROUP, "@strand_bot hello", user_id=OWNER, chat_type="supergroup")
            in_group = (await bot.wait_for_sent(1))[0].text
            assert in_group == ("My language model rejects my requests, so I cannot answer yet. Your message is kept.")
            assert "HTTP 401" in "\n".join((await app.operator.ask(StatusOrder())).troubles)
            chat, _, probed = await said_by(app)
            assert "HTTP 401" in chat
            assert probed == ""


async def notes(app: App, channel: str, holds: Callable[[str], bool]) -> str:
    """Return what `status` says of the account, once it is as wanted."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            state = await app.operator.ask(StatusOrder())
            told = "\n".join(f"{each.reason}\n{each.notes}" for each in state.channels if each.channel == channel)
            if holds(told):
                return told
            await asyncio.sleep(0.05)


@asynccontextmanager
async def telegram(tmp_path: Path, bot: BotApi, table: str = "") -> AsyncIterator[App]:
    """Run a gateway with a Telegram bot whose table has *table* besides."""
    home = make_home(tmp_path / "home", bot.url)
    text = home.config_file.read_text("utf-8").replace("mention = true", table or "mention = true")
    home.write(home.config_file, text)
    async with running(home) as app:
        yield app


async def test_a_wrong_token_is_named_and_takes_nothing_else_down(tmp_path: Path) -> None:
    """The terminal answers; the platform's status and the command that takes another token are told."""
    async with BotApi(token="123456:another-token") as bot, telegram(tmp_path, bot) as app:
        told = await notes(app, "telegram", lambda told: "HTTP 401" in told)
        assert "strandline connect telegram --account home" in told
        chat, _, _ = await said_by(app)
        assert chat
        await agrees(app, Home(tmp_path / "home"), "HTTP 401", "strandline connect telegram --account home")


async def test_a_group_without_the_bot_and_privacy_mode_are_named(tmp_path: Path) -> None:
    """In `status` and by a probe, with what to send to whom."""
    async with BotApi() as bot:
        bot.join(GROUP)
        bot.me = {**bot.me, "can_read_all_group_messages": False}
        async with telegram(tmp_path, bot, "mention = false") as app:
            told = await notes(app, "telegram", lambda told: "privacy mode is on" in told)
            assert "/setprivacy" in told
            await agrees(app, Home(tmp_path / "home"), "privacy mode is on", "/setprivacy")
            bot.status_in[GROUP] = "left"
            (row,) = (await app.operator.ask(ProbeOrder())).channels
            assert f"the bot is not in the group {GROUP}" in row.faults[0]
            await agrees(app, Home(tmp_path / "home"), f"the bot is not in the group {GROUP}")


async def test_a_missing_intent_is_named(tmp_path: Path) -> None:
    """Before Discord closes the connection without a word."""
    home = make_home(tmp_path / "home")
    async with Discord() as server:
        server.application["flags"] = 0
        table = f'[channels.discord.home]\ntoken_env = "D"\ndirect = "pairing"\nbase_url = "{server.url}"\n'
        text = home.config_file.read_text("utf-8") + f'{table}gateway_url = "{server.gateway_url}"\n'
        home.write(home.config_file, text)
        async with running(home, {"D": server.token}) as app:
            told = await notes(app, "discord", lambda told: "MESSAGE CONTENT INTENT" in told)
            assert "Developer Portal" in told
            await agrees(app, home, "MESSAGE CONTENT INTENT", "Developer Portal", environ={"D": server.token})


async def trouble(app: App) -> str:
    """Return what `status` calls unusable, once it does."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            if told := "\n".join((await app.operator.ask(StatusOrder())).troubles):
                return told
            await asyncio.sleep(0.05)


async def test_a_wrong_id_of_the_owner_is_named(tmp_path: Path) -> None:
    """Who wrote instead, and the whole command that corrects it, until the owner has written."""
    async with BotApi() as bot, telegram(tmp_path, bot) as app:
        bot.join(GROUP)
        assert (await app.operator.ask(StatusOrder())).troubles == ()
        bot.says(OWNER + 1, "hello, it is me")
        wanted = f"""strandline config set owner.people '["telegram:{OWNER + 1}"]'"""
        told = await trouble(app)
        assert f"telegram.home: its owner (telegram:{OWNER}) has never written to it, but telegram:{OWNER + 1}" in told
        assert wanted in told
        status, told = await doctor_beside(app, Home(tmp_path / "home"))
        assert wanted in told
        assert status == 0, "a stranger who writes first must not make it fail"
        bot.says(OWNER, "hello")
        await bot.wait_for_sent(1)
        assert (await app.operator.ask(StatusOrder())).troubles == ()
