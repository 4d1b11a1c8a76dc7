"""The accounts of one gateway, and the adapters that send their replies."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from adapters.channel import Adapter, ChannelError
from adapters.terminal import TerminalAdapter
from gateway.admission.internal_channels import HELPER
from gateway.app.channels import bot_accounts, reaction_of, terminal_account, terminals_of, web_accounts
from gateway.app.open_home import OpenHome
from gateway.automation.subagent_results import ResultChannel
from gateway.delivery.sender import AccountKey, Adapters
from gateway.inbound.listener import BotAccount
from gateway.turns.presence import Presence
from workspaces.access import AgentId


@dataclass(frozen=True, slots=True)
class Channels:
    """The accounts of one gateway."""

    terminals: Mapping[AgentId, TerminalAdapter]
    bots: list[BotAccount]
    """Those of platforms and of the HTTP server."""
    adapters: Adapters
    presence: Presence

    @property
    def accounts(self) -> list[BotAccount]:
        """Every listening account, terminals first."""
        return [*map(terminal_account, self.terminals.values()), *self.bots]


@asynccontextmanager
async def open_channels(home: OpenHome, environ: Mapping[str, str], *, has_bots: bool) -> AsyncIterator[Channels]:
    """Yield the accounts, only terminals unless it *has_bots*; loaded adapters are closed afterwards."""
    config, store, share = home.config, home.store, home.share
    terminals = terminals_of(config)
    bots = web_accounts(config) if has_bots else []
    if has_bots and not share.is_standby:
        bots = [*bot_accounts(config, environ, store.count, store, share.may_listen), *bots]
    keys = [*((terminal.channel, terminal.account) for terminal in terminals.values()), *(bot.key for bot in bots)]
    inner: dict[AccountKey, Adapter] = {
        (HELPER, agent): ResultChannel(agent, home.entrance.enter, home.clock.now) for agent in terminals
    }
    adapters = Adapters(keys, inner)
    try:
        async with Presence(adapters.loaded, reaction_of(config)) as presence:
            yield Channels(terminals, bots, adapters, presence)
    finally:
        for adapter in adapters.loaded.values():
            with suppress(ChannelError):  # of a package, and logged there
                await adapter.close()
