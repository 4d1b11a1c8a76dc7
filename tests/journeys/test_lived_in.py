"""A workspace that agents and its owner write in at the same time is, at every moment, what a plain model says.

Files are always old or new, whatever crashes; the owner's bytes are never lost; the history matches, author by author.
"""

import os
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import ParamSpec, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from tests.workspaces.history.home import Clock, Home
from tests.workspaces.turns import AGENT, MAIN
from workspaces.errors import EditError, FileChangedError, NoSuchFileError
from workspaces.files import FolderEvent, Written
from workspaces.history import EDITOR, History, LogQuery, Origin, Pending
from workspaces.history.messages import Act
from workspaces.workspace import TextFile, Workspace

P = ParamSpec("P")
T = TypeVar("T")

PATHS = st.sampled_from(["MEMORY.md", "memory/2026-03-01.md", "notes/a.md"])
TURNS = st.sampled_from(["t-1", "t-2"])
WORDS = st.sampled_from(["tea", "boat"])
ALL = LogQuery(limit=1000)
RESTORED = Origin("restored")
STEPS = ("open", "write", "fsync", "fchmod", "replace", "unlink", "mkdir", "ftruncate")


class CrashError(BaseException):
    """The process is gone: nothing that is done from now on has an effect."""


@contextmanager
def dying(step: int) -> Iterator[None]:
    """Let no call to the system come through from the one numbered *step* on."""
    count = 0

    def counted(call: Callable[P, T]) -> Callable[P, T]:
        def counting(*args: P.args, **kwargs: P.kwargs) -> T:
            nonlocal count
            count += 1
            if count >= step:
                raise CrashError
            return call(*args, **kwargs)

        return counting

    with pytest.MonkeyPatch.context() as patch:
        for name in STEPS:
            patch.setattr(os, name, counted(getattr(os, name)))
        yield


