"""No text of a file outside is read or changed, whenever its second name comes into the workspace and goes again."""

import itertools
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from types import SimpleNamespace

import pytest

from workspaces.errors import FileBusyError, FileChangedError, WorkspaceError
from workspaces.file_slot import FileSlot, digest_of
from workspaces.files import Folder

NOTE = PurePosixPath("a.md")
OUTSIDE = b"outside"
OWN = b"own\n"
TICK_NS = 10_000_000
CALLS = ("open", "fstat", "stat", "read", "write")
"""Before each of these calls of the opener, and before its wait, somebody else may act."""


class Stranger:
    """Changes the names of a file outside between the opener's calls, all within one tick of the clock if they can.

    The clock is theirs too: it stands still but for the opener's own wait.
    """

    def __init__(self, folder: Path, moments: frozenset[int], *, has_own: bool) -> None:
        self.outside, self.name = folder / "outside.md", folder / "home" / NOTE
        self.moments = moments
        self.calls = 0
        self._now = 1_000 * TICK_NS
        self._changed = {0: 0}
        """When each file got or lost a name, by inode, by that clock."""
        self.outside.write_bytes(OUTSIDE)
        if has_own:
            self.name.write_bytes(OWN)
        else:
            self._link()

    @contextmanager
    def at_work(self, patch: pytest.MonkeyPatch) -> Iterator[None]:
        """Stand beside every call."""
        with patch.context() as patched:
            for call in CALLS:
                patched.setattr(os, call, self._before(getattr(os, call), told=call in {"stat", "fstat"}))
            patched.setattr(time, "sleep", self._before(self._sleep, told=False))
            patched.setattr(os, "fsync", lambda _: None)
            patched.setattr(time, "time_ns", lambda: self._now + TICK_NS - 1)
            yield

    def _before(self, call: Callable[..., object], *, told: bool) -> Callable[..., object]:
        def called(*args: object, **more: object) -> object:
            if self.calls in self.moments:
                self._act()
            self.calls += 1
            found = call(*args, **more)
            return self._by_their_clock(found) if told else found

        return called

    def _act(self) -> None:
        """Put the file outside where nothing is or a file of the workspace is; take it away where it is."""
        try:
            is_here = _stat(self.name).st_ino == _stat(self.outside).st_ino
        except FileNotFoundError:
            is_here = False
        self.name.unlink(missing_ok=True)
        if is_here:
            self._changed[_stat(self.outside).st_ino] = self._now
        else:
            self._link()

    def _link(self) -> None:
        os.link(self.outside, self.name)
        self._changed[_stat(self.outside).st_ino] = self._now

    def _sleep(self, seconds: float) -> None:
        self._now += int(seconds * 1e9)

    def _by_their_clock(self, facts: object) -> object:
        assert isinstance(facts, os.stat_result)
        fields = {name: getattr(facts, name) for name in dir(facts) if name.startswith("st_")}
        return SimpleNamespace(**fields | {"st_ctime_ns": self._changed.get(facts.st_ino, 0)})


_stat = os.stat


def _read(place: FileSlot) -> bytes:
    content = place.read()
    return content.data if content is not None else b""


def _pieces(place: FileSlot) -> bytes:
    return b"".join(place.pieces(100))


def _append(place: FileSlot) -> bytes:
    place.append("more\n", "")
    return b""


def _replace(place: FileSlot) -> bytes:
    try:
        return place.replace(b"mine", digest_of(OWN)) or b""
    except FileChangedError as exc:
        return exc.current or b""


@pytest.mark.parametrize(
    ("use", "has_own", "first", "actions"),
    [
        (_read, False, 0, 3),
        (_read, True, 0, 4),
        (_pieces, False, 0, 3),
        (_pieces, True, 0, 4),
        (_replace, True, 0, 4),
        (_append, True, 7, 4),  # it reads first: that is tried above
    ],
)
def test_a_name_that_comes_and_goes_between_any_two_steps_lets_nothing_through(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    use: Callable[[FileSlot], bytes],
    has_own: bool,
    first: int,
    actions: int,
) -> None:
    """Whichever moments between the opener's calls are chosen: what it returns and the file outside are clean."""
    (tmp_path / "home").mkdir()
    folder = os.open(tmp_path / "home", os.O_RDONLY)
    place = FileSlot(folder, NOTE.name, NOTE, 100)

    def run(*moments: int) -> tuple[int, bool]:
        for left in (tmp_path / "home").iterdir():
            left.unlink()
        stranger, got = Stranger(tmp_path, frozenset(moments), has_own=has_own), b""
        with stranger.at_work(monkeypatch), suppress(OSError, WorkspaceError):
            got = use(place)
        return stranger.calls, OUTSIDE in got or stranger.outside.read_bytes() != OUTSIDE

    calls, _ = run()
    last = max(calls, *(run(one)[0] for one in range(first, calls)))
    leaked = [
        moments
        for count in range(1, actions + 1)
        for moments in itertools.combinations(range(first, last), count)
        if run(*moments)[1]
    ]
    os.close(folder)
    assert not leaked


def test_a_file_that_is_changed_all_the_time_is_not_called_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its reader waits for our own writers; if the changes are another program's, it says so and can be repeated."""
    (tmp_path / NOTE).write_bytes(OWN)
    folder, ticks, writers = Folder(tmp_path), itertools.count(1), list[bool]()
    monkeypatch.setattr(time, "sleep", lambda _: None)
    monkeypatch.setattr(os, "fstat", lambda handle: _changed_at(_fstat(handle), 0 if writers else next(ticks)))
    with pytest.raises(FileBusyError, match=r"a\.md is being changed all the time; try again"):
        folder.read(NOTE)

    @contextmanager
    def resting() -> Iterator[None]:
        writers.append(True)
        yield

    monkeypatch.setattr(folder, "resting", resting)
    assert folder.read(NOTE).data == OWN


_fstat = os.fstat


def _changed_at(facts: os.stat_result, moment: int) -> object:
    fields = {name: getattr(facts, name) for name in dir(facts) if name.startswith("st_")}
    return SimpleNamespace(**fields | {"st_ctime_ns": moment})
