"""What was known on an earlier day is found in the history, by whoever may know it, and nothing is left behind."""

import asyncio
from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from pathlib import Path, PurePosixPath

import pytest

from tests.fakes.memory import TODAY, HandlerWorker, KilledError, SetClock, WordsEmbedder, run_here
from tests.workspaces import turns
from tests.workspaces.history.home import ORIGIN, START, Home
from tests.workspaces.turns import AGENT, GROUP, GUEST, MAIN, OTHER, OWN
from workspaces.access import Access, AgentId, Locality, SessionType, read_by
from workspaces.history import LineOrigins
from workspaces.memory.as_of import EarlierNotes, Lookback
from workspaces.memory.client import MemoryUnavailableError
from workspaces.memory.exact_search import ExactQuery
from workspaces.memory.query import Query
from workspaces.memory.search import MemoryIndex
from workspaces.memory.search_result import SearchResult
from workspaces.memory.source_index import QueryRefusedError
from workspaces.memory.wire import AS_OF, Frame
from workspaces.memory.workspace_source import WorkspaceNotes

FIRST, SECOND = START.date(), START.date() + timedelta(days=2)
THIRD = SECOND + timedelta(days=2)


class House:
    """An agent's notes with their history, and an index of them as they are now."""

    def __init__(self, root: Path) -> None:
        self.home = Home(root)
        self.history = self.home.open()
        self.origins = LineOrigins()
        self.embedder = WordsEmbedder()
        self.worker = HandlerWorker(self.embedder)
        self.folder = root / "index"
        source, clock = WorkspaceNotes(self.home.workspace.folder), SetClock().clock()
        self.index = MemoryIndex(AGENT, self.folder, [source], self.worker, run_here, clock)
        self.index.past = Lookback(
            AGENT, self.folder, self.texts_on, self.worker, run_here, clock.monotonic, held=self.origins.held_house
        )

    async def texts_on(self, day: date, access: Access) -> Mapping[PurePosixPath, str]:
        return self.history.as_of(day, access)

    def write(self, day: date, **notes: str) -> None:
        """Write notes (`__` stands for a slash, no ending) on *day*."""
        self.home.clock.now = START + (day - START.date())
        paths = [self.home.put(f"{name.replace('__', '/')}.md", text) for name, text in notes.items()]
        self.history.record(paths, None, ORIGIN)
        self.history.trace(self.origins)
        self.index.touched()

    async def asked(self, day: date, text: str = "tea", access: Access = MAIN) -> SearchResult:
        return await self.index.search(Query(text, as_of=day), access)

    async def found(self, day: date, text: str = "tea", access: Access = MAIN) -> list[str]:
        return [hit.snippet for hit in (await self.asked(day, text, access)).hits]

    @property
    def left(self) -> list[Path]:
        return list(self.folder.glob(f"{AS_OF}/*"))


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(tmp_path)
    house.write(FIRST, MEMORY="- tea is at four\n")
    house.write(SECOND, MEMORY="- tea is at five\n- the cellar is dry\n")
    yield house
    house.worker.handler.close()


async def test_a_search_as_of_a_day_finds_what_stood_there_then(house: House) -> None:
    """The text of that day, cited with it; before the first note nothing; of today and later what is now."""
    result = await house.asked(FIRST)
    (hit,) = result.hits
    assert (hit.snippet, hit.citation, result.mode) == ("tea is at four", f"MEMORY.md#L1-L1@{FIRST}", "hybrid")
    assert result.notice == f"the notes as they were at the end of {FIRST}, without conversations"
    assert (await house.found(FIRST + timedelta(days=1)))[0] == "tea is at four"
    assert (await house.found(SECOND))[0] == "tea is at five"
    nothing = await house.asked(FIRST - timedelta(days=1))
    assert (nothing.hits, nothing.notice) == ((), f"the history holds no note of {FIRST - timedelta(days=1)}")
    for day in (TODAY, date.max):
        result = await house.asked(day)
        assert (result.hits[0].citation, result.notice) == ("MEMORY.md#L1-L1", "")


async def test_a_day_ends_with_its_last_change(house: House) -> None:
    """Two texts of one day: the later one is what was known."""
    house.write(SECOND, MEMORY="- tea is at six\n")
    assert await house.found(SECOND) == ["tea is at six"]


async def test_letters_are_looked_for_in_the_notes_of_that_day(house: House) -> None:
    """Exact search too, with the same marks."""
    found = await house.index.find_exact(ExactQuery("TEA IS AT", as_of=FIRST), MAIN)
    assert [(match.text, match.citation) for match in found.matches] == [
        ("- tea is at four", f"MEMORY.md#L1-L1@{FIRST}")
    ]
    assert "at the end of" in found.notice
    now = await house.index.find_exact(ExactQuery("TEA IS AT", as_of=TODAY), MAIN)
    assert [match.citation for match in now.matches] == ["MEMORY.md#L1-L1"]


async def test_recency_and_relative_dates_count_from_that_day(house: House) -> None:
    """Yesterday is the day before the one that is asked about."""
    house.write(SECOND, memory__2026_03_01="- milk\n")
    await house.asked(SECOND)
    [asked] = [frame for frame in house.worker.frames if frame["op"] == "search"]
    assert asked["today"] == SECOND.isoformat()


async def test_nothing_is_left_and_little_is_embedded_again(house: House) -> None:
    """The index of that day is gone after the search; texts that are notes still are not embedded for it."""
    await house.index.sync()
    house.embedder.texts.clear()
    assert await house.found(SECOND, "cellar") == ["the cellar is dry"]
    assert house.embedder.texts == []
    assert (await house.found(FIRST), house.embedder.texts) == (["tea is at four"], ["tea is at four"])
    await house.found(FIRST)
    assert len(house.embedder.texts) == 1
    assert house.left == []
    assert house.worker.calls.count("discard") == 3


