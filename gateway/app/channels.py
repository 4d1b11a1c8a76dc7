"""Builds policies, routes and accounts from the configured channels."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial

from adapters.abilities import Keeps
from adapters.channel import Adapter, Address, ChannelError, ChatKind, Count, InboundMessage, Sender
from adapters.http import CHANNEL as HTTP
from adapters.http import HttpAdapter
from adapters.spoken import CHAT, OWNER
from adapters.terminal import CHANNEL as TERMINAL
from adapters.terminal import TerminalAdapter
from adapters.web import CHANNEL as WEB
from adapters.web import WebAdapter
from gateway.admission.internal_channels import CHANNELS
from gateway.admission.policy import AccountPolicy, DirectPolicy, GroupPolicy, Policy
from gateway.admission.routing import Binding, Routes, principal, route
from gateway.channels.containment import contain
from gateway.channels.settings import GroupSettings
from gateway.config import BotSettings, ChannelResources, Config, WebSettings
from gateway.config.web import ApiTokenSettings
from gateway.delivery.owner_chat import OwnerChat, Reach
from gateway.errors import ConfigError
from gateway.inbound.listener import BotAccount, MayListen
from gateway.plugins import CHANNELS as CHANNEL_PLUGINS
from gateway.plugins import plugins
from workspaces.access import AgentId


def policy_of(config: Config) -> Policy:
    """Return the policy: the owner at every terminal, and the configured people on each bot account."""
    accounts = {(TERMINAL, agent): AccountPolicy(DirectPolicy.OWNER) for agent in config.agents}
    accounts |= {(inner, agent): AccountPolicy(DirectPolicy.INNER) for inner in CHANNELS for agent in config.agents}
    for name, bot in config.channels.bots():
        if not bot.fault(name):
            accounts[bot.channel, name] = _bot_policy(bot)
    accounts |= dict.fromkeys(unclaimed(config), AccountPolicy(DirectPolicy.CLAIM))
    owners = {f"{TERMINAL}:{OWNER.id}", *config.owner.people}
    for name, held in held_tokens(config.web):
        agents = frozenset(config.agents if held.owner else held.agents)
        accounts[HTTP, name] = AccountPolicy(DirectPolicy.TOKEN, agents=agents)
        owners |= {f"{HTTP}:{name}"} if held.owner else set()
    if config.web.enabled:
        accounts |= {(WEB, agent): AccountPolicy(DirectPolicy.OWNER) for agent in config.agents}
        owners.add(f"{WEB}:{OWNER.id}")
    return Policy(frozenset(owners), accounts)


def unclaimed(config: Config) -> list[tuple[str, str]]:
    """Return the bot accounts to which nobody may talk directly and that were not closed on purpose.

    They have no owner yet. Pairing that is set in the file does without one.
    """
    channels = {person.partition(":")[0] for person in config.owner.people}
    return [
        (bot.channel, name)
        for name, bot in config.channels.bots()
        if not bot.fault(name)
        and bot.channel not in channels
        and not bot.people
        and ("direct" not in bot.model_fields_set or bot.direct == "owner")
    ]


def _bot_policy(bot: BotSettings) -> AccountPolicy:
    groups = {
        chat: GroupPolicy(
            group.mention,
            frozenset(group.people),
            group.bots,
            group.bot_turns,
            group.agents_talk,
            bot.heard if group.heard is None else group.heard,
            _enders(group),
        )
        for chat, group in bot.groups.items()
    }
    return AccountPolicy(DirectPolicy(bot.direct), groups, frozenset(bot.people))


def _enders(group: GroupSettings) -> frozenset[str] | None:
    """Return the people who may end its conversation besides the owner; `None`: everybody."""
    match group.may_end:
        case "owner":
            return frozenset()
        case "everyone":
            return None
        case people:
            return frozenset(people)


def held_tokens(web: WebSettings) -> Iterable[tuple[str, ApiTokenSettings]]:
    """Return the API tokens by name; none while the HTTP server is off."""
    return web.tokens.items() if web.enabled else ()


def routes_of(config: Config) -> Routes:
    """Return the routes; each agent has a terminal and a page of its own, which lead to no other."""
    own = [
        Binding(AgentId(agent), channel=channel, account=agent)
        for agent in config.agents
        for channel in (TERMINAL, WEB)
    ]
    programs = [
        Binding(AgentId(agent), channel=HTTP, account=name, thread=agent)
        for name, _ in held_tokens(config.web)
        for agent in config.agents
    ]
    return Routes(
        [*own, *programs, *config.bindings],
        AgentId(config.default_agent),
        policy_of(config),
        user_file_in_groups=config.memory.user_file_in_groups,
        full_heartbeats=frozenset(AgentId(name) for name, each in config.agents.items() if not each.heartbeat.light),
    )


def reach_of(config: Config, routes: Routes) -> Reach:
    """Return the owner's configured chats for notices and results of unprompted work."""
    bots = frozenset((bot.channel, name) for name, bot in config.channels.bots())
    pages = frozenset((channel, agent) for channel in (TERMINAL, WEB) for agent in config.agents)
    channel, _, account = (config.owner.deliver or "").partition(":")
    return Reach(bots, pages, tuple(_known_chats(config, routes)), (channel, account) if account else None)


