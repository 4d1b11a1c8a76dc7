"""While others exchange names, append and edit, nothing outside is reached and nothing written is lost."""

import ctypes
import itertools
import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

import pytest

from tests.fakes.patience import PATIENCE_S
from workspaces.errors import BadPathError, FileChangedError, NoSuchFileError
from workspaces.file_slot import digest_of
from workspaces.files import Folder

NOTE = PurePosixPath("notes/a.md")
SECRET = b"outside"
LEAST = 20
"""So often each outcome must have been seen, or nothing was tried."""

linux = pytest.mark.skipif(sys.platform != "linux", reason="names are exchanged by a call of Linux")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with one note and, beside it, a folder with a secret of the same name."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/a.md").write_bytes(SECRET)
    (tmp_path / "home/notes").mkdir(parents=True)
    (tmp_path / "home" / NOTE).write_bytes(b"- inside\n")
    return tmp_path / "home"


@contextmanager
def exchanging(one: Path, other: Path, pause_s: float = 0) -> Iterator[list[int]]:
    """Exchange two names again and again, each time in one step, up to *pause_s* between; the list holds how often."""
    exchange, here, stop, swaps = 2, -100, threading.Event(), [0]
    renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    chance = random.Random(swaps[0])

    def flip() -> None:
        while not stop.is_set():
            if renameat2(here, bytes(one), here, bytes(other), exchange):
                raise OSError(ctypes.get_errno(), "renameat2")
            swaps[0] += 1
            time.sleep(chance.uniform(0, pause_s))

    thread = threading.Thread(target=flip)
    thread.start()
    try:
        yield swaps
    finally:
        stop.set()
        thread.join()


def tried(outcome: Callable[[], str], seconds: float, least: dict[str, int] | None = None) -> Counter[str]:
    """Try again and again for *seconds*, and return how often each outcome was seen.

    Where a busy machine has not shown each outcome *least* so often by then, go on until it has.
    """
    begun, seen, wanted = time.monotonic(), Counter[str](), Counter(least or {})
    while (lasted := time.monotonic() - begun) < seconds or (lasted < PATIENCE_S and not wanted <= seen):
        seen[outcome()] += 1
    return seen


def reading(folder: Folder) -> Callable[[], str]:
    """Return a try to read, list and walk; `escaped` where anything of the outside is seen."""
    secret = (folder.root.parent / "outside/a.md").stat()

    def read() -> str:
        try:
            data = folder.read(NOTE).data
            names = {entry.name for entry in folder.listing(NOTE.parent)}
        except NoSuchFileError:
            return "refused"
        finally:
            walked = {found.inode for found in folder.walk()}
        is_inside = data == b"- inside\n" and names == {"a.md"} and secret.st_ino not in walked
        return "inside" if is_inside else "escaped"

    return read


def writing(folder: Folder) -> Callable[[], str]:
    """Return a try to create, replace, append or delete, one after the other."""
    new, day = PurePosixPath("notes/new.md"), PurePosixPath("notes/day.md")
    acts: Iterator[Callable[[], object]] = itertools.cycle(
        [
            lambda: folder.write(new, b"new", expected=None),
            lambda: folder.append(day, "- x\n", ""),
            lambda: folder.write(NOTE, b"ours", digest_of(SECRET)),
            lambda: folder.delete(NOTE, digest_of(SECRET)),
            lambda: folder.delete(new, digest_of(b"new")),
            lambda: folder.write(PurePosixPath("notes/deep/new.md"), b"new", expected=None),
        ]
    )

    def write() -> str:
        try:
            next(acts)()
        except (BadPathError, NoSuchFileError, FileChangedError):
            return "refused"
        return "inside"

    return write


def flipped(root: Path, act: Callable[[Folder], Callable[[], str]], seconds: float) -> tuple[Counter[str], int]:
    """Try *act* while a folder becomes a link to the outside and back; return what was seen, and how many flips."""
    (root / "door").symlink_to(root.parent / "outside")
    with exchanging(root / "notes", root / "door") as swaps:
        seen = tried(act(Folder(root)), seconds, {"inside": LEAST, "refused": LEAST})
    outside = root.parent / "outside"
    seen["escaped"] += {path.name: path.read_bytes() for path in outside.iterdir()} != {"a.md": SECRET}
    return seen, swaps[0]


ACTS = pytest.mark.parametrize("act", [reading, writing])


