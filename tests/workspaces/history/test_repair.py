"""A history that a crash, a failing disk or a stranger left unusable is mended, and no file is lost."""

import errno
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pygit2
import pytest

from tests.fakes.disk import files_end_at
from tests.workspaces.history.home import ORIGIN, START, Home
from tests.workspaces.turns import MAIN
from workspaces.errors import HistoryUnusableError
from workspaces.history import LogQuery, Repair, RepairReason, repository

ALL = LogQuery(limit=1000)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home whose history has two commits."""
    home = Home(tmp_path)
    home.put("MEMORY.md", "one\n")
    home.put("notes/a.md", "a\n")
    history = home.open()
    history.record([home.put("MEMORY.md", "two\n")], None, ORIGIN)
    return home


def loose(git_dir: Path, oid: str) -> Path:
    return git_dir / "objects" / oid[:2] / oid[2:]


def damage(home: Home, name: str, data: bytes = b"") -> None:
    """Put *data* in the place of the object that git knows as *name*."""
    path = loose(home.git_dir, home.git("rev-parse", name).strip())
    path.chmod(0o600)
    path.write_bytes(data)


@pytest.mark.parametrize(
    "lock", ["HEAD.lock", "config.lock", "packed-refs.lock", "refs/heads/main.lock", "objects/info/commit-graph.lock"]
)
def test_a_lock_that_a_crash_left_is_removed(home: Home, lock: str) -> None:
    """Git's own stale locks stop neither an open history nor the next one, and their removal is said."""
    history = home.open()
    stale = home.git_dir / lock
    stale.parent.mkdir(exist_ok=True)
    stale.touch()
    assert history.record([home.put("MEMORY.md", "three\n")], None, ORIGIN)
    assert home.open().maintain(START + timedelta(days=40))
    assert not stale.exists()
    stale.touch()
    reasons = [repair.reason for repair in home.open().repairs]
    assert (reasons, stale.exists()) == ([RepairReason.STALE_LOCK], False)