def _known_chats(config: Config, routes: Routes) -> Iterator[OwnerChat]:
    """Yield the owner's direct chats in which a bot can write first."""
    for account, bot in config.channels.bots():
        for person in config.owner.people:
            channel, _, id_ = person.partition(":")
            if channel == bot.channel and (chat := bot.first_chat(id_)):
                address = Address(channel, account, chat)
                said = InboundMessage(address, "", Sender(id_, ""), ChatKind.DIRECT, "", True, datetime.now(UTC))
                yield OwnerChat(route(said, routes).key.agent, principal(said), address)


def terminal_chat(agent: AgentId) -> Address:
    return Address(TERMINAL, agent, CHAT)


def terminals_of(config: Config) -> dict[AgentId, TerminalAdapter]:
    return {AgentId(agent): TerminalAdapter(agent) for agent in config.agents}


def reaction_of(config: Config) -> str:
    """Return the reaction to a message that is being answered; empty for none."""
    return "" if config.signs.reaction == "off" else config.signs.reaction


def web_accounts(config: Config) -> list[BotAccount]:
    """Return the accounts of the HTTP server: one per token, and one per page.

    Any of several gateways may serve them.
    """
    pages = [open_account(WebAdapter(agent)) for agent in config.agents] if config.web.enabled else []
    return [*(open_account(HttpAdapter(name)) for name, _ in held_tokens(config.web)), *pages]


def open_account(adapter: Adapter) -> BotAccount:
    """Return the account of *adapter*, which is always available."""

    async def build() -> Adapter:
        return adapter

    return BotAccount(adapter.channel, adapter.account, build)


def bot_accounts(
    config: Config, environ: Mapping[str, str], count: Count, keeps: Keeps, may_listen: MayListen | None = None
) -> list[BotAccount]:
    """Return the bot accounts; each platform's library loads when its account is built."""
    return [
        BotAccount(
            bot.channel,
            name,
            partial(asyncio.to_thread, adapter_of, name, bot, environ, count, keeps),
            may_listen=may_listen,
        )
        for name, bot in config.channels.bots()
    ]


def adapter_of(
    account: str, bot: BotSettings, environ: Mapping[str, str], count: Count, keeps: Keeps | None = None
) -> Adapter:
    """Load the platform's SDK, which takes up to a second and 45 MB: on a thread, once the gateway is ready.

    Raises ConfigError for an invalid policy, a missing token, and whatever fails in a plug-in.
    """
    if fault := bot.fault(account):
        raise ConfigError(fault)
    plugin = plugins(CHANNEL_PLUGINS)[bot.channel]
    try:
        adapter = bot.open(account, ChannelResources(environ, count, keeps))
        return adapter if plugin.is_built_in else contain(adapter, plugin)
    except (ConfigError, ChannelError):
        raise
    except Exception as exc:  # code of strangers: whatever it raises, the other accounts work
        raise plugin.failure(exc, f"cannot open channels.{bot.channel}.{account}") from exc
