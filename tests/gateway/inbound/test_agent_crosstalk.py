"""How agents that sit in one group hear each other."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from adapters.channel import Address, ChatKind, InboundMessage, OverheardMessage, Sender, Via
from gateway.admission.gate import AdmissionGate
from gateway.admission.policy import AccountPolicy, DirectPolicy, GroupPolicy, Policy
from gateway.admission.rate_limits import Rates
from gateway.admission.routing import Binding, Routes, SessionKey
from gateway.agent.entries import ReplyEntry, Usage
from gateway.inbound.agent_crosstalk import AgentCrosstalk, holds_marked
from gateway.stores.rows import InboxRow, OutboxRow, Outgoing, TurnCommit, TurnId
from gateway.stores.sqlite.store import SqliteStore
from gateway.transcripts.store import Sessions
from tests.fakes.clock import START, ManualClock
from tests.fakes.memory import run_here
from tests.fakes.reception import reception_of
from workspaces.access import AgentId, SessionType

RED, BLUE = Address("telegram", "red", "-1", "4"), Address("telegram", "blue", "-1", "4")
ASKED = InboundMessage(RED, "1", Sender("8", "Sam"), ChatKind.GROUP, "what now?", True, START)


@dataclass
class Group:
    """A group in which two of our agents sit, each by a bot of its own."""

    store: SqliteStore
    group: GroupPolicy
    channel: str = "telegram"
    submitted: list[InboxRow] = field(default_factory=list)
    marked: bool = False
    """Its answers carry the mark `house`."""

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
        now = ManualClock().now
        door = AdmissionGate(policy, self.store, Rates(100, 100, now), now, lambda _: None)
        self.crosstalk = AgentCrosstalk(routes, self.store, now, self._is_marked)
        self.reception = reception_of(routes, self.store, lambda _, row: self.submitted.append(row), door)

    async def _is_marked(self, key: SessionKey, _: TurnId) -> bool:
        return self.marked and key.agent == "red"

    async def says(self, text: str, asked: InboundMessage = ASKED) -> None:
        """Let the agent whom *asked* was for answer it, and all be told."""
        asked = replace(asked, address=replace(asked.address, channel=self.channel))
        row = await self.store.inbox.append(asked)
        assert row is not None
        replies = await self.store.commit_turn(TurnCommit(row.turn_id, [row.id], [Outgoing(asked.address, text)]))
        await self.tell(row, list(replies))

    async def tell(self, row: InboxRow, replies: list[OutboxRow]) -> None:
        working = asyncio.ensure_future(self.crosstalk.work(self.reception.receive))
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
    assert group.submitted == []


async def test_an_answer_marked_house_is_passed_to_no_other_agent(store: SqliteStore) -> None:
    """Neither as context nor as a message: the other's model may run elsewhere."""
    group = Group(store, GroupPolicy(agents_talk=2, heard=5), marked=True)
    await group.says("@blue, the pin is 4711")
    assert (await group.heard("blue"), group.submitted) == ([], [])
    await group.says("@red, at ten", replace(ASKED, address=BLUE))
    assert len(group.submitted) == 1


async def test_the_mark_of_a_turn_is_read_from_its_conversation(tmp_path: Path) -> None:
    """An answer of it suffices."""
    key, usage = SessionKey(AgentId("red"), SessionType.MAIN), Usage()
    sessions = Sessions({AgentId("red"): tmp_path}, run_here)
    transcript = await sessions.open(key)
    await transcript.append(TurnId("t1"), ReplyEntry("the pin is 4711", (), "near", usage, is_house=True))
    await transcript.append(TurnId("t2"), ReplyEntry("at ten", (), "near", usage))
    assert [await holds_marked(sessions, key, TurnId(each)) for each in ("t1", "t2", "t3")] == [True, False, False]


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


async def test_agents_do_not_answer_each_other_unless_the_group_says_so(store: SqliteStore) -> None:
    """Not even when one names the other; it is context then, as everything."""
    group = Group(store, GroupPolicy(heard=5))
    await group.says("@blue, do you agree?")
    assert group.submitted == []
    assert await group.heard("blue") == ["red, another agent: @blue, do you agree?"]


async def test_agents_that_may_talk_stop_after_so_many_turns(store: SqliteStore) -> None:
    """Two turns, whoever has them; the rest is context; a human's word lets them go on."""
    group = Group(store, GroupPolicy(agents_talk=2, heard=5))
    await group.says("@blue, do you agree?")
    asked = [ASKED, *(replace(ASKED, address=each, id=f"{n}") for n, each in enumerate((BLUE, RED, BLUE), 2))]
    for said in asked[1:]:
        other = "red" if said.address == BLUE else "blue"
        await group.says(f"@{other}: no, @{other}", said)
    assert [(row.message.address.account, row.message.via) for row in group.submitted] == [
        ("blue", Via.AGENT),
        ("red", Via.AGENT),
    ]
    assert [(row.message.sender.name, row.message.sender.id) for row in group.submitted] == [("red", ""), ("blue", "")]
    assert (await store.report()).reasons == {"refused.loop_guard": 2}
    await group.reception.receive(replace(ASKED, id="7", text="go on", is_for_us=False))
    await group.says("@blue, then?", replace(ASKED, id="8"))
    assert len(group.submitted) == 3


@pytest.mark.parametrize(
    ("text", "is_to"),
    [
        ("@blue yes", True),
        ("yes, @Blue!", True),
        ("blue yes", False),
        ("@blues yes", False),
        ("me@blue", False),
        ("/new @blue", False),
        ("@blue-sky", False),
    ],
)
async def test_an_agent_names_the_other_to_speak_to_it(store: SqliteStore, text: str, is_to: bool) -> None:
    """By `@` and the account's name, as a word; what looks like an order is for nobody."""
    group = Group(store, GroupPolicy(agents_talk=5))
    await group.says(text)
    assert bool(group.submitted) is is_to


async def test_where_no_mention_is_needed_they_hear_everything(store: SqliteStore) -> None:
    """As people do there; and an adapter's bot cannot pass as an agent."""
    group = Group(store, GroupPolicy(mention=False, agents_talk=5))
    await group.says("yes")
    assert [row.message.text for row in group.submitted] == ["yes"]
    bot = replace(ASKED, id="9", address=BLUE, sender=Sender("9", "red", is_bot=True))
    assert await group.reception.receive(bot) == "bot"
    assert (await store.overheard.of(BLUE)).heard == tuple[OverheardMessage, ...]()