async def test_what_a_killed_worker_left_is_swept_up(house: House) -> None:
    """By the next one, when it opens the agent's index."""
    house.worker.killed_after = 0
    with pytest.raises(KilledError):
        await house.asked(FIRST)
    house.worker.killed_after = None
    (house.folder / AS_OF / "older").mkdir(parents=True)
    successor = HandlerWorker(house.embedder)
    await successor.call("status", house.folder, {})
    assert house.left == []
    successor.handler.close()


async def test_an_index_in_use_is_not_swept_up(house: House) -> None:
    """The agent's own index may be opened while a search of an earlier day is under way."""
    folder = house.folder / AS_OF / "used"
    await house.worker.call("status", folder, {})
    await house.worker.call("status", house.folder, {})
    assert house.left == [folder]
    await house.worker.call("discard", folder, {})
    assert house.left == []


async def test_while_the_index_is_away_the_notes_of_that_day_answer(house: House) -> None:
    """By words alone, and it says so."""

    class Away:
        is_running = False

        async def wake(self, folder: Path | None = None) -> None:
            """It cannot be started."""

        async def call(self, op: str, folder: Path, arguments: Mapping[str, object]) -> Frame:
            raise MemoryUnavailableError("the memory worker cannot be started")

    clock = SetClock().clock()
    house.index.past = Lookback(AGENT, house.folder, house.texts_on, Away(), run_here, clock.monotonic)
    result = await house.asked(FIRST)
    assert [hit.snippet for hit in result.hits] == ["tea is at four"]
    assert (result.mode, "by keywords only" in result.notice) == ("keyword", True)


async def test_two_searches_of_earlier_days_take_turns(house: House) -> None:
    """Each in an index of its own; neither mixes up the days."""
    one, two = await asyncio.gather(house.found(FIRST), house.found(SECOND))
    assert (one[0], two[0]) == ("tea is at four", "tea is at five")


@pytest.mark.parametrize("access", [GROUP, GUEST, turns.SUBAGENT, turns.CRON])
async def test_nobody_sees_more_of_an_earlier_day_than_of_today(house: House, access: Access) -> None:
    """A chat finds its own notes of then; private ones, other chats' and files that it merely reads today stay away.

    Nothing of them reaches the index of that day in the first place.
    """
    for day, word in ((FIRST, "then"), (SECOND, "now")):
        house.write(
            day,
            **{
                "MEMORY": f"- tea {word} private\n",
                f"{OWN.replace('/', '__')}__2026-03-01": f"- tea {word} here\n",
                f"{OTHER.replace('/', '__')}__2026-03-01": f"- tea {word} elsewhere\n",
            },
        )
    own = ["tea then here"] if access in (GROUP, GUEST) else []
    house.embedder.texts.clear()
    assert await house.found(FIRST, access=access) == own
    exact = await house.index.find_exact(ExactQuery("tea then", as_of=FIRST), access)
    assert [match.text for match in exact.matches] == [f"- {text}" for text in own]
    assert house.embedder.texts == own


async def test_another_agents_owner_learns_nothing_here(house: House) -> None:
    """Not even that there is a history."""
    other = Access(AgentId("other"), SessionType.MAIN, MAIN.scope, "telegram:1", 0, frozenset())
    assert (await house.asked(FIRST, access=other)).hits == ()
    assert (await house.index.find_exact(ExactQuery("tea", as_of=FIRST), other)).matches == ()


async def test_without_a_history_an_earlier_day_is_refused(house: House) -> None:
    """Rather than answered with what is known now."""
    house.index.past = None
    with pytest.raises(QueryRefusedError, match="no history"):
        await house.asked(FIRST)


def test_only_notes_are_offered() -> None:
    """Other files of a commit are no notes, and a byte order mark is no text."""
    texts = {"MEMORY.md": "\ufeff- tea\n", "SOUL.md": "soul\n", f"{OWN}/2026-03-01.md": "- shared\n"}
    notes = EarlierNotes({PurePosixPath(path): text for path, text in texts.items()})
    assert set(notes.stamps()) == {"MEMORY.md", f"{OWN}/2026-03-01.md"}
    document = notes.read("MEMORY.md")
    assert document is not None
    assert (document.text, notes.read("SOUL.md"), notes.audience("SOUL.md")) == ("- tea\n", None, None)
    assert notes.audience(f"{OWN}/2026-03-01.md") == GROUP.scope


async def test_what_once_had_the_mark_house_is_for_readers_here(house: House) -> None:
    """Though no note has it now: not by meaning and not word for word; and what a reader here is given carries it."""
    house.write(THIRD, MEMORY="- the tea is in vault 7 #house\n")
    house.write(THIRD + timedelta(days=1), MEMORY="- tea is at six\n")
    for day in (FIRST, THIRD):
        with pytest.raises(QueryRefusedError):
            await house.asked(day)
        with pytest.raises(QueryRefusedError):
            await house.index.find_exact(ExactQuery("tea", as_of=day), MAIN)
    here = read_by(MAIN, Locality.HERE)
    for found in (
        await house.asked(THIRD, access=here),
        await house.index.find_exact(ExactQuery("tea", as_of=THIRD), here),
    ):
        assert found.is_house
    assert [hit.snippet for hit in (await house.index.search(Query("tea"), MAIN)).hits] == ["tea is at six"]
