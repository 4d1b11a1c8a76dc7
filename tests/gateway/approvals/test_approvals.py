"""Changes that wait are told once, made exactly as shown with the owner's authority, or dropped; also after a crash."""

import errno
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path, PurePosixPath

import pytest
from msgspec import structs

from adapters.channel import Address
from gateway.agent.agent import Agent
from gateway.agent.write_policy import ApprovalReason
from gateway.approvals.approvals import MOST_WAITING, Approvals, TurnApprovalSink
from gateway.errors import ApprovalError, StoreError, ToolError
from gateway.runtime.threads import Threads
from gateway.schedule.jobs import JobSchedule
from gateway.stores.rows import ChangeId, ChangeState, OutboxRow
from gateway.stores.sqlite.store import SqliteStore
from tests.fakes.approvals import jobs_of
from tests.fakes.clock import ManualClock
from tests.fakes.memory import HandlerWorker, WordsEmbedder
from tests.fakes.model import ScriptedModel
from tests.fakes.recording import history_writer_of
from tests.workspaces.turns import AGENT, MAIN, OTHER
from workspaces.access import AgentId
from workspaces.errors import NotTextError, TooLargeError
from workspaces.history import LogQuery, Origin
from workspaces.memory.search import MemoryIndex
from workspaces.memory.source_index import MemoryClock
from workspaces.workspace import Workspace

OWNERS_CHAT = Address("telegram", "home", "7")
ORIGIN = Origin("main/main", "41", "t41")
DAY_S = 86_400.0


class Disk:
    """A checkpoint of the store that finds the disk full as soon as a file holds a text."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.place: Path | None = None
        self._text = ""

    def fills_when(self, path: str, text: str) -> None:
        self.place, self._text = self._root / path, text

    def __call__(self, _step: str, size: int, /) -> int:
        if self.place is not None and self.place.read_text() == self._text:
            raise OSError(errno.ENOSPC, "full")
        return size


@dataclass
class House:
    """An agent with a store and a history, and what was told to its owner."""

    root: Path
    store: SqliteStore
    clock: ManualClock
    agent: Agent
    disk: Disk
    woken: list[OutboxRow] = field(default_factory=list)

    @property
    def approvals(self) -> Approvals:
        """As a process finds them after a start."""
        return Approvals({AGENT: self.agent}, self.store, self.expiry, self.woken.extend, self.jobs)

    @property
    def jobs(self) -> JobSchedule:
        return jobs_of(self.store, self.clock.now)

    def expiry(self) -> datetime:
        return self.clock.now() + timedelta(days=7)

    @property
    def approval_sink(self) -> TurnApprovalSink:
        return self.approvals.approval_sink(AGENT, ORIGIN, OWNERS_CHAT)

    async def proposes(
        self, path: str, before: str | None, after: str | None, reason: ApprovalReason = ApprovalReason.UNTRUSTED
    ) -> int:
        return await self.approval_sink.propose(PurePosixPath(path), before, after, reason)

    def put(self, path: str, text: str | bytes) -> None:
        """Write a file as the owner's editor does."""
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode() if isinstance(text, str) else text)

    def text(self, path: str) -> str | None:
        place = self.root / path
        return place.read_text() if place.exists() else None

    async def told(self) -> list[str]:
        return [row.outgoing.text for row in await self.store.outbox.unfinished()]

    async def state(self, number: int) -> ChangeState:
        change = await self.store.changes.get(ChangeId(number))
        assert change is not None
        return change.state


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    clock = ManualClock()
    disk = Disk(tmp_path / "workspace")
    store = await SqliteStore.open(tmp_path / "state.db", clock=clock, checkpoint=disk)
    threads = Threads("test")
    workspace = Workspace.create(tmp_path / "workspace", AGENT)
    history_writer = history_writer_of(workspace, tmp_path, threads, clock.now, store.count)
    workspace.folder.follow(history_writer.hear)
    await history_writer.begin()
    times = MemoryClock(lambda: 0.0, lambda: clock.now().date())
    memory = MemoryIndex(AGENT, tmp_path / "index", [], HandlerWorker(WordsEmbedder()), threads, times)
    agent = Agent(AGENT, workspace, memory, ScriptedModel(), threads, history_writer)
    yield House(tmp_path / "workspace", store, clock, agent, disk)
    workspace.folder.close()
    threads.close()
    await store.close()


