"""Checks of `strandline doctor` that query the chat platforms for the setup of our bots."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING

from adapters.abilities import Examines
from adapters.channel import Adapter, ChannelConfigError, ChannelError
from gateway.control.finding import Finding, Level
from gateway.errors import ConfigError

if TYPE_CHECKING:
    from gateway.config import BotSettings, Config

_UNKNOWN = "the gateway retries automatically; check this machine's network and base_url"


async def check_bots(config: "Config", environ: Mapping[str, str]) -> AsyncIterator[Finding]:
    """Yield the faults of each bot; a bot that cannot be queried now gives a warning."""
    for name, bot in config.channels.bots():
        async for finding in _findings(name, bot, environ):
            yield finding


async def _findings(name: str, bot: "BotSettings", environ: Mapping[str, str]) -> AsyncIterator[Finding]:
    from gateway.app.channels import adapter_of

    whole_name = f"{bot.channel}.{name}"
    try:
        adapter = await asyncio.to_thread(adapter_of, name, bot, environ, _count_nothing)
        lacks = await _channel_faults(adapter)
    except (ChannelConfigError, ConfigError) as exc:
        yield Finding("bot", Level.FAIL, f"{whole_name}: {exc}")
    except ChannelError as exc:
        yield Finding("bot", Level.WARN, f"{whole_name} cannot be checked: {exc}", _UNKNOWN)
    else:
        for each in lacks:
            yield Finding("bot", Level.FAIL, f"{whole_name}: {each}")
        if not lacks:
            yield Finding("bot", Level.OK, f"{whole_name} is set up correctly")


async def _channel_faults(adapter: Adapter) -> list[str]:
    try:
        return list(await adapter.examine()) if isinstance(adapter, Examines) else []
    finally:
        await adapter.close()


async def _count_nothing(_: str) -> None:
    """No-op counter: a check is not traffic."""
