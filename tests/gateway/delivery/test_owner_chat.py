"""Chat for messages to the owner that answer nobody."""

from dataclasses import replace

import pytest

from adapters.channel import Address, ChatKind, InboundMessage, Sender
from gateway.admission.internal_channels import NOBODY, heartbeat_address
from gateway.admission.routing import route
from gateway.app.channels import reach_of, routes_of, terminal_chat
from gateway.config import Config
from gateway.delivery.owner_chat import OwnerChats
from gateway.stores.sqlite.store import SqliteStore
from strandline.testing.adapter import message
from workspaces.access import AgentId

MAIN, WORK = AgentId("main"), AgentId("work")
BOTS = {
    "telegram": {"home": {"token_env": "T"}, "office": {"token_env": "T"}},
    "discord": {"home": {"token_env": "T"}},
}
CONFIG = {
    "owner": {"people": ["telegram:7", "discord:70"]},
    "agents": {"main": {}, "work": {}},
    "channels": BOTS,
    "bindings": [{"agent": "work", "channel": "telegram", "account": "office"}],
    "web": {"enabled": True},
}
PHONE = Address("telegram", "home", "7")
OFFICE = Address("telegram", "office", "7")
DISCORD = Address("discord", "home", "5550")


def chats(store: SqliteStore, **changed: object) -> OwnerChats:
    config = Config.model_validate(CONFIG | changed)
    routes = routes_of(config)
    return OwnerChats(store, routes, reach_of(config, routes), terminal_chat)


async def learn(known: OwnerChats, message: InboundMessage, **changed: object) -> None:
    """Tell *known* of *message*, routed by the configuration."""
    routes = routes_of(Config.model_validate(CONFIG | changed))
    await known.learn(message, route(message, routes).key.agent)


def said(address: Address, person: str, kind: ChatKind = ChatKind.DIRECT) -> InboundMessage:
    return replace(message("hello", id="1"), address=address, sender=Sender(person, "Somebody"), kind=kind)


async def test_telegrams_chat_is_known_before_anybody_wrote(store: SqliteStore) -> None:
    """It has the person's id; each agent is heard by its own bot, if it has one."""
    assert await chats(store).of(MAIN) == PHONE
    assert await chats(store).of(WORK) == OFFICE


async def test_discords_chat_is_named_by_the_person_until_they_write(store: SqliteStore) -> None:
    """The adapter opens it; once the owner wrote, it has its own id."""
    known = chats(store, channels={"discord": BOTS["discord"]}, bindings=[])
    assert await known.of(MAIN) == Address("discord", "home", "@70")
    await known.learn(said(DISCORD, "70"), MAIN)
    assert await known.of(MAIN) == DISCORD


async def test_a_bot_that_the_owner_never_wrote_to_leaves_its_notices_to_one_that_they_did(store: SqliteStore) -> None:
    """Telegram refuses what a bot sends before it was started, so a pairing request there would reach nobody."""
    known = chats(store)
    await learn(known, said(PHONE, "7"))
    assert await known.of(WORK) == PHONE
    assert known.known(WORK) == PHONE
    await learn(known, said(OFFICE, "7"))
    assert await known.of(WORK) == OFFICE


async def test_the_latest_direct_chat_with_the_agent_is_kept_through_a_restart(store: SqliteStore) -> None:
    """Each agent's own; a chat that is told again changes nothing."""
    known = chats(store)
    for address, person in ((PHONE, "7"), (DISCORD, "70"), (OFFICE, "7")):
        await learn(known, said(address, person))
    assert await chats(store).of(MAIN) == DISCORD
    assert await chats(store).of(WORK) == OFFICE
    await learn(known, said(PHONE, "7"))
    assert await known.of(MAIN) == PHONE


@pytest.mark.parametrize(
    "heard",
    [
        said(Address("telegram", "home", "-100"), "7", ChatKind.GROUP),
        said(Address("discord", "home", "9"), "9"),
        said(Address("discord", "gone", "5550"), "70"),
        said(heartbeat_address(MAIN), NOBODY.id),
    ],
)
async def test_no_group_no_guest_and_no_clock_becomes_the_owners_chat(
    store: SqliteStore, heard: InboundMessage
) -> None:
    """Whoever wrote last: what is private goes where only the owner reads."""
    known = chats(store)
    await learn(known, heard)
    assert await known.of(MAIN) == PHONE


async def test_who_is_no_longer_the_owner_is_told_nothing_more(store: SqliteStore) -> None:
    """What was learned of them is not used any more."""
    await learn(chats(store), said(DISCORD, "70"))
    assert await chats(store, owner={"people": ["telegram:7"]}).of(MAIN) == PHONE


async def test_a_pinned_account_is_the_only_one(store: SqliteStore) -> None:
    """As long as its chat is not known, nothing is said anywhere."""
    pinned = {"people": ["telegram:7"], "deliver": "discord:home"}
    assert await chats(store, owner=pinned).of(MAIN) is None
    pinned = CONFIG["owner"] | {"deliver": "discord:home"}  # type: ignore[operator]
    await learn(chats(store), said(DISCORD, "70"))
    await learn(chats(store), said(PHONE, "7"))
    assert await chats(store, owner=pinned).of(MAIN) == DISCORD


async def test_without_a_bot_the_agents_own_page_is_told_and_else_its_terminal(store: SqliteStore) -> None:
    """A page is no place for another agent's words; what a terminal is told waits for somebody who looks."""
    alone: dict[str, object] = {"channels": {}, "bindings": [], "owner": {}}
    assert await chats(store, **alone).of(MAIN) == terminal_chat(MAIN)
    page = Address("web", "main", "owner")
    await learn(chats(store, **alone), said(page, "0"), **alone)
    assert await chats(store, **alone).of(MAIN) == page
    assert await chats(store, **alone).of(WORK) == terminal_chat(WORK)
    await learn(chats(store), said(page, "0"))
    assert await chats(store).of(MAIN) == PHONE


def test_a_page_is_chosen_only_for_its_own_agent() -> None:
    """The reach names an account of each."""
    config = Config.model_validate(CONFIG)
    assert ("web", "work") in reach_of(config, routes_of(config)).pages