@pytest.mark.parametrize("marked", ["", " #house"])
async def test_a_chat_app_that_may_carry_no_marked_text_is_shown_no_difference(house: House, marked: str) -> None:
    """While any file is marked: which lines a difference quotes depends on the file."""
    house.put("notes.md", f"- the vault opens with heron{marked}\n")
    agents, wakes = {AGENT: house.agent}, house.woken.extend
    strict = Approvals(agents, house.store, house.expiry, wakes, house.jobs, may_carry=lambda _: False)
    sink = strict.approval_sink(AGENT, ORIGIN, OWNERS_CHAT)
    await sink.propose(PurePosixPath("AGENTS.md"), None, "- be kind\n", ApprovalReason.UNTRUSTED)
    told = house.woken[-1].outgoing.text
    assert ("be kind" in told) is not bool(marked)
    assert ("withheld here" in told) is bool(marked)


async def test_a_change_is_told_once_where_the_owner_asked(house: House) -> None:
    """With number and difference; the same change again is the same number, and nobody is told twice."""
    assert await house.proposes("MEMORY.md", None, "- Sam owns all.\n") == 1
    assert await house.proposes("MEMORY.md", None, "- Sam owns all.\n") == 1
    (row,) = house.woken
    assert row.outgoing.address == OWNERS_CHAT
    assert "+- Sam owns all." in row.outgoing.text
    assert "**#1**" in row.outgoing.text
    assert "the conversation holds text that others wrote" in row.outgoing.text
    assert len(await house.told()) == 1
    assert (await house.store.report()).reasons == {"approval_asked.untrusted": 1}
    assert house.text("MEMORY.md") == (await a_template())


async def a_template() -> str | None:
    """Return the text that a new agent's memory begins with."""
    return (Path(__file__).parents[3] / "workspaces/templates/MEMORY.md").read_text()


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("SOUL.md", "old\n", "new\n"),
        ("skills/sail/SKILL.md", None, "hoist\n"),
        ("TOOLS.md", "gone soon\r\nand this\n", None),
        (f"{OTHER}/2026-03-01.md", "- 09:00 theirs\n", "- 09:00 mine\n"),
        ("MEMORY.md", "\ufeffodd\n", "\ufeffodd\n- even\n"),
    ],
)
async def test_an_approved_change_is_made_exactly_and_says_whose_it_was(
    house: House, path: str, before: str | None, after: str | None
) -> None:
    """The file has the very bytes; the commit names session, message and turn, and who approved."""
    if before is not None:
        house.put(path, before)
    number = await house.proposes(path, before, after)
    outcome = await house.approvals.approve(number)
    place = house.root / path
    assert (place.read_bytes() if place.exists() else None) == (after.encode() if after is not None else None)
    assert outcome == f"{path} {'deleted' if after is None else 'written'}, as approved in #{number}"
    assert await house.state(number) is ChangeState.APPROVED
    history = await house.agent.history_writer.history()
    (newest, *_) = history.view(MAIN).log(LogQuery(PurePosixPath(path)))
    assert newest.origin == structs.replace(ORIGIN, approved_by="owner")


async def test_a_decided_change_is_not_decided_again(house: House) -> None:
    """Whichever way it went first, the second word says so and changes nothing."""
    house.put("SOUL.md", "old\n")
    approved, refused = await house.proposes("SOUL.md", "old\n", "new\n"), await house.proposes("TOOLS.md", None, "x\n")
    await house.approvals.approve(approved)
    assert await house.approvals.refuse(refused) == "#2 refused; TOOLS.md stays as it is"
    house.put("SOUL.md", "the owner's own\n")
    for number, how in ((approved, "approved"), (refused, "refused")):
        for decide in (house.approvals.approve, house.approvals.refuse):
            with pytest.raises(ApprovalError, match=f"#{number} of .* was {how} already"):
                await decide(number)
    assert house.text("SOUL.md") == "the owner's own\n"
    with pytest.raises(ApprovalError, match="no change #9"):
        await house.approvals.approve(9)