class LivedIn(RuleBasedStateMachine):
    """Two turns and an owner on three files, and what must have become of them."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="strandline-test-"))
        self.home = Home(self.root)
        self.clock = Clock()
        self.number = 0
        self.files: dict[str, bytes] = {}
        self.last: dict[str, str | None] = {}
        """Whose the present text of each file is."""
        self.authors = defaultdict[tuple[str, bytes], set[str | None]](set)
        """Who may have a commit that gives a file this text."""
        self.kept: set[tuple[str, bytes]] = set()
        """Texts of the owner's that the history must have."""
        self.open()

    def open(self) -> None:
        """Begin as a gateway does: sweep, open the history, look for what nobody recorded."""
        self.known: dict[tuple[str, str], TextFile] = {}
        self.workspace = Workspace.open(self.root / "workspace", AGENT)
        self.workspace.folder.follow(self.hear)
        self.writing: str | None = None
        """The turn that changes files; `None`: they are put back."""
        self.pending = Pending()
        self.history = History.open(self.root / "history.git", self.workspace, self.clock)
        self.history.spare(self.pending)
        for path, data in self.files.items():
            self.authors[path, data].add(None)
        self.look(None)

    def hear(self, event: FolderEvent) -> None:
        if isinstance(event, Written):
            self.pending.written(self.writing, event)

    def look(self, origin: Origin | None) -> None:
        self.record()
        self.history.look(self.pending, origin)
        self.record()

    def record(self) -> None:
        while self.history.record_first(self.pending):
            pass

    @contextmanager
    def as_turn(self, turn: str) -> Iterator[None]:
        """Let what is written come from *turn*; what is closed by it is recorded at once, as the keeper does."""
        self.pending.begin(turn, Origin("main", None, turn))
        self.writing = turn
        yield
        self.record()

    def becomes(self, path: str, data: bytes, author: str) -> None:
        if self.last.get(path) == "editor" and author != "editor" and path in self.files:
            self.kept.add((path, self.files[path]))
        self.files[path], self.last[path] = data, author
        self.authors[path, data].add(author)

    def goes(self, path: str, author: str) -> None:
        if self.last.get(path) == "editor" and author != "editor":
            self.kept.add((path, self.files[path]))
        del self.files[path], self.last[path]

    def is_as_known(self, turn: str, path: str) -> bool:
        known = self.known.get((turn, path))
        return (known.whole.encode() if known else None) == self.files.get(path)

    def fresh(self, word: str) -> str:
        """Return words that were never written before."""
        self.number += 1
        return f"{word} {self.number}"

    # --- turns

    @rule(turn=TURNS, path=PATHS)
    def reads(self, turn: str, path: str) -> None:
        try:
            file = self.workspace.read(path, MAIN)
        except NoSuchFileError:
            assert path not in self.files
            self.known.pop((turn, path), None)
        else:
            assert file.whole.encode() == self.files[path]
            self.known[turn, path] = file

    @rule(turn=TURNS, path=PATHS, word=WORDS)
    def writes(self, turn: str, path: str, word: str) -> None:
        text, may = f"# {self.fresh(word)}\n{word}\n", self.is_as_known(turn, path)
        try:
            with self.as_turn(turn):
                file = self.workspace.write(path, text, MAIN, self.known.get((turn, path)))
        except FileChangedError:
            assert not may
        else:
            assert may
            self.becomes(path, text.encode(), turn)
            self.known[turn, path] = file

    @rule(turn=TURNS, path=PATHS, word=WORDS, is_careful=st.booleans())
    def edits(self, turn: str, path: str, word: str, is_careful: bool) -> None:
        expected, new = self.known.get((turn, path)) if is_careful else None, self.fresh("new")
        may = path in self.files and (expected is None or self.is_as_known(turn, path))
        matches = self.files.get(path, b"").count(word.encode())
        try:
            with self.as_turn(turn):
                file = self.workspace.edit(path, word, new, MAIN, expected)
        except (FileChangedError, NoSuchFileError):
            assert not may
        except EditError:
            assert may
            assert matches != 1
        else:
            assert may
            assert matches == 1
            self.becomes(path, self.files[path].replace(word.encode(), new.encode()), turn)
            self.known[turn, path] = file

    @rule(turn=TURNS, path=PATHS, word=WORDS)
    def appends(self, turn: str, path: str, word: str) -> None:
        line, old = f"- {self.fresh(word)}\n", self.files.get(path, b"")
        with self.as_turn(turn):
            number = self.workspace.append(path, line, "# day\n\n", MAIN)
        added = (("" if old.endswith(b"\n") else "\n") if old.strip() else "# day\n\n") + line
        data = old + (added.replace("\n", "\r\n") if b"\r\n" in old else added).encode()
        self.becomes(path, data, turn)
        assert data.split(b"\n")[number - 1].strip() == line.strip().encode()

    @rule(turn=TURNS, path=PATHS)
    def deletes(self, turn: str, path: str) -> None:
        known = self.known.get((turn, path))
        if known is None:
            return
        try:
            with self.as_turn(turn):
                self.workspace.delete(path, MAIN, known)
        except (FileChangedError, NoSuchFileError):
            assert not self.is_as_known(turn, path)
        else:
            assert self.is_as_known(turn, path)
            self.goes(path, turn)
            del self.known[turn, path]

    @rule(turn=TURNS)
    def ends(self, turn: str) -> None:
        self.pending.end(turn)
        self.record()
        self.known = {key: file for key, file in self.known.items() if key[0] != turn}

    # --- the owner

    @rule(
        path=PATHS,
        word=WORDS,
        form=st.sampled_from(["{}\n", "\ufeff{}\r\nx\r\n", "{}", "{0}\n{0}\n"]),
        is_new=st.booleans(),
    )
    def saves(self, path: str, word: str, form: str, is_new: bool) -> None:
        """An editor writes into the file, or puts another one in its place."""
        data = form.format(self.fresh(word)).encode()
        if is_new:
            self.home.put("beside.tmp", data)
            (self.root / "workspace" / path).parent.mkdir(exist_ok=True)
            (self.root / "workspace/beside.tmp").rename(self.root / "workspace" / path)
        else:
            self.home.put(path, data)
        self.becomes(path, data, "editor")

    @precondition(lambda self: self.files)
    @rule(data=st.data())
    def removes(self, data: st.DataObject) -> None:
        path = data.draw(st.sampled_from(sorted(self.files)))
        self.home.remove(path)
        self.goes(path, "editor")

    @rule()
    def notices(self) -> None:
        """Some time after a save the gateway looks."""
        self.look(EDITOR)
        self.kept |= {(path, data) for path, data in self.files.items() if self.last[path] == "editor"}

    @rule(path=PATHS, back=st.integers(0, 20))
    def restores(self, path: str, back: int) -> None:
        view = self.history.view(MAIN)
        log = view.log(ALL)
        revision = log[back % len(log)].id
        self.writing = None
        try:
            then = view.text_at(revision, PurePosixPath(path))
        except NoSuchFileError:
            return
        if path in self.files:
            self.authors[path, self.files[path]].add(None)
        restored = self.history.restore(revision, path, MAIN, RESTORED)
        assert restored.changed == (self.files.get(path) != then.encode())
        if restored.changed:
            self.becomes(path, then.encode(), RESTORED.session)

    # --- the machine

    @rule(turn=TURNS, path=PATHS, word=WORDS, step=st.integers(1, 25), is_append=st.booleans())
    def crashes(self, turn: str, path: str, word: str, step: int, is_append: bool) -> None:
        """The process dies somewhere within a write, and a new one begins."""
        self.ends(turn)
        old = self.files.get(path)
        folder, place = self.workspace.folder, PurePosixPath(path)
        text = f"- {self.fresh(word)}\n"
        try:
            with dying(step):
                if is_append:
                    folder.append(place, text, "")
                else:
                    folder.write(place, text.encode(), folder.read(place).digest if old is not None else None)
        except CrashError:
            pass
        folder._lock.release(force=True)
        folder.close()
        now = self.home.texts().get(path)
        lead = b"" if old is None or old.endswith(b"\n") or not old.strip() else b"\n"
        added = (lead + text.encode()).replace(b"\n", b"\r\n" if b"\r\n" in (old or b"") else b"\n")
        if now is not None and now != old:
            self.files[path], self.last[path] = now, None
        self.open()
        assert now in {old, (old or b"") + added if is_append else text.encode()}

    @invariant()
    def files_are_what_was_written(self) -> None:
        assert self.home.texts() == self.files

    def teardown(self) -> None:
        try:
            self.pending.end_all()
            self.look(EDITOR)
            self.the_history_matches()
            assert self.history.repairs == ()
            assert self.home.is_sound()
        finally:
            self.workspace.folder.close()
            shutil.rmtree(self.root)

    def the_history_matches(self) -> None:
        """Its end is what is on disk, every version has its author, and no text of the owner's is missing."""
        seen = set()
        for commit in self.history.view(MAIN).log(ALL):
            origin = commit.origin
            author = (origin.turn or origin.session) if origin else None
            for change in (change for change in commit.changes if change.act is Act.WRITE):
                (data,) = self.history._repository.contents([change.content])
                assert author in self.authors[str(change.path), data], (author, change.path, data)
                seen.add((str(change.path), data))
        assert self.kept <= seen
        newest = self.history.view(MAIN).as_of(self.clock())
        assert {str(path): text.encode() for path, text in newest.items()} == self.files


HOURS = settings(max_examples=25, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck))


def test_some_hours_of_a_workspace() -> None:
    """Any few steps of two turns, an owner and a machine that dies."""
    run_state_machine_as_test(LivedIn, settings=HOURS)


@pytest.mark.nightly
def test_some_years_of_a_workspace() -> None:
    """The same, hundreds of times, for longer."""
    run_state_machine_as_test(LivedIn, settings=settings(HOURS, max_examples=400, stateful_step_count=50))
