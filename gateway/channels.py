"""This file turns the configuration's channels into policies, routes and accounts."""

import asyncio
from collections.abc import Mapping
from functools import partial

from adapters.channel import Adapter, Count
from adapters.terminal import OWNER, TerminalAdapter
from gateway.config import Config, TelegramSettings
from gateway.conversation.listening import Account
from gateway.door.admission import AccountPolicy, DirectPolicy, GroupPolicy, Policy
from gateway.door.routing import Binding, Routes
from workspaces.access import AgentId

TELEGRAM, TERMINAL = "telegram", "terminal"


def policy_of(config: Config) -> Policy:
    """Return who may talk: the owner at every terminal, and on each bot account whom the configuration lets in."""
    accounts = {(TERMINAL, agent): AccountPolicy(DirectPolicy.OWNER) for agent in config.agents}
    for name, bot in config.channels.telegram.items():
        groups = {chat: GroupPolicy(group.mention) for chat, group in bot.groups.items()}
        accounts[TELEGRAM, name] = AccountPolicy(DirectPolicy(bot.direct), groups)
    return Policy(frozenset({f"{TERMINAL}:{OWNER.id}", *config.owner.people}), accounts)


def routes_of(config: Config) -> Routes:
    """Return where messages go; each agent has a terminal of its own, which leads to no other."""
    terminals = [Binding(AgentId(agent), channel=TERMINAL, account=agent) for agent in config.agents]
    bindings = [
        Binding(AgentId(given.agent), given.channel, given.account, given.chat, given.thread, given.person)
        for given in config.bindings
    ]
    return Routes(
        [*terminals, *bindings],
        AgentId(config.default_agent),
        policy_of(config),
        user_file_in_groups=config.memory.user_file_in_groups,
    )


def terminals_of(config: Config) -> dict[AgentId, TerminalAdapter]:
    """Return a terminal for each agent."""
    return {AgentId(agent): TerminalAdapter(agent) for agent in config.agents}


def terminal_account(adapter: TerminalAdapter) -> Account:
    """Return the account of a terminal, which is always there."""

    async def build() -> Adapter:
        return adapter

    return Account(TERMINAL, adapter.account, build)


def bot_accounts(config: Config, environ: Mapping[str, str], count: Count) -> list[Account]:
    """Return the bot accounts; what each one's platform needs is loaded when it is built."""
    return [
        Account(TELEGRAM, name, partial(asyncio.to_thread, _telegram, name, bot, environ, count))
        for name, bot in config.channels.telegram.items()
    ]


def _telegram(account: str, bot: TelegramSettings, environ: Mapping[str, str], count: Count) -> Adapter:
    from adapters.telegram import TelegramAdapter  # seconds and 130 MB: on a thread, once the gateway is ready

    token = bot.token(account).read(environ)
    return TelegramAdapter(account, token, count, base_url=bot.base_url, poll_timeout_s=bot.poll_timeout_s)
