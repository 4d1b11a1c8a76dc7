"""How agents that sit in one group hear each other."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from adapters.channel import Address, ChatKind, InboundMessage, Sender
from gateway.admission.policy import AccountPolicy, DirectPolicy, GroupPolicy, Policy
from gateway.admission.routing import Binding, Routes
from gateway.inbound.agent_crosstalk import AgentCrosstalk
from gateway.stores.rows import InboxRow, OutboxRow, Outgoing, TurnCommit
from gateway.stores.sqlite.store import SqliteStore
from tests.fakes.clock import START, ManualClock
from workspaces.access import AgentId

RED, BLUE = Address("telegram", "red", "-1", "4"), Address("telegram", "blue", "-1", "4")
ASKED = InboundMessage(RED, "1", Sender("8", "Sam"), ChatKind.GROUP, "what now?", True, START)


@dataclass
class Group:
    """A group in which two of our agents sit, each by a bot of its own."""

    store: SqliteStore
    group: GroupPolicy
    channel: str = "telegram"

    def __post_init__(self) -> None:
        groups = {"-1": self.group}
        policy = Policy(
            frozenset(),
            {
                (self.channel, "red"): AccountPolicy(DirectPolicy.OWNER, groups),
                (self.channel, "blue"): AccountPolicy(DirectPolicy.OWNER, groups),
                (self.channel, "elsewhere"): AccountPolicy(DirectPolicy.OWNER, {"-2": self.group}),
                ("other", "blue"): AccountPolicy(DirectPolicy.OWNER, groups),
            },
        )
        routes = Routes([Binding(AgentId(each), account=each) for each in ("red", "blue")], AgentId("main"), policy)
        self.crosstalk = AgentCrosstalk(routes, self.store, ManualClock().now)

    async def says(self, text: str, asked: InboundMessage = ASKED) -> None:
        """Let the agent whom *asked* was for answer it, and all be told."""
        asked = replace(asked, address=replace(asked.address, channel=self.channel))
        row = await self.store.inbox.append(asked)
        assert row is not None
        replies = await self.store.commit_turn(TurnCommit(row.turn_id, [row.id], [Outgoing(asked.address, text)]))
        await self.tell(row, list(replies))

    async def tell(self, row: InboxRow, replies: list[OutboxRow]) -> None:
        working = asyncio.ensure_future(self.crosstalk.work())
        self.crosstalk.committed(row, replies)
        await self.crosstalk.told()
        working.cancel()
        await asyncio.wait([working])

    async def heard(self, account: str) -> list[str]:
        address = Address(self.channel, account, "-1", "4")
        return [f"{each.author}: {each.text}" for each in (await self.store.overheard.of(address)).heard]


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = await SqliteStore.open(tmp_path / "state.db", clock=ManualClock())
    yield store
    await store.close()


async def test_an_agents_answer_is_context_for_the_others_in_its_group(store: SqliteStore) -> None:
    """Each at its own account, as another's words; not for itself, not elsewhere, not on another platform."""
    group = Group(store, GroupPolicy(heard=5))
    await group.says("At ten.")
    assert (await group.heard("blue"), await group.heard("red")) == (["red, another agent: At ten."], [])
    for address in (
        Address("other", "blue", "-1", "4"),
        Address("telegram", "elsewhere", "-2"),
        replace(BLUE, thread=None),
    ):
        assert (await store.overheard.of(address)).heard == ()


async def test_where_bots_are_shown_to_each_other_the_platform_tells(store: SqliteStore) -> None:
    """On Discord the gateway steps in only while bots are ignored there."""
    for bots, told in ((True, []), (False, ["red, another agent: At ten."])):
        group = Group(store, GroupPolicy(heard=5, bots=bots), channel="discord")
        await group.says("At ten.", replace(ASKED, id=str(bots)))
        assert await group.heard("blue") == told


async def test_what_is_said_in_a_direct_chat_stays_there(store: SqliteStore) -> None:
    """No neighbour hears it, whatever its id looks like."""
    group = Group(store, GroupPolicy(heard=5))
    await group.says("private", replace(ASKED, kind=ChatKind.DIRECT))
    assert await group.heard("blue") == []


async def test_agents_do_not_answer_each_other(store: SqliteStore) -> None:
    """Not even when one names the other; it is context then, as everything."""
    group = Group(store, GroupPolicy(heard=5))
    await group.says("@blue, do you agree?")
    assert not await store.inbox.waiting()
    assert await group.heard("blue") == ["red, another agent: @blue, do you agree?"]