def test_a_lock_is_left_alone_while_another_process_writes(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever does not hold our lock waits for it, and touches nothing of git's."""
    monkeypatch.setattr(repository, "_LOCK_TIMEOUT_S", 0.05)
    history = home.open()
    code = (
        "import sys; from filelock import FileLock\n"
        "with FileLock(sys.argv[1]):\n"
        "    print('held', flush=True); sys.stdin.readline()\n"
    )
    command = [sys.executable, "-c", code, f"{home.git_dir}.lock"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        (home.git_dir / "refs/heads/main.lock").touch()
        with pytest.raises(HistoryUnusableError, match="another process has held"):
            history.record([home.put("MEMORY.md", "three\n")], None, ORIGIN)
        assert (home.git_dir / "refs/heads/main.lock").exists()
        other.communicate("\n")
    assert history.record([home.put("MEMORY.md", "three\n")], None, ORIGIN)


GONE = "the newest commit is gone"
TORN: dict[str, Callable[[Home], object]] = {
    "the newest text is empty": lambda home: damage(home, "main:MEMORY.md"),
    "the newest text is another": lambda home: damage(home, "main:MEMORY.md", b"no zlib"),
    "the newest tree is empty": lambda home: damage(home, "main^{tree}"),
    "the newest commit is empty": lambda home: damage(home, "main"),
    GONE: lambda home: loose(home.git_dir, home.git("rev-parse", "main").strip()).unlink(),
}


@pytest.mark.parametrize(
    ("what", "is_open"), [*((what, False) for what in TORN), ("the newest tree is empty", True), (GONE, True)]
)
def test_the_commits_before_a_torn_one_are_taken_over(home: Home, what: str, is_open: bool) -> None:
    """What a power failure tore is set aside; the new history has the commits before it and the files of today."""
    history = home.open()
    files = home.texts()
    TORN[what](home)
    if not is_open:
        history = home.open()
    history.record_all(None, None)
    history.record([home.put("notes/a.md", "b\n")], None, ORIGIN)
    (repair,) = history.repairs
    assert repair == Repair(RepairReason.DAMAGED, repair.at, repair.kept_as, taken_over=True)
    assert home.commits() == [
        "init: initialize memory repository",
        "memory: update MEMORY.md",
        "file: write notes/a.md",
    ]
    assert home.texts() == files | {"notes/a.md": b"b\n"}
    assert home.is_sound()


UNREADABLE: dict[str, Callable[[Home], object]] = {
    "no objects": lambda home: shutil.rmtree(home.git_dir / "objects"),
    "no first text": lambda home: damage(home, "main~1:notes/a.md"),
}


@pytest.mark.parametrize("what", UNREADABLE)
def test_what_cannot_be_read_at_all_is_set_aside(home: Home, what: str) -> None:
    """Where no whole commit is left a new history begins from the files; the old one keeps its place in a name."""
    UNREADABLE[what](home)
    history = home.open()
    (repair,) = history.repairs
    assert (repair.reason, repair.taken_over) == (RepairReason.DAMAGED, False)
    assert repair.kept_as == home.root / f"history.git.damaged-{repair.at:%Y%m%dT%H%M%SZ}"
    assert (repair.kept_as / "config").exists()
    assert home.commits() == ["init: initialize memory repository"]
    assert home.tree() == {"MEMORY.md", "notes/a.md"}
    assert home.is_sound()
    assert home.open().repairs == ()


LOST: dict[str, Callable[[Path], object]] = {
    "an empty branch": lambda git_dir: (git_dir / "refs/heads/main").write_text(""),
    "no branch": lambda git_dir: (git_dir / "refs/heads/main").unlink(),
    "no branches": lambda git_dir: shutil.rmtree(git_dir / "refs"),
    "an empty HEAD": lambda git_dir: (git_dir / "HEAD").write_text(""),
    "no HEAD": lambda git_dir: (git_dir / "HEAD").unlink(),
    "a HEAD of noise": lambda git_dir: (git_dir / "HEAD").write_bytes(b"\xff\0" * 50),
}


@pytest.mark.parametrize("what", LOST)
def test_a_branch_that_was_lost_is_found_again(home: Home, what: str) -> None:
    """A lost reference loses no commit: the newest one is looked for."""
    LOST[what](home.git_dir)
    (repair,) = home.open().repairs
    assert repair.taken_over
    assert home.commits() == ["init: initialize memory repository", "memory: update MEMORY.md"]


def _a_file(home: Home) -> None:
    home.git_dir.write_text("not a folder")


def _a_folder(home: Home) -> None:
    home.git_dir.mkdir()


def _a_link(home: Home) -> None:
    (home.root / "theirs").mkdir()
    (home.root / "theirs/refs").mkdir()
    (home.root / "theirs/HEAD.lock").touch()
    home.git_dir.symlink_to("theirs")


def _a_link_to_ours(home: Home) -> None:
    home.git_dir.symlink_to("ours")


def _somebodys_repository(home: Home) -> None:
    pygit2.init_repository(str(home.git_dir), bare=True)
    (home.git_dir / "HEAD.lock").touch()


def _another_agents(home: Home) -> None:
    shutil.copytree(home.root / "ours", home.git_dir)
    config = home.git_dir / "config"
    config.write_text(config.read_text().replace("agent = main", "agent = other"))


def _with_alternates(home: Home) -> None:
    shutil.copytree(home.root / "ours", home.git_dir)
    (home.git_dir / "objects/info").mkdir(exist_ok=True)
    (home.git_dir / "objects/info/alternates").write_text("/elsewhere\n")


@pytest.mark.parametrize(
    "make", [_a_file, _a_link, _a_link_to_ours, _somebodys_repository, _another_agents, _with_alternates, _a_folder]
)
def test_what_is_not_ours_is_set_aside_untouched(home: Home, make: Callable[[Home], None]) -> None:
    """A file, a link, somebody's or another agent's repository in our place keeps every byte; we begin anew."""
    home.git_dir.rename(home.root / "ours")
    make(home)
    before = _bytes_below(home.git_dir)
    (repair,) = home.open().repairs
    assert repair.reason is RepairReason.FOREIGN
    assert repair.kept_as is not None
    assert _bytes_below(repair.kept_as) == before
    assert home.commits() == ["init: initialize memory repository"]
    assert home.tree() == {"MEMORY.md", "notes/a.md"}


def _bytes_below(place: Path) -> dict[str, str]:
    """Return what lies at *place* and below it."""
    if place.is_symlink():
        return {"link": str(place.readlink()), **_bytes_below(place.resolve())}
    if place.is_file():
        return {"": place.read_text()}
    return {str(path.relative_to(place)): path.read_bytes().hex() for path in place.rglob("*") if path.is_file()}


def test_a_torn_pack_is_set_aside(home: Home) -> None:
    """After maintenance all lies in one file: cut short, it is set aside, and what was written since is not lost."""
    home.open().maintain(START + timedelta(days=40))
    (pack,) = (home.git_dir / "objects/pack").glob("*.pack")
    pack.chmod(0o600)
    pack.write_bytes(pack.read_bytes()[:40])
    files = home.texts()
    (repair,) = home.open().repairs
    assert repair.reason is RepairReason.DAMAGED
    assert home.texts() == files
    assert home.tree() == {"MEMORY.md", "notes/a.md"}
    assert home.is_sound()


def test_no_more_than_three_damaged_ones_are_kept(home: Home) -> None:
    """The newest of ours stay, so that a failing disk does not fill up; what is not ours stays for ever."""
    theirs = home.root / "history.git.damaged-20200101T000000Z"
    pygit2.init_repository(str(theirs), bare=True)
    kept: list[Path | None] = []
    for _ in range(5):
        damage(home, "main^{tree}")
        (repair,) = home.open().repairs
        kept.append(repair.kept_as)
    assert sorted(home.root.glob("history.git.damaged-*")) == [theirs, *kept[-3:]]


def test_a_history_that_was_removed_begins_anew(home: Home) -> None:
    """Removing the repository, even under an open history, is nobody's damage."""
    history = home.open()
    shutil.rmtree(home.git_dir)
    history.record([home.put("notes/a.md", "b\n")], None, ORIGIN)
    assert home.commits() == ["init: initialize memory repository"]
    assert history.repairs == ()


def test_a_crash_while_beginning_anew_leaves_nothing_behind(home: Home) -> None:
    """A half-made repository of an earlier try is no obstacle."""
    damage(home, "main~1:MEMORY.md")
    damage(home, "main:MEMORY.md")
    shutil.copytree(home.git_dir, home.root / "history.git.new")
    home.open()
    assert sorted(path.name.split("-")[0] for path in home.root.iterdir()) == [
        "history.git",
        "history.git.damaged",
        "history.git.lock",
        "workspace",
    ]


def test_damage_in_an_old_version_is_found_by_maintenance(home: Home) -> None:
    """An old text that cannot be read is said when it is asked for, and mended when the month is over."""
    history = home.open()
    first = history.view(MAIN).log(ALL)[-1].id
    damage(home, "main~1:MEMORY.md", b"torn")
    assert home.open().repairs == ()
    with pytest.raises(HistoryUnusableError):
        history.view(MAIN).text_at(first, "MEMORY.md")
    history.maintain(START + timedelta(days=40))
    (repair,) = history.repairs
    assert repair.reason is RepairReason.DAMAGED
    assert home.tree() == {"MEMORY.md", "notes/a.md"}
    assert home.is_sound()


@pytest.mark.parametrize("name", ["exists", "glob"])
def test_a_history_without_permission_is_no_damage(home: Home, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """It cannot be used now, which ends no gateway, and nothing is set aside."""
    home.open()

    def fail(path: Path, *_: object) -> bool:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    with monkeypatch.context() as patch:
        patch.setattr(Path, name, fail)
        with pytest.raises(HistoryUnusableError, match="Permission denied"):
            home.open()
    assert home.open().repairs == ()


def test_a_full_disk_is_no_damage(home: Home) -> None:
    """Without room a commit is refused, nothing is set aside, and it is made up for when there is room again."""
    history = home.open()
    before = home.git("log", "--format=%H", "main")
    path = home.put("notes/long.md", json.dumps([number * 7919 % 104729 for number in range(20_000)]))
    with files_end_at(4096), pytest.raises(HistoryUnusableError):
        history.record([path], None, ORIGIN)
    assert home.git("log", "--format=%H", "main") == before
    assert history.repairs == ()
    assert history.record_all(None, None)
    assert home.commits()[-1] == "file: write notes/long.md"
    assert home.is_sound()


def test_a_full_disk_keeps_a_damaged_history_in_its_place(home: Home) -> None:
    """Nothing is set aside before its successor is whole."""
    damage(home, "main:MEMORY.md")
    home.put("notes/long.md", json.dumps([number * 7919 % 104729 for number in range(20_000)]))
    before = _bytes_below(home.git_dir)
    with files_end_at(4096), pytest.raises(HistoryUnusableError):
        home.open()
    assert _bytes_below(home.git_dir) == before
    assert home.open().repairs[0].taken_over
