"""The owner hears of files that cannot be written or are left out, once, and again when it happens again."""

import asyncio
import os
from contextlib import closing
from datetime import timedelta
from pathlib import Path, PurePosixPath

from gateway.agent.file_trouble import OVER_AFTER, FileTroubleNotices, UnwritableFiles
from gateway.errors import StoreError
from tests.fakes.clock import ManualClock
from workspaces.access import AgentId
from workspaces.files import Folder

FULL = "a.md cannot be written: No space left on device"


class Owner:
    """Hears what is told, each key once, while the store can be written."""

    def __init__(self, root: Path) -> None:
        root.mkdir(exist_ok=True)
        self.root = root
        self.heard: dict[str, str] = {}
        self.is_reachable = True
        self.clock = ManualClock()
        self.file_trouble = FileTroubleNotices(AgentId("main"), Folder(root), self.tell, self.clock.now)

    async def tell(self, key: str, said: str) -> None:
        if not self.is_reachable:
            raise StoreError("full, too")
        await asyncio.sleep(0)
        self.heard.setdefault(key, said)

    def later(self, time: timedelta) -> None:
        self.clock.advance(time.total_seconds())


async def test_an_incident_is_told_once(tmp_path: Path) -> None:
    """However often and wherever writing fails meanwhile, and though some of it succeeds."""
    owner = Owner(tmp_path)
    for _ in range(5):
        owner.file_trouble.troubled(UnwritableFiles.FILES, FULL)
        owner.file_trouble.troubled(UnwritableFiles.HISTORY, "no room for a commit")
        await owner.file_trouble.ring()
        owner.later(OVER_AFTER / 2)
        owner.file_trouble.worked(UnwritableFiles.FILES)
        owner.file_trouble.worked(UnwritableFiles.HISTORY)
    assert list(owner.heard.values()) == [
        f"Agent main has trouble with its files: {FULL}. It continues automatically once that is fixed."
    ]


async def test_an_incident_that_two_notice_at_once_is_told_once(tmp_path: Path) -> None:
    """The upkeep of a history and a turn ring together; the second found nothing to forget, and the gateway ended."""
    owner = Owner(tmp_path)
    owner.file_trouble.troubled(UnwritableFiles.HISTORY, FULL)
    await asyncio.gather(owner.file_trouble.ring(), owner.file_trouble.ring())
    await owner.file_trouble.ring()
    assert len(owner.heard) == 1


async def test_the_next_incident_is_told_again(tmp_path: Path) -> None:
    """When all that failed has worked again after a quiet time, or by a clock set back; one of two is not enough."""
    owner = Owner(tmp_path)
    owner.file_trouble.troubled(UnwritableFiles.FILES, FULL)
    owner.file_trouble.troubled(UnwritableFiles.HISTORY, "x")
    await owner.file_trouble.ring()
    owner.later(OVER_AFTER)
    owner.file_trouble.worked(UnwritableFiles.FILES)
    owner.file_trouble.troubled(UnwritableFiles.HISTORY, "x")
    await owner.file_trouble.ring()
    assert len(owner.heard) == 1
    owner.later(timedelta(days=-400))
    owner.file_trouble.worked(UnwritableFiles.HISTORY)
    owner.file_trouble.troubled(UnwritableFiles.FILES, "another")
    await owner.file_trouble.ring()
    assert [said for said in owner.heard.values() if "another" in said]


async def test_what_could_not_be_told_is_told_later(tmp_path: Path) -> None:
    """The same full disk holds the store: as soon as it takes the notice, the owner has it."""
    owner = Owner(tmp_path)
    owner.is_reachable = False
    owner.file_trouble.troubled(UnwritableFiles.FILES, FULL)
    await owner.file_trouble.ring()
    owner.later(OVER_AFTER)
    owner.file_trouble.worked(UnwritableFiles.FILES)
    owner.is_reachable = True
    await owner.file_trouble.ring()
    await owner.file_trouble.ring()
    assert len(owner.heard) == 1


async def test_a_second_name_is_told_once_with_the_way_to_mend_it(tmp_path: Path) -> None:
    """Not again at the next look or the next start; again when the file was mended and has a second name anew."""
    owner = Owner(tmp_path / "work")
    (owner.root / "MEMORY.md").write_text("mine")
    assert owner.file_trouble.look() == 0
    os.link(owner.root / "MEMORY.md", tmp_path / "copy")
    assert [owner.file_trouble.look(), owner.file_trouble.look(), Owner(owner.root).file_trouble.look()] == [1, 0, 1]
    await owner.file_trouble.ring()
    again = Owner(owner.root)
    again.file_trouble.look()
    again.heard = dict(owner.heard)
    await again.file_trouble.ring()
    assert again.heard == owner.heard
    (said,) = owner.heard.values()
    assert "Agent main skips files and continues without them: MEMORY.md (it has 2 names (hard links)). " in said
    assert said.endswith(
        f"`cp -p {owner.root}/MEMORY.md {owner.root}/MEMORY.md.copy && mv "
        f"{owner.root}/MEMORY.md.copy {owner.root}/MEMORY.md`"
    )
    (tmp_path / "copy").unlink()
    assert owner.file_trouble.look() == 0
    os.link(owner.root / "MEMORY.md", tmp_path / "copy")
    assert owner.file_trouble.look() == 1
    await owner.file_trouble.ring()
    assert len(owner.heard) == 2


async def test_a_file_that_is_known_to_be_left_out_needs_no_second_look(tmp_path: Path) -> None:
    """Every prompt comes upon it; only one that is new has the workspace looked through."""
    owner = Owner(tmp_path / "work")
    for name in ("a.md", "b.md"):
        (owner.root / name).write_text(name)
    os.link(owner.root / "a.md", tmp_path / "a")
    owner.file_trouble.look()
    with closing(Folder(owner.root)) as folder:
        known = folder.obstacle(PurePosixPath("a.md"))
        os.link(owner.root / "b.md", tmp_path / "b")
        new = folder.obstacle(PurePosixPath("b.md"))
    assert known is not None
    assert new is not None
    owner.file_trouble.met(known)
    assert not owner.file_trouble.is_to_look
    owner.file_trouble.met(new)
    assert owner.file_trouble.is_to_look
