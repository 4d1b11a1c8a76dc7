"""What the doctor says of bots: whether the platform takes them, and what they lack there."""

from collections.abc import AsyncIterator

import pytest

from gateway.cli.doctor.channels import check_bots
from gateway.config import Config
from tests.fakes.botapi import TOKEN as TELEGRAM_TOKEN
from tests.fakes.botapi import BotApi
from tests.fakes.discord import Discord
from tests.fakes.discord_shapes import TOKEN

MAY_READ = 1 << 19


@pytest.fixture
async def discord() -> AsyncIterator[Discord]:
    async with Discord() as server:
        yield server


async def told(config: Config, environ: dict[str, str] | None = None) -> list[tuple[str, str]]:
    """Return each finding's level, and what it says."""
    environ = {"DISCORD": TOKEN, "TELEGRAM": TELEGRAM_TOKEN, **(environ or {})}
    return [(each.level.value, each.detail) async for each in check_bots(config, environ)]


def bots(**channels: str) -> Config:
    """A configuration with a bot on each of *channels*, by its address there."""
    tables = {
        name: {"home": {"token_env": name.upper(), "base_url": url, "direct": "pairing"}}
        for name, url in channels.items()
    }
    return Config.model_validate({"channels": tables})


async def test_a_bot_that_may_not_read_is_told_where_the_switch_is(discord: Discord) -> None:
    """With the setting and the page; when it is switched on all is well."""
    ((level, detail),) = await told(bots(discord=discord.url))
    assert level == "fail"
    assert "discord.home" in detail
    assert "MESSAGE CONTENT INTENT" in detail
    discord.application["flags"] = MAY_READ
    assert await told(bots(discord=discord.url)) == [("ok", "discord.home is set up correctly")]


async def test_a_wrong_token_fails(discord: Discord) -> None:
    """It is named by its setting, and never shown."""
    ((level, detail),) = await told(bots(discord=discord.url), {"DISCORD": "a-wrong-token"})
    assert (level, "rejects the bot token" in detail) == ("fail", True)
    assert "a-wrong-token" not in detail


async def test_a_platform_that_is_away_is_a_warning_and_the_next_bot_is_asked(discord: Discord) -> None:
    """It may be back when the gateway starts."""
    discord.application["flags"] = MAY_READ
    async with BotApi() as telegram:
        url = telegram.url
    found = await told(bots(telegram=url, discord=discord.url))
    assert [level for level, _ in found] == ["warn", "ok"]
    assert "telegram.home cannot be checked" in found[0][1]


async def test_a_policy_that_is_none_fails(discord: Discord) -> None:
    """As when the gateway starts, which leaves this bot out."""
    config = bots(discord=discord.url)
    accounts = config.channels.root["discord"]
    accounts["home"] = accounts["home"].model_copy(update={"direct": "everybody"})
    ((level, detail),) = await told(config)
    assert level == "fail"
    assert "everybody" in detail