@linux
@ACTS
def test_a_folder_that_flips_to_a_link_lets_nothing_out(root: Path, act: Callable[[Folder], Callable[[], str]]) -> None:
    """While a folder becomes a link to the outside and back, nothing outside is read, listed or changed."""
    seen, flips = flipped(root, act, seconds=1.5)
    assert seen["escaped"] == 0
    assert min(flips, seen["inside"], seen["refused"]) >= LEAST


@linux
@pytest.mark.nightly
@ACTS
def test_a_folder_that_flips_for_twenty_seconds_lets_nothing_out(
    root: Path, act: Callable[[Folder], Callable[[], str]], capsys: pytest.CaptureFixture[str]
) -> None:
    """The same for so long that a gap of microseconds is met: at least 5,000 tries."""
    seen, flips = flipped(root, act, seconds=20)
    with capsys.disabled():
        print(f"\n{act.__name__}: {seen.total():,} tries over {flips:,} flips: {dict(seen)}")
    assert seen["escaped"] == 0
    assert min(seen["inside"], seen["refused"]) > 500
    assert seen.total() >= 5_000


@linux
def test_a_file_that_flips_to_another_name_of_an_outer_one_is_not_grown(root: Path) -> None:
    """A line never lands in a file that has a second name outside, however late the name is exchanged."""
    (root / "door").hardlink_to(root.parent / "outside/a.md")
    folder = Folder(root)

    def append() -> str:
        try:
            folder.append(NOTE, "x\n", "")
        except (BadPathError, FileChangedError):
            return "refused"
        return "added"

    with exchanging(root / NOTE, root / "door", pause_s=0.05):
        seen = tried(append, 1, {"added": LEAST, "refused": LEAST})
    assert (root.parent / "outside/a.md").read_bytes() == SECRET
    assert min(seen["added"], seen["refused"]) >= LEAST


def test_two_processes_that_append_lose_no_line(root: Path) -> None:
    """A thousand notes, half of them from each of two processes at once, are all there, in each one's order."""
    command = [sys.executable, "-m", "tests.workspaces.appending", str(root)]
    gate, release = os.pipe()
    writers = [
        subprocess.Popen([*command, label, "500"], stdin=gate, stdout=subprocess.PIPE, text=True)
        for label in ("left", "right")
    ]
    os.close(gate)
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    os.close(release)  # both at once
    for writer in writers:
        writer.communicate(timeout=PATIENCE_S)
        assert writer.returncode == 0
    heading, blank, *notes = (root / "memory/2026-03-01.md").read_text().splitlines()
    assert (heading, blank) == ("# 2026-03-01", "")
    for label in ("left", "right"):
        assert [note for note in notes if label in note] == [f"- 09:30 {label} {number}" for number in range(500)]
    assert len(notes) == 1_000
    labels = [note.split()[2] for note in notes]
    assert sum(one != other for one, other in itertools.pairwise(labels)) > 1, "they did not overlap"


def test_an_edit_and_notes_at_once_lose_nothing(root: Path) -> None:
    """While one writer replaces a file again and again, each line that another adds stays in it."""
    path, stop = PurePosixPath("notes/day.md"), threading.Event()
    editor, writer = Folder(root), Folder(root)
    editor.write(path, b"# 0\n", expected=None)
    edits, added = 0, 0

    def edit() -> None:
        nonlocal edits
        while not stop.is_set():
            seen = editor.read(path)
            with suppress(FileChangedError):
                editor.write(path, b"# %d\n" % edits + seen.data.split(b"\n", 1)[1], seen.digest)
                edits += 1

    thread = threading.Thread(target=edit)
    thread.start()
    try:
        while added < 150 or (edits <= 5 and added < 3_000):  # the busier the machine, the longer both need to meet
            writer.append(path, f"- {added}\n", "")
            added += 1
            time.sleep(0.005)  # whoever holds the lock all the time lets nobody else in
    finally:
        stop.set()
        thread.join()
    assert writer.read(path).data.decode().splitlines()[1:] == [f"- {number}" for number in range(added)]
    assert edits > 5


def test_two_threads_that_list_the_workspace_both_see_all_of_it(tmp_path: Path) -> None:
    """A listing cut short would take every note out of the index, as if the owner had removed them."""
    wanted = [PurePosixPath(f"{number}.md") for number in range(8)]
    for path in wanted:
        (tmp_path / path).touch()
    folder = Folder(tmp_path)

    def listings(count: int) -> set[tuple[PurePosixPath, ...]]:
        return {tuple(found.path for found in folder.walk()) for _ in range(count)}

    with ThreadPoolExecutor(3) as threads:
        assert set().union(*threads.map(listings, [2_000] * 3)) == {tuple(wanted)}
    folder.close()