@pytest.mark.parametrize("now", ["old\nand the owner's line\n", None, ""])
async def test_a_file_that_changed_meanwhile_stays_and_the_change_waits_on(house: House, now: str | None) -> None:
    """The owner's bytes are never lost; with the old text back, the same approval works."""
    house.put("SOUL.md", "old\n")
    number = await house.proposes("SOUL.md", "old\n", "new\n")
    if now is None:
        (house.root / "SOUL.md").unlink()
    else:
        house.put("SOUL.md", now)
    with pytest.raises(ApprovalError, match="changed since change #1 was proposed") as refused:
        await house.approvals.approve(number)
    assert ("+and the owner's line" in str(refused.value)) is (now is not None and "line" in now)
    assert house.text("SOUL.md") == now
    assert await house.state(number) is ChangeState.WAITING
    house.put("SOUL.md", "old\n")
    await house.approvals.approve(number)
    assert house.text("SOUL.md") == "new\n"


async def test_a_file_that_cannot_be_read_is_left_alone(house: House) -> None:
    """Bytes that are no text stay, and the change waits."""
    house.put("SOUL.md", "old\n")
    number = await house.proposes("SOUL.md", "old\n", "new\n")
    house.put("SOUL.md", b"\xff\xfe")
    with pytest.raises(NotTextError):
        await house.approvals.approve(number)
    assert (house.root / "SOUL.md").read_bytes() == b"\xff\xfe"
    assert await house.state(number) is ChangeState.WAITING


async def test_a_week_later_nothing_can_be_approved(house: House) -> None:
    """It is not listed any more, and the attempt says why."""
    house.put("SOUL.md", "old\n")
    number = await house.proposes("SOUL.md", "old\n", "new\n")
    house.clock.advance(7 * DAY_S)
    assert await house.approvals.waiting() == []
    for decide in (house.approvals.approve, house.approvals.refuse):
        with pytest.raises(ApprovalError, match=r"#1 of SOUL\.md has expired"):
            await decide(number)
    assert house.text("SOUL.md") == "old\n"


async def test_a_crash_between_the_file_and_the_store_is_mended_by_deciding_again(house: House) -> None:
    """The file is written once; the second approval finds it so, and notes it."""
    house.put("SOUL.md", "old\n")
    number = await house.proposes("SOUL.md", "old\n", "new\n")
    house.disk.fills_when("SOUL.md", "new\n")
    with pytest.raises(StoreError, match="full"):
        await house.approvals.approve(number)
    house.disk.place = None
    assert (house.text("SOUL.md"), await house.state(number)) == ("new\n", ChangeState.WAITING)
    written = (house.root / "SOUL.md").stat().st_mtime_ns
    await house.approvals.approve(number)
    assert (house.root / "SOUL.md").stat().st_mtime_ns == written
    assert await house.state(number) is ChangeState.APPROVED
    history = await house.agent.history_writer.history()
    origins = [commit.origin for commit in history.view(MAIN).log(LogQuery(PurePosixPath("SOUL.md"))) if commit.origin]
    assert origins == [structs.replace(ORIGIN, approved_by="owner")]


async def test_changes_of_one_file_follow_each_other(house: House) -> None:
    """Each is made from the one before; out of order the second is refused, in order both are made."""
    house.put("MEMORY.md", "one\n")
    assert (await house.approval_sink.standing(PurePosixPath("MEMORY.md"), "one\n")).waiting is None
    first = await house.proposes("MEMORY.md", "one\n", "one\ntwo\n")
    standing = await house.approval_sink.standing(PurePosixPath("MEMORY.md"), "one\n")
    assert (standing.text, standing.waiting) == ("one\ntwo\n", first)
    second = await house.proposes("MEMORY.md", standing.text, "one\ntwo\nthree\n")
    with pytest.raises(ApprovalError):
        await house.approvals.approve(second)
    assert house.text("MEMORY.md") == "one\n"
    await house.approvals.approve(first)
    await house.approvals.approve(second)
    assert house.text("MEMORY.md") == "one\ntwo\nthree\n"


