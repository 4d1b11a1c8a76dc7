"""The owner hears of a file that is cut in the prompt once, and again when twice as much is missing."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from gateway.agent.cut_files import CutFiles, FileNotice, describe_cut_files, news
from gateway.errors import StoreError
from gateway.stores.sqlite.store import SqliteStore
from tests.fakes.clock import ManualClock
from workspaces.access import AgentId
from workspaces.bootstrap import ShownExtent

WHOLE = ShownExtent("MEMORY.md", 9_000, 9_000)
CUT = ShownExtent("MEMORY.md", 25_000, 20_000)


@pytest.mark.parametrize(
    ("told", "now", "is_told"),
    [
        ({}, WHOLE, False),
        ({}, CUT, True),
        ({"MEMORY.md": FileNotice(25_000, 5_000)}, CUT, False),
        ({"MEMORY.md": FileNotice(25_000, 5_000)}, ShownExtent("MEMORY.md", 29_999, 20_000), False),
        ({"MEMORY.md": FileNotice(25_000, 5_000)}, ShownExtent("MEMORY.md", 30_000, 20_000), True),
        ({"AGENTS.md": FileNotice(25_000, 5_000)}, CUT, True),
    ],
)
def test_a_file_is_news_when_it_is_cut_first_or_by_twice_as_much(
    told: dict[str, FileNotice], now: ShownExtent, is_told: bool
) -> None:
    """One that grows with each note is not told with each note."""
    assert news(told, [now])[0] == ([now] if is_told else [])


def test_a_file_that_was_shortened_until_it_is_whole_is_forgotten() -> None:
    """One that is whole for a day whose notes are short is not, and what stays cut is kept as it was told."""
    told = {"MEMORY.md": FileNotice(25_000, 5_000)}
    assert news(told, [WHOLE])[1] == {}
    assert news(told, [])[1] == {}
    assert news(told, [ShownExtent("MEMORY.md", 25_000, 25_000)])[1] == told
    assert news(told, [ShownExtent("MEMORY.md", 24_000, 20_000)])[1] == told


async def test_the_owner_is_told_once_until_it_is_mended(tmp_path: Path) -> None:
    """Over a restart too; while the state cannot be written, later; nothing is read while nothing has changed."""
    store = await SqliteStore.open(tmp_path / "state.db")
    heard: list[str] = []
    looks: list[ShownExtent] = []
    files, is_reachable = [CUT, ShownExtent("AGENTS.md", 5, 5)], False

    async def look() -> Sequence[ShownExtent]:
        looks.extend(files)
        return files

    async def tell(key: str, said: str) -> None:
        if not is_reachable:
            raise StoreError("the disk is full")
        heard.append(said)

    def started() -> CutFiles:
        return CutFiles(AgentId("main"), look, store, tell, ManualClock().now)

    cut_files = started()
    await cut_files.ring()
    is_reachable = True
    await cut_files.ring()
    await cut_files.ring()
    assert len(looks) == 4
    await started().ring()
    (said,) = heard
    assert said == (
        "MEMORY.md of agent main is too long for its prompt, which contains 20,000 of its 25,000 characters: the "
        "agent sees the rest only when it searches or reads the file. To fix this, shorten it, or raise file_chars "
        "and total_chars under [memory] in the configuration."
    )
    files = [WHOLE]
    await started().ring()
    files = [CUT]
    await started().ring()
    assert len(heard) == 2
    await store.close()


def test_only_cut_files_are_named() -> None:
    """With what is shown of each."""
    files = [ShownExtent("AGENTS.md", 5, 5), CUT, ShownExtent("USER.md", 7_000, 0)]
    assert describe_cut_files(files) == (
        "MEMORY.md (20,000 of 25,000 characters are shown), USER.md (0 of 7,000 characters are shown)"
    )
    assert describe_cut_files([WHOLE]) == ""
