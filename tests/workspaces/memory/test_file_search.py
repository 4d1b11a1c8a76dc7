"""Search in the files themselves while the index is unavailable."""

import asyncio
from collections.abc import Callable
from datetime import date

from tests.journeys.test_exact_identifiers import ASKED, planted, year_of_notes
from workspaces.access import PRIVATE, Scope
from workspaces.memory.entry import Document
from workspaces.memory.file_search import documents_within, find_plainly
from workspaces.run_blocking import P, T


def _document(path: str, day: date | None, *lines: str) -> Document:
    return Document(path, PRIVATE, "\n".join(lines), day, path)


def test_an_identifier_is_found_first_at_any_age() -> None:
    """Sixty of sixty, as the index itself has it."""
    notes = list(year_of_notes())
    asked = [(name, ASKED[number % len(ASKED)].format(name)) for number, name in enumerate(planted())]
    assert [name for name, query in asked if name not in find_plainly(query, notes, 1)[0].text] == []


def test_a_longer_identifier_is_another_one() -> None:
    """A newer line with more words of the question does not come before the id itself; for thresholds the id is
    wholly relevant."""
    notes = [
        _document("memory/old.md", date(2020, 1, 1), "- GLYPH-1234 is kept in the box"),
        _document("memory/new.md", date(2026, 1, 1), "- where the status list of GLYPH-12345 is, and glyph 1234-5"),
    ]
    found = find_plainly("where is the status list of GLYPH-1234?", notes, 2)
    assert [(hit.document.path, len(hit.identifiers)) for hit in found] == [("memory/old.md", 1), ("memory/new.md", 0)]
    assert found[0].score == 1.0 > found[0].matched


def test_rare_words_count_more_and_the_newer_of_equals_comes_first() -> None:
    """A word that stands in every line says little."""
    notes = [
        _document("memory/1.md", date(2026, 1, 1), "- tea with milk", "- tea with Ada"),
        _document("memory/2.md", date(2026, 1, 2), "- tea with milk", "- tea alone"),
    ]
    assert [hit.text for hit in find_plainly("tea Ada", notes, 1)] == ["tea with Ada"]
    assert [hit.document.path for hit in find_plainly("milk", notes, 2)] == ["memory/2.md", "memory/1.md"]
    assert find_plainly("nothing of the kind", notes, 5) == []


async def test_a_search_of_the_files_does_not_wait_for_a_long_read() -> None:
    """What was read by then is searched, and the answer says that it is not all; notes come before conversations."""
    slow = asyncio.Event()

    class Notes:
        def stamps(self) -> dict[str, str]:
            return {"memory/a.md": "1"}

        def read(self, path: str) -> Document | None:
            return Document(path, PRIVATE, "- the key is with Ann\n", None, "1")

        def audience(self, path: str) -> Scope | None:
            return PRIVATE

    class Conversations(Notes):
        def stamps(self) -> dict[str, str]:
            return {"sessions/main.jsonl": "1"}

    async def run(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        if args and args[-1] == ["sessions/main.jsonl"]:
            await slow.wait()
        return function(*args, **kwargs)

    found, is_all = await documents_within([Notes(), Conversations()], lambda _: True, run, 0.05)
    assert ([each.path for each in found], is_all) == (["memory/a.md"], False)
    slow.set()
    found, is_all = await documents_within([Notes(), Conversations()], lambda _: True, run, 5)
    assert ([each.path for each in found], is_all) == (["memory/a.md", "sessions/main.jsonl"], True)