async def test_notes_that_wait_do_not_depend_on_those_before_them(house: House) -> None:
    """One of three is refused, and the owner adds a line: the others are added where they were shown, once."""
    head, tail = "# Memory\n\n## Projects\n\n- fair\n", "\n## Notes\n\n- key\n"
    texts = [f"{head}{added}{tail}" for added in ("", "- one\n", "- one\n- two\n", "- one\n- two\n- three\n")]
    house.put("MEMORY.md", texts[0])
    proposed = [await house.proposes("MEMORY.md", before, after) for before, after in pairwise(texts)]
    first, second, third = proposed
    await house.approvals.refuse(first)
    house.put("MEMORY.md", f"{texts[0]}- alarm\n")
    await house.approvals.approve(third)
    await house.approvals.approve(second)
    assert house.text("MEMORY.md") == f"{head}- two\n- three\n{tail}- alarm\n"


async def test_another_change_of_memory_is_made_of_the_text_that_was_shown_alone(house: House) -> None:
    """An item that is reworded, and one whose heading has gone, wait; so does an addition to any other file."""
    house.put("MEMORY.md", "## A\n\n- a\n\n## B\n\n- b\n")
    reworded = await house.proposes("MEMORY.md", house.text("MEMORY.md"), "## A\n\n- c\n\n## B\n\n- b\n")
    below = await house.proposes("MEMORY.md", house.text("MEMORY.md"), "## A\n\n- a\n\n## B\n\n- b\n- d\n")
    house.put("AGENTS.md", "- be kind\n")
    behaviour = await house.proposes("AGENTS.md", "- be kind\n", "- be kind\n- be quick\n")
    house.put("MEMORY.md", "## A\n\n- z\n")
    house.put("AGENTS.md", "- be kind\n- be slow\n")
    for number in (reworded, below, behaviour):
        with pytest.raises(ApprovalError, match="has changed since"):
            await house.approvals.approve(number)
    assert house.text("MEMORY.md") == "## A\n\n- z\n"


async def test_what_the_owner_wrote_meanwhile_is_what_the_next_change_is_made_from(house: House) -> None:
    """A change that has become impossible does not stand in the way of later ones."""
    await house.proposes("MEMORY.md", "one\n", "one\ntwo\n")
    house.put("MEMORY.md", "the owner's\n")
    standing = await house.approval_sink.standing(PurePosixPath("MEMORY.md"), "the owner's\n")
    assert (standing.text, standing.waiting) == ("the owner's\n", None)
    second = await house.proposes("MEMORY.md", standing.text, "the owner's\ntwo\n")
    await house.approvals.approve(second)
    assert house.text("MEMORY.md") == "the owner's\ntwo\n"


async def test_an_owner_is_not_flooded(house: House) -> None:
    """Beyond twenty that wait nothing is kept and nobody is told, until one is decided."""
    for number in range(MOST_WAITING):
        await house.proposes(f"skills/{number}.md", None, "x\n")
    with pytest.raises(ToolError, match="20 changes already wait"):
        await house.proposes("SOUL.md", None, "x\n")
    assert len(await house.told()) == MOST_WAITING
    await house.approvals.refuse(1)
    assert await house.proposes("SOUL.md", None, "x\n") == MOST_WAITING + 1


@pytest.mark.parametrize(("text", "error"), [("a\0b", NotTextError), ("x" * 3_000_000, TooLargeError)])
async def test_what_is_never_stored_does_not_wait(house: House, text: str, error: type[Exception]) -> None:
    """The model is told at once, not the owner a day later."""
    with pytest.raises(error):
        await house.proposes("SOUL.md", None, text)
    assert await house.told() == []


async def test_another_agents_changes_are_apart(house: House) -> None:
    """By number, in lists and for what follows what."""
    number = await house.proposes("SOUL.md", "old\n", "new\n")
    other = AgentId("other")
    assert await house.approvals.waiting(other) == []
    for ask in (house.approvals.get, house.approvals.approve, house.approvals.refuse):
        with pytest.raises(ApprovalError, match="no change #1"):
            await ask(number, other)
    theirs = structs.replace(house.approval_sink, agent=other)
    assert (await theirs.standing(PurePosixPath("SOUL.md"), "theirs\n")).text == "theirs\n"


async def test_a_change_of_an_agent_that_is_gone_is_told(house: House) -> None:
    """Its owner took it out of the configuration: nothing is written anywhere."""
    number = await house.proposes("SOUL.md", "old\n", "new\n")
    empty = Approvals({}, house.store, house.expiry, house.woken.extend, house.jobs)
    with pytest.raises(ApprovalError, match="not configured"):
        await empty.approve(number)
    assert await house.state(number) is ChangeState.WAITING
