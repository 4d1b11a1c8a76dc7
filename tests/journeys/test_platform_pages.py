"""docs/telegram.md and docs/discord.md, executed step by step: each command as it is shown, in a terminal."""

import asyncio
import re
import shlex
import subprocess
import textwrap
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from gateway.config import read_config
from gateway.home import Home
from tests.fakes.botapi import TOKEN, BotApi
from tests.fakes.discord import Discord
from tests.fakes.discord_shapes import BOT_ID, user
from tests.fakes.redis_server import free_port
from tests.fakes.webhook import Bringer
from tests.journeys.prompt import Prompt, prompt
from tests.journeys.test_first_hour import OWNER, until_running

DOCS = Path(__file__).parents[2] / "docs"
GROUP = -1001234567890
"""As on the page."""


def steps(page: str) -> list[list[str]]:
    """Return the commands of the page's steps, in order, without the program's name."""
    text = (DOCS / page).read_text("utf-8").partition("## Behaviour")[0]
    return [shlex.split(block)[1:] for block in re.findall(r"```sh\n(strandline .*?)\n```", text)]


def shown_by(page: str) -> list[str]:
    """Return the lines that the page shows of its first command, up to what is typed."""
    (block,) = re.findall(r"```\n(Token.*?)```", (DOCS / page).read_text("utf-8"), re.DOTALL)
    return [line.partition(" (Ctrl-C")[0] for line in block.splitlines()]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


@asynccontextmanager
async def gateway(home: Home) -> AsyncIterator[Prompt]:
    async with prompt("up", "--home", str(home.path)) as shown:
        await until_running(shown)
        yield shown


async def test_the_page_about_telegram_leads_to_answers(home: Home) -> None:
    """From a token to an answer in a direct chat, and in a group by the button or by hand."""
    connect, allow = steps("telegram.md")
    asked, named, write, confirm = shown_by("telegram.md")
    at = ("--home", str(home.path))
    async with BotApi() as bot, gateway(home):
        bot.join(GROUP)
        async with prompt(*connect, "--base-url", bot.url, *at) as shown:
            await shown.sees(asked)
            shown.types(TOKEN)
            await shown.sees(named)
            await shown.sees(write)
            nia: dict[str, Any] = {"from": {"id": OWNER, "is_bot": False, "first_name": "Nia"}}
            bot.says(OWNER, "hello", **nia)
            await shown.sees(confirm.removesuffix(" y"))
            shown.types("y")
            assert "Taken up by the running gateway." in await shown.ends()
        assert (await bot.wait_for_sent(1, 30))[0].chat == OWNER
        bot.says(GROUP, "@strand_bot hello", user_id=OWNER, chat_type="supergroup", title="Family")
        asked_about = (await bot.wait_for_sent(2, 30))[1]
        assert (asked_about.chat, asked_about.buttons[0][0]["text"]) == (OWNER, "Allow Family?")
        async with prompt("route", "why", *at) as shown:
            assert str(GROUP) in await shown.ends()
        async with prompt(*allow, *at) as shown:
            assert "Taken up by the running gateway." in await shown.ends()
        bot.says(GROUP, "@strand_bot hello again", user_id=OWNER, chat_type="supergroup")
        assert (await bot.wait_for_sent(3, 30))[2].chat == GROUP


async def test_the_pages_webhook_takes_messages_behind_a_proxy(home: Home) -> None:
    """By the settings as shown, at Telegram under the public address; a request without the secret is rejected."""
    page = (DOCS / "telegram.md").read_text("utf-8")
    (secret,) = re.findall(r"`\((umask .*?)\)`", page)
    (table,) = re.findall(r"   ```toml\n(.*?)   ```", page, re.DOTALL)
    port = free_port()
    async with BotApi() as bot:
        table = textwrap.dedent(table).replace("enabled = true ", f"enabled = true\nport = {port} ")
        home.create()
        home.write(home.config_file, f'[owner]\npeople = ["telegram:{OWNER}"]\n{table}base_url = "{bot.url}"\n')
        words = secret.replace("~/.strandline", str(home.path))
        await asyncio.to_thread(subprocess.run, ["sh", "-c", words], check=True)
        environ = {"TELEGRAM_TOKEN": TOKEN}
        async with prompt("up", "--home", str(home.path), environ=environ) as shown:
            await until_running(shown)
            await bot.until(lambda: bot.hook is not None)
            assert bot.hook is not None
            assert bot.hook.url == "https://bot.example.org/telegram/home"
            proxied = f"http://127.0.0.1:{port}/telegram/home"
            async with aiohttp.ClientSession() as session, session.post(proxied, json={"update_id": 1}) as answer:
                assert answer.status in {401, 403}
            bot.hook = replace(bot.hook, url=proxied)
            async with Bringer(bot).at_work():
                bot.says(OWNER, "hello")
                assert (await bot.wait_for_sent(1, 30))[0].chat == OWNER


async def test_the_page_about_discord_leads_to_a_connected_bot(home: Home) -> None:
    """Discord names the owner, who confirms it; a missing intent and the address that invites the bot are told."""
    connect, allow = steps("discord.md")
    asked, _, confirm = shown_by("discord.md")
    at = ("--home", str(home.path))
    async with Discord() as server:
        server.application |= {"owner": {**user("678"), "global_name": "Nia"}, "id": BOT_ID, "flags": 0}
        async with prompt(*connect, "--base-url", server.url, *at) as shown:
            await shown.sees(asked)
            shown.types(server.token)
            await shown.sees("under Bot, turn on MESSAGE CONTENT INTENT")
            await shown.sees(confirm.removesuffix(" y"))
            shown.types("y")
            said = await shown.ends()
        assert f"client_id={BOT_ID}" in said
        assert server.token not in said
        async with prompt(*allow, *at) as shown:
            await shown.ends()
    config = read_config(home.config_file)
    assert config.owner.people == ("discord:678",)
    ((_, bot),) = config.channels.bots()
    assert (bot.direct, list(bot.groups)) == ("owner", ["300"])
