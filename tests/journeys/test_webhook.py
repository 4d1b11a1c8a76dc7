"""What Telegram brings by webhook while the gateway is killed, judged by what people were shown."""

import asyncio
import socket
from itertools import groupby
from pathlib import Path

from gateway.home import Home
from tests.fakes.botapi import BotApi
from tests.fakes.webhook import Bringer
from tests.journeys.house import OWNER, make_home, openai_section
from tests.journeys.processes import Gateway, server

KILL_WHEN_SENT = (6, 24)
CHATS = (OWNER, -1, -2, -3)
MESSAGES = 12


def home_with_webhook(folder: Path, bot: str, model: str) -> Home:
    """Return a home that listens at a port of its own, under which Telegram knows it across restarts."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    home = make_home(folder, bot, openai_section(f"{model}/v1"))
    groups = ", ".join(f'"{chat}" = {{ mention = false }}' for chat in CHATS if chat < 0)
    text = home.config_file.read_text().replace('"-100" = { mention = true }', groups)
    way = (
        f'mode = "webhook"\nwebhook_url = "http://127.0.0.1:{port}/telegram/home"\n'
        'webhook_secret_file = "hook-secret"\n'
    )
    home.write(
        home.config_file, text.replace("poll_timeout_s = 5\n", way) + f"\n[web]\nenabled = true\nport = {port}\n"
    )
    home.write(home.path / "hook-secret", "s3cret-of-the-hook")
    return home


async def test_a_burst_by_webhook_survives_kills(tmp_path: Path) -> None:
    """Updates come side by side and each twice; every chat is answered in order, with one duplicate a kill at most."""
    async with BotApi() as bot:
        with server("openai_stub", tmp_path) as model:
            gateway = Gateway(home_with_webhook(tmp_path / "home", bot.url, model), tmp_path / "gateway.log")
            bringer = Bringer(bot, twice=True)
            await asyncio.to_thread(gateway.start)
            for number in range(MESSAGES):
                for chat in CHATS:
                    bot.says(
                        chat, f"message {number}", user_id=OWNER, chat_type="private" if chat > 0 else "supergroup"
                    )
            async with bringer.at_work():
                for sent in KILL_WHEN_SENT:
                    await bot.wait_for_sent(sent)
                    assert len(bot.sent) < MESSAGES * len(CHATS), "the burst was over before the kill"
                    await asyncio.to_thread(gateway.kill)
                    await asyncio.to_thread(gateway.start)
                await bot.until(lambda: not bot.updates and all(_last(bot, chat) for chat in CHATS))
            status = await asyncio.to_thread(gateway.status)
            assert await asyncio.to_thread(gateway.stop) == 0
    for chat in CHATS:
        texts = [text for text, _ in groupby(_shown(bot, chat))]
        assert texts == [f"message {number}" for number in range(MESSAGES)]
    duplicates = len(bot.sent) - MESSAGES * len(CHATS)
    assert duplicates <= len(status["unsure"]) <= len(KILL_WHEN_SENT)
    assert (status["inbox_waiting"], status["outbox_dead"]) == (0, 0)
    assert set(bringer.statuses) <= {200, 503, 0}
    assert status["reasons"]["duplicate"] >= MESSAGES * len(CHATS) - len(KILL_WHEN_SENT)


def _shown(bot: BotApi, chat: int) -> list[str]:
    """Return which messages the chat saw answered; in a group an answer quotes who asked, too."""
    return [message.text.rpartition(": ")[2] for message in bot.sent if message.chat == chat]


def _last(bot: BotApi, chat: int) -> bool:
    return f"message {MESSAGES - 1}" in _shown(bot, chat)
