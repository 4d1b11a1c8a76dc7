"""A chat platform outside the faulty gateway; its record is the judge.

A platform is the fault tests' only view of a channel; another one is added with a class like the two below.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol

from gateway.agent.receipts import LEAD
from tests.fakes.botapi import BotApi
from tests.fakes.discord import Discord
from tests.fakes.discord_shapes import DIRECT, GUILD
from tests.journeys.house import ENVIRON, OWNER


def without_receipt(text: str) -> str:
    """Return an answer without the line about what its turn did."""
    return text.partition(f"\n\n{LEAD}")[0]


class Platform(Protocol):
    """People who write to one bot, and what they were shown."""

    config: str
    """The section of the configuration that leads there."""
    doubles: int
    """Messages that one crash may leave twice: 1 where the platform knows no nonce."""

    def session(self, chat: int) -> str:
        """Return the name of the chat's session."""

    def says(self, text: str, chat: int) -> None:
        """The owner writes in a chat: `OWNER` is the direct one, the others are groups."""

    def shown(self, chat: int) -> list[str]:
        """Return what was shown in a chat, in order, whether the bot was told so or not."""

    async def has_shown(self, texts: set[str], timeout_s: float) -> None:
        """Wait until all *texts* were shown somewhere. Raises TimeoutError."""

    async def shows_more(self, texts: int, timeout_s: float) -> None:
        """Wait until more than so many different texts were shown in all chats. Raises TimeoutError."""

    async def is_rid_of_all(self, timeout_s: float) -> None:
        """Wait until the bot has confirmed all that was said. Raises TimeoutError."""


class TelegramPlatform:
    """Implements `Platform` by the Bot API on loopback."""

    doubles = 1

    def __init__(self, bot: BotApi, groups: int) -> None:
        self._bot = bot
        listed = ", ".join(f'"{-number}" = {{ mention = false }}' for number in range(1, groups + 1))
        self.config = (
            f'[channels.telegram.home]\ntoken_env = "BOT_TOKEN"\nbase_url = "{bot.url}"\npoll_timeout_s = 5\n'
            f"groups = {{ {listed} }}\n"
        )

    def session(self, chat: int) -> str:
        return "main" if chat == OWNER else f"group:telegram.home.{chat}"

    def says(self, text: str, chat: int) -> None:
        self._bot.says(chat, text, user_id=OWNER, chat_type="private" if chat == OWNER else "supergroup")

    def shown(self, chat: int) -> list[str]:
        return [message.text for message in self._bot.sent if message.chat == chat]

    async def has_shown(self, texts: set[str], timeout_s: float) -> None:
        await self._bot.until(lambda: texts <= {without_receipt(message.text) for message in self._bot.sent}, timeout_s)

    async def shows_more(self, texts: int, timeout_s: float) -> None:
        await self._bot.until(lambda: len({message.text for message in self._bot.sent}) > texts, timeout_s)

    async def is_rid_of_all(self, timeout_s: float) -> None:
        await self._bot.until(lambda: not self._bot.updates, timeout_s)


@asynccontextmanager
async def telegram(groups: int = 0) -> AsyncIterator[Platform]:
    """Give a Telegram on loopback with some groups in which the bot answers everybody whom it knows."""
    async with BotApi() as bot:
        yield TelegramPlatform(bot, groups)


class DiscordPlatform:
    """Implements `Platform` by a Discord on loopback; groups are channels.

    Discord tells a bot that was never online nothing of what was said before, and confirms to nobody what it was told.
    """

    doubles = 0

    def __init__(self, server: Discord, groups: int) -> None:
        self._server = server
        self._server.token = ENVIRON["BOT_TOKEN"]
        self._said: set[str] = set()
        for number in range(1, groups + 1):
            self._server.channels[_channel(-number)] = {"id": _channel(-number), "type": 0, "guild_id": GUILD}
        listed = ", ".join(f'"{_channel(-number)}" = {{ mention = false }}' for number in range(1, groups + 1))
        self.config = (
            f'[channels.discord.home]\ntoken_env = "BOT_TOKEN"\nbase_url = "{server.url}"\n'
            f'gateway_url = "{server.gateway_url}"\ngroups = {{ {listed} }}\n'
        )

    def session(self, chat: int) -> str:
        return "main" if chat == OWNER else f"group:discord.home.{_channel(chat)}"

    def says(self, text: str, chat: int) -> None:
        self._said.add(f"Done with {text.split(maxsplit=1)[0]}.")
        self._server.says(text, _channel(chat), str(OWNER))

    def shown(self, chat: int) -> list[str]:
        return [posted.text for posted in self._server.posted if posted.channel == _channel(chat)]

    async def has_shown(self, texts: set[str], timeout_s: float) -> None:
        await self._server.until(lambda: texts <= self._shown(), timeout_s)

    async def shows_more(self, texts: int, timeout_s: float) -> None:
        await self._server.until(lambda: len(self._shown()) > texts, timeout_s)

    async def is_rid_of_all(self, timeout_s: float) -> None:
        await self.has_shown(self._said, timeout_s)

    def _shown(self) -> set[str]:
        return {without_receipt(posted.text) for posted in self._server.posted}


def _channel(chat: int) -> str:
    return DIRECT if chat == OWNER else f"{9_000 - chat}"


@asynccontextmanager
async def discord(groups: int = 0) -> AsyncIterator[Platform]:
    """Give a Discord on loopback with some channels in which the bot answers everybody whom it knows."""
    async with Discord() as server:
        yield DiscordPlatform(server, groups)
        assert server.problems == []
