"""The opener stays inside, follows nothing, never hangs, and changes a file wholly or not at all."""

import errno
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path, PurePosixPath

import pytest

from tests.fakes.disk import files_end_at
from tests.fakes.patience import PATIENCE_S
from tests.workspaces.crashing import LINE, NEW, OLD
from workspaces.errors import (
    BadPathError,
    FileChangedError,
    NoSuchFileError,
    NotDurableError,
    NotTextError,
    TooLargeError,
    WorkspaceError,
    WorkspaceUnusableError,
)
from workspaces.file_slot import digest_of
from workspaces.files import FileCaps, Folder, FolderEvent, WriteAttempt, Written
from workspaces.secrets import REMOVED, guarding

HERE = PurePosixPath()
NOTE = PurePosixPath("notes/a.md")
SECRET = b"outside"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/a.md").write_bytes(SECRET)
    (tmp_path / "home/notes").mkdir(parents=True)
    return tmp_path / "home"


@pytest.fixture
def folder(root: Path) -> Folder:
    return Folder(root, FileCaps(file_bytes=100_000, names=50))


def test_what_was_written_is_read_back_with_its_digest(folder: Folder) -> None:
    """A write makes the folders it needs and returns the digest that a read gives."""
    digest = folder.write(PurePosixPath("a/b/c.md"), b"text", expected=None)
    content = folder.read(PurePosixPath("a/b/c.md"))
    assert (content.data, content.digest) == (b"text", digest)
    assert digest == digest_of(b"text")


def test_new_files_and_folders_are_for_their_owner_alone(folder: Folder, root: Path) -> None:
    """Files are made with mode 0600, folders with 0700; a file that is replaced keeps its mode."""
    path = PurePosixPath("a/b.md")
    digest = folder.write(path, b"1", expected=None)
    assert ((root / "a").stat().st_mode & 0o777, (root / path).stat().st_mode & 0o777) == (0o700, 0o600)
    (root / path).chmod(0o640)
    folder.write(path, b"2", digest)
    assert (root / path).stat().st_mode & 0o777 == 0o640


def test_a_write_needs_to_know_what_it_replaces(folder: Folder, root: Path) -> None:
    """A file that exists, changed or vanished against expectation is left as it is, and the refusal carries it."""
    (root / NOTE).write_bytes(b"theirs")
    with pytest.raises(FileChangedError) as refusal:
        folder.write(NOTE, b"ours", expected=None)
    assert refusal.value.current == b"theirs"
    with pytest.raises(FileChangedError):
        folder.write(NOTE, b"ours", digest_of(b"older"))
    with pytest.raises(FileChangedError):
        folder.delete(NOTE, digest_of(b"older"))
    assert (root / NOTE).read_bytes() == b"theirs"
    with pytest.raises(FileChangedError) as refusal:
        folder.write(PurePosixPath("gone.md"), b"ours", digest_of(b"theirs"))
    assert refusal.value.current is None
    assert [found.path for found in folder.walk()] == [NOTE]


def test_a_name_listed_twice_is_one_file(folder: Folder, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system may list a file twice that is replaced while it lists; the walk and the listing show it once."""
    (root / NOTE).write_bytes(b"text")
    listed = os.listdir
    monkeypatch.setattr(os, "listdir", lambda place: listed(place) * 2)
    assert [found.path for found in folder.walk()] == [NOTE]
    assert [entry.name for entry in folder.listing(NOTE.parent)] == [NOTE.name]


def test_a_file_is_deleted_by_who_knows_it(folder: Folder, root: Path) -> None:
    """Deleting removes the file; a second time there is none."""
    digest = folder.write(NOTE, b"text", expected=None)
    folder.delete(NOTE, digest)
    assert not (root / NOTE).exists()
    with pytest.raises(NoSuchFileError):
        folder.delete(NOTE, digest)


def _link(path: Path) -> None:
    path.symlink_to(path.parents[2] / "outside/a.md")


def _dangling(path: Path) -> None:
    path.symlink_to("nowhere")


def _hard_link(path: Path) -> None:
    path.hardlink_to(path.parents[2] / "outside/a.md")


def _socket(path: Path) -> None:
    place = os.open(path.parent, os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"/proc/self/fd/{place}/{path.name}")
    os.close(place)


def _device(path: Path) -> None:
    try:
        os.mknod(path, 0o600 | 0o020000, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("only root makes devices")


def test_a_link_is_not_even_opened(folder: Folder, root: Path) -> None:
    """Opening has effects: a program that waits at a pipe outside the workspace would be woken by a link to it."""
    pipe = root.parent / "outside/pipe"
    os.mkfifo(pipe)
    (root / NOTE).symlink_to(pipe)
    wait = "import os, sys; print(flush=True); os.open(sys.argv[1], os.O_WRONLY)"
    with subprocess.Popen([sys.executable, "-c", wait, pipe], stdout=subprocess.PIPE) as writer:
        try:
            assert writer.stdout
            writer.stdout.readline()
            for _ in range(20):
                with pytest.raises(NoSuchFileError):
                    folder.read(NOTE)
                time.sleep(0.02)
            assert writer.poll() is None
        finally:
            writer.kill()


@pytest.mark.parametrize("make", [_link, _dangling, _hard_link, os.mkfifo, _socket, _device, Path.mkdir])
def test_only_plain_files_of_one_name_are_touched(folder: Folder, root: Path, make: object) -> None:
    """A link, FIFO, socket, device or folder reads as absent, is not listed as a file, and is never changed."""
    assert callable(make)
    make(root / NOTE)
    before = os.lstat(root / NOTE)
    with pytest.raises(NoSuchFileError) as refusal:
        folder.read(NOTE)
    (root / "notes/b.md").touch()
    (root / "notes/b.md").unlink()
    with pytest.raises(NoSuchFileError) as absent:
        folder.read(PurePosixPath("notes/b.md"))
    assert str(refusal.value) == str(absent.value).replace("b.md", "a.md")
    for change in (
        lambda: folder.write(NOTE, b"x", expected=None),
        lambda: folder.write(NOTE, b"x", digest_of(SECRET)),
        lambda: folder.append(NOTE, "x\n", ""),
        lambda: folder.delete(NOTE, digest_of(SECRET)),
    ):
        with pytest.raises(BadPathError, match="not a regular file"):
            change()
    assert list(folder.walk()) == []
    assert not [entry for entry in folder.listing(PurePosixPath("notes")) if not entry.is_folder]
    assert os.lstat(root / NOTE).st_ino == before.st_ino
    assert (root.parent / "outside/a.md").read_bytes() == SECRET


def test_a_refusal_does_not_tell_what_a_link_leads_to(folder: Folder, root: Path) -> None:
    """Whether the target of a link is there, inside or outside, or nowhere, every refusal has the same bytes."""
    (root / "notes/b.md").write_bytes(SECRET)
    told = []
    for target in (root.parent / "outside/a.md", root.parent / "outside/none.md", Path("b.md"), Path("none.md")):
        (root / NOTE).symlink_to(target)
        told.append([_refusal(attempt, folder, NOTE) for attempt in ATTEMPTS])
        (root / NOTE).unlink()
    (root / "notes/b.md").unlink()
    for behind in ("../outside", "nowhere", "notes"):
        (root / "door").symlink_to(behind)
        told.append([_refusal(attempt, folder, PurePosixPath("door/a.md")) for attempt in ATTEMPTS])
        (root / "door").unlink()
    assert told[:4] == [told[0]] * 4
    assert told[4:] == [told[4]] * 3


Attempt = Callable[[Folder, PurePosixPath], object]
ATTEMPTS: tuple[Attempt, ...] = (
    lambda folder, path: folder.read(path),
    lambda folder, path: folder.write(path, b"x", expected=None),
    lambda folder, path: folder.write(path, b"x", digest_of(SECRET)),
    lambda folder, path: folder.append(path, "x\n", ""),
    lambda folder, path: folder.delete(path, digest_of(SECRET)),
    lambda folder, path: folder.listing(path),
)


def _refusal(attempt: Attempt, folder: Folder, path: PurePosixPath) -> str:
    with pytest.raises(WorkspaceError) as refusal:
        attempt(folder, path)
    return f"{type(refusal.value).__name__}: {refusal.value}"


def test_no_folder_is_reached_through_a_link(folder: Folder, root: Path) -> None:
    """A link in the middle of a path leads nowhere, in and out of the workspace alike."""
    (root / "out").symlink_to("../outside")
    (root / "in").symlink_to("notes")
    (root / NOTE).write_bytes(b"inside")
    for path in (PurePosixPath("out/a.md"), PurePosixPath("in/a.md")):
        with pytest.raises(NoSuchFileError):
            folder.read(path)
        with pytest.raises(NoSuchFileError):
            folder.listing(path.parent)
        with pytest.raises(NoSuchFileError):
            folder.delete(path, digest_of(SECRET))
        with pytest.raises(BadPathError):
            folder.write(path, b"x", expected=None)
        with pytest.raises(BadPathError):
            folder.append(path, "x\n", "")
    assert [found.path for found in folder.walk()] == [NOTE]
    assert not folder.holds_folder(PurePosixPath("out"))


@pytest.mark.parametrize("path", ["../outside/a.md", ".git/config", "notes/../../outside/a.md", ".git", "notes/.."])
def test_the_opener_checks_names_itself(folder: Folder, path: str) -> None:
    """A path that nobody cleaned is refused where files are opened, too."""
    with pytest.raises(BadPathError):
        folder.read(PurePosixPath(path))
    with pytest.raises(BadPathError):
        folder.write(PurePosixPath(path), b"x", expected=None)
    with pytest.raises(BadPathError):
        folder.listing(PurePosixPath(path))


def test_git_and_unfinished_files_are_out_of_sight(folder: Folder, root: Path) -> None:
    """Neither a listing nor a walk shows `.git`, what is being written, or a name that no tool could give."""
    (root / ".git").mkdir()
    (root / ".git/config").write_text("x")
    (root / ".strandline-0123456789abcdef.tmp").write_text("x")
    (root / os.fsdecode(b"\xff")).mkdir()
    assert [entry.name for entry in folder.listing(HERE)] == ["notes"]
    assert list(folder.walk()) == []


@pytest.mark.parametrize(
    ("existing", "twin"),
    [("MEMORY.md", "memory.md"), ("notes/Ideas.md", "Notes/ideas.md"), ("é.md", "e\u0301.md"), ("n/A/x", "n/a/y")],
)
def test_twins_are_one_file_never_two(folder: Folder, existing: str, twin: str) -> None:
    """A new name that differs from a sibling only in case or normal form is refused, and the sibling is named."""
    folder.write(PurePosixPath(existing), b"one", expected=None)
    for change in (
        lambda: folder.write(PurePosixPath(twin), b"two", expected=None),
        lambda: folder.append(PurePosixPath(twin), "two\n", ""),
    ):
        with pytest.raises(BadPathError, match="differs only in letter case"):
            change()
    assert [str(found.path) for found in folder.walk()] == [existing]


def test_sizes_and_numbers_have_caps(folder: Folder, root: Path) -> None:
    """A file over the cap is neither read, written nor grown; a full folder takes no new name, but old ones change."""
    (root / "big.md").write_bytes(b"x" * 200_000)
    with pytest.raises(TooLargeError, match="200,000 bytes; files of at most 100,000"):
        folder.read(PurePosixPath("big.md"))
    with pytest.raises(TooLargeError):
        folder.write(NOTE, b"x" * 100_001, expected=None)
    digest = folder.write(NOTE, b"x" * 99_999, expected=None)
    with pytest.raises(TooLargeError):
        folder.append(NOTE, "yy\n", "")
    for number in range(49):
        (root / f"notes/{number}").touch()
    with pytest.raises(TooLargeError, match="the maximum"):
        folder.write(PurePosixPath("notes/new.md"), b"", expected=None)
    folder.write(NOTE, b"small", digest)
    folder.write(PurePosixPath("notes/below/x.md"), b"", expected=None)


def test_no_folder_is_left_that_holds_nothing(folder: Folder, root: Path) -> None:
    """Whoever writes and deletes, or is refused, again and again fills no disk with folders; the owner's stay."""
    (root / "a").mkdir()
    for refused in (b"x" * 100_001, b"x"):
        with pytest.raises((TooLargeError, FileChangedError)):
            folder.write(PurePosixPath("a/b/c/d.md"), refused, expected=None if len(refused) > 1 else "f" * 64)
    assert [*map(str, folder.folders())] == [".", "a", "notes"]
    folder.write(PurePosixPath("a/b/other.md"), b"1", expected=None)
    digest = folder.write(PurePosixPath("a/b/c/d.md"), b"1", expected=None)
    folder.delete(PurePosixPath("a/b/c/d.md"), digest)
    assert [*map(str, folder.folders())] == [".", "a", "a/b", "notes"]
    (root / "a/b/.hidden\nname").write_bytes(b"what is not taken is something too")
    folder.delete(PurePosixPath("a/b/other.md"), digest)
    assert (root / "a/b").is_dir()


def test_lines_are_added_below_what_an_editor_left(folder: Folder, root: Path) -> None:
    """A new file gets its heading; a last line without end, and CRLF line ends, are respected."""
    assert folder.append(NOTE, "- one\n", "# day\n\n") == 3
    assert (root / NOTE).read_bytes() == b"# day\n\n- one\n"
    (root / NOTE).write_bytes(b"# day\r\n- edited")
    assert folder.append(NOTE, "- two\n  more\n", "# day\n\n") == 3
    assert (root / NOTE).read_bytes() == b"# day\r\n- edited\r\n- two\r\n  more\r\n"
    assert folder.append(NOTE, "- two\n  more\n", "# day\n\n") == 5


def test_nothing_is_added_to_what_is_not_text(folder: Folder, root: Path) -> None:
    """A file in another encoding would be spoilt by a line of ours."""
    (root / NOTE).write_bytes("# Tag\n".encode("utf-16"))
    with pytest.raises(NotTextError):
        folder.append(NOTE, "- one\n", "")


def test_a_line_is_added_to_the_file_that_an_editor_just_saved(
    folder: Folder, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An editor that saves by renaming, right between our write and its proof, does not swallow the line."""
    (root / NOTE).write_text("- old\n")
    sync = os.fsync

    def save_and_sync(handle: int) -> None:
        monkeypatch.setattr(os, "fsync", sync)
        (root / "notes/saved").write_text("- old\n- theirs\n")
        (root / "notes/saved").rename(root / NOTE)
        sync(handle)

    monkeypatch.setattr(os, "fsync", save_and_sync)
    assert folder.append(NOTE, "- ours\n", "") == 3
    assert (root / NOTE).read_text() == "- old\n- theirs\n- ours\n"


def test_a_file_is_on_disk_before_it_takes_its_name(
    folder: Folder, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The order that survives a power cut: the new file's bytes, then the name, then the folder."""
    steps = []
    sync, rename = os.fsync, os.replace

    def synced(handle: int) -> None:
        steps.append(f"sync {Path(f'/dev/fd/{handle}').resolve().name.partition('-')[0]}")
        sync(handle)

    def renamed(source: str, target: str, *, src_dir_fd: int, dst_dir_fd: int) -> None:
        steps.append("rename")
        rename(source, target, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", renamed)
    folder.write(NOTE, b"text", expected=None)
    folder.append(NOTE, "- line\n", "")
    assert steps == ["sync .strandline", "rename", "sync notes", "sync a.md", "sync notes"]


def test_a_kill_at_any_step_leaves_the_old_file_or_the_new(tmp_path: Path) -> None:
    """Wherever a writer is killed, each file is whole, and the next to open the folder clears what was left."""
    command = [sys.executable, "-m", "tests.workspaces.crashing", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE_S)
    ends = [json.loads(line) for line in done.stdout.splitlines()]
    seen = {"old": set[str](), "fresh": set[str](), "day": set[str](), "new day": set[str]()}
    for end in ends:
        assert end["left"] == end["swept"] <= 1
        assert not [name for name in end["files"] if ".strandline-" in name]
        seen["old"].add(end["files"]["notes/old.md"])
        seen["fresh"].add(end["files"].get("fresh/new.md"))
        seen["day"].add(end["files"]["notes/day.md"])
        seen["new day"].add(end["files"].get("fresh/day.md"))
    assert seen["old"] == {OLD.decode(), NEW.decode()}
    assert seen["fresh"] == {None, NEW.decode()}
    assert seen["day"] == {"# day\n- first", f"# day\n- first\n{LINE}"}
    assert seen["new day"] == {None, f"# day\n{LINE}"}
    assert any(end["left"] for end in ends)
    assert len(ends) > 30


def test_a_full_disk_leaves_the_old_file(folder: Folder, root: Path) -> None:
    """A write or an append that finds no room, even halfway, changes nothing and says what happened."""
    old = b"- old\n" * 100
    digest = folder.write(NOTE, old, expected=None)
    with files_end_at(len(old) + 10):
        with pytest.raises(WorkspaceUnusableError, match=r"notes/a\.md cannot be written"):
            folder.write(NOTE, old * 2, digest)
        with pytest.raises(WorkspaceUnusableError):
            folder.append(NOTE, "- far too long for what is left\n", "")
        with pytest.raises(WorkspaceUnusableError):
            folder.append(PurePosixPath("notes/new.md"), "- long\n" * 200, "")
    assert (root / NOTE).read_bytes() == old
    assert [path.name for path in (root / "notes").iterdir()] == ["a.md"]
    assert folder.append(NOTE, "- there is room again\n", "") == 101


@contextmanager
def nobody() -> Iterator[Path]:
    """Act as a user without privileges, in a folder of their own."""
    home = Path(tempfile.mkdtemp(prefix="strandline-test-"))
    assert (resources.files("workspaces") / "templates").is_dir()  # imports what nobody else may read
    root = os.geteuid() == 0
    if root:
        os.chown(home, 65534, 65534)
        os.setresuid(65534, 65534, 0)  # the real user too: some kernels use it where `access` means the effective one
    try:
        yield home
    finally:
        if root:
            os.setresuid(0, 0, 0)
        subprocess.run(["rm", "-rf", str(home)], check=True)


def test_what_the_system_forbids_is_told_as_such() -> None:
    """Missing permissions are a fault of the workspace, not a missing file."""
    with nobody() as home:
        folder = Folder(home)
        digest = folder.write(NOTE, b"text", expected=None)
        (home / NOTE).chmod(0)
        with pytest.raises(WorkspaceUnusableError, match="Permission denied"):
            folder.read(NOTE)
        (home / NOTE).chmod(0o600)
        (home / "notes").chmod(0o500)
        with pytest.raises(WorkspaceUnusableError, match="Permission denied"):
            folder.write(NOTE, b"new", digest)
        assert folder.read(NOTE).data == b"text"
        (home / "notes").chmod(0o700)
        Path(f"{home}.lock").unlink()


def test_a_closed_folder_opens_nothing(folder: Folder, root: Path) -> None:
    """After `close` the handle's number may be another folder's: it is not used again."""
    number = folder._handle
    folder.close()
    other = os.open(root.parent / "outside", os.O_RDONLY)
    assert other == number
    with pytest.raises(WorkspaceUnusableError):
        folder.read(PurePosixPath("a.md"))
    os.close(other)


def test_a_walk_tells_what_an_index_needs(folder: Folder, root: Path) -> None:
    """Every plain file with its size, time and inode, folder by folder in order of name, as deep as names go."""
    deep = "/".join(["d"] * 15)
    for name in ("b.md", "a.md", "notes/z.md", f"{deep}/x.md"):
        folder.write(PurePosixPath(name), name.encode(), expected=None)
    (root / deep / "too").mkdir()
    (root / deep / "too/deep.md").touch()
    found = list(folder.walk())
    assert [str(each.path) for each in found] == ["a.md", "b.md", f"{deep}/x.md", "notes/z.md"]
    for each in found:
        facts = (root / each.path).stat()
        assert (each.size, each.mtime_ns, each.inode) == (facts.st_size, facts.st_mtime_ns, facts.st_ino)
        folder.read(each.path)


def test_a_lock_that_is_never_released_is_named(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer does not wait for ever for another; reading needs no lock."""
    other = Folder(folder.root)
    folder.write(NOTE, b"text", expected=None)
    monkeypatch.setattr(folder._lock, "timeout", 0.01)
    with other.resting():
        with pytest.raises(WorkspaceUnusableError, match=r"home\.lock"):
            folder.append(NOTE, "x\n", "")
        assert folder.read(NOTE).data == b"text"


def test_every_refusal_is_one_of_the_wing(folder: Folder) -> None:
    """Odd places raise errors of the tree, never the system's."""
    for path in (HERE, PurePosixPath("notes"), PurePosixPath("notes/a.md/b.md")):
        folder_is_in_the_way = pytest.raises(WorkspaceError)
        with folder_is_in_the_way:
            folder.write(path, b"x", expected=None)
        with pytest.raises(WorkspaceError):
            folder.read(path)
        (folder.root / NOTE).touch()


def test_whoever_keeps_an_index_hears_of_every_change(folder: Folder) -> None:
    """A write, an append and a removal through this object are told, with the path; a read is not."""
    heard: list[PurePosixPath] = []
    folder.follow(lambda event: heard.append(event.path) if isinstance(event, WriteAttempt) else None)
    digest = folder.write(NOTE, b"text\n", expected=None)
    folder.append(NOTE, "more\n", "")
    folder.read(NOTE)
    assert heard == [NOTE, NOTE]
    folder.delete(NOTE, digest_of(b"text\nmore\n"))
    assert (heard, digest) == ([NOTE] * 3, digest_of(b"text\n"))


def test_whoever_keeps_the_history_is_told_what_was_and_what_is(folder: Folder, root: Path) -> None:
    """Each change with the bytes before and after it, while no other writer can come between; a refusal is none."""
    heard: list[Written] = []
    other = Folder(root)
    other._lock.timeout = 0.01

    def hear(event: FolderEvent) -> None:
        if not isinstance(event, Written):
            return
        with pytest.raises(WorkspaceUnusableError, match="another process has held"):
            other.append(NOTE, "x\n", "")
        heard.append(event)

    folder.follow(hear)
    folder.append(NOTE, "- one\n", "# day\n")
    (root / NOTE).write_bytes(b"theirs\n")
    with pytest.raises(FileChangedError):
        folder.write(NOTE, b"ours", digest_of(b"# day\n- one\n"))
    folder.append(NOTE, "- two\n", "# day\n")
    folder.write(NOTE, b"ours", digest_of(b"theirs\n- two\n"))
    folder.delete(NOTE, digest_of(b"ours"))
    assert heard == [
        Written(NOTE, None, b"# day\n- one\n"),
        Written(NOTE, b"theirs\n", b"theirs\n- two\n"),
        Written(NOTE, b"theirs\n- two\n", b"ours"),
        Written(NOTE, b"ours", None),
    ]


def test_a_file_that_an_editor_is_just_replacing_is_there(
    folder: Folder, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Editors save by putting a new file in the old one's place: a read or write at that moment takes the new one."""
    digest = folder.write(NOTE, b"old", expected=None)
    opened = os.open
    saves = [b"new", b"newer"]

    def just_before_the_save(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        handle = opened(path, flags, mode, dir_fd=dir_fd)
        if path == NOTE.name and saves:
            (root / ".saved").write_bytes(saves.pop(0))
            (root / ".saved").replace(root / NOTE)
        return handle

    monkeypatch.setattr(os, "open", just_before_the_save)
    assert folder.read(NOTE).data == b"newer"
    saves.append(b"newest")
    with pytest.raises(FileChangedError) as caught:
        folder.write(NOTE, b"mine", digest)
    assert caught.value.current == b"newest"
    assert (root / NOTE).read_bytes() == b"newest"


@pytest.mark.parametrize("now", [b"mine", b"MY OWN", None])
def test_what_an_editor_saves_at_the_last_moment_stays(folder: Folder, root: Path, now: bytes | None) -> None:
    """Between the look at a file and the step that replaces it: in its place, in place, or gone."""
    digest = folder.write(NOTE, b"old", expected=None)
    os.utime(root / NOTE, (1, 1))

    def saves(step: str, size: int, /) -> int:
        if step == "file.replace":
            save_as_editors_do(root / NOTE, now)
        return size

    folder.checkpoint = saves
    with pytest.raises(FileChangedError) as caught:
        folder.write(NOTE, b"new", digest)
    assert caught.value.current == now
    assert ((root / NOTE).read_bytes() if (root / NOTE).exists() else None) == now
    assert [path.name for path in (root / "notes").iterdir()] == (["a.md"] if now else [])


@pytest.mark.parametrize("act", ["replace", "create", "append", "remove"])
def test_a_change_that_shows_and_may_not_last_has_an_error_of_its_own(folder: Folder, root: Path, act: str) -> None:
    """The disk fails after the step that others see: listeners learn of the change, and the caller of the doubt."""
    heard: list[FolderEvent] = []
    folder.follow(heard.append)
    digest = folder.write(NOTE, b"old\n", expected=None)
    is_done = False

    def fails(step: str, size: int, /) -> int:
        nonlocal is_done
        if step == "file.sync" and is_done:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        is_done |= step in {"file.replace", "file.remove"} or (step == "file.write" and act == "append")
        return size

    folder.checkpoint = fails
    acts: dict[str, Callable[[], object]] = {
        "replace": lambda: folder.write(NOTE, b"new\n", digest),
        "create": lambda: folder.write(PurePosixPath("notes/b.md"), b"new\n", None),
        "append": lambda: folder.append(NOTE, "new\n", ""),
        "remove": lambda: folder.delete(NOTE, digest),
    }
    with pytest.raises(NotDurableError, match="was changed, but the change may not last"):
        acts[act]()
    [written] = [each for each in heard if isinstance(each, Written)][1:]
    place = root / written.path
    assert (place.read_bytes() if place.exists() else None) == written.after
    assert written.before != written.after


def save_as_editors_do(file: Path, text: bytes | None) -> None:
    """Put a new file in the place of an old one, write into it, or remove it."""
    match text:
        case None:
            file.unlink()
        case b"mine":
            beside = file.with_name("beside")
            beside.write_bytes(text)
            beside.replace(file)
        case _:
            file.write_bytes(text)


def test_no_known_secret_is_written(folder: Folder, root: Path) -> None:
    """Neither a whole file nor a line that is added; what its owner wrote there by hand stays until it is replaced."""
    key = "canary-of-files"
    (root / NOTE).write_text(f"by hand {key}\n")
    with guarding([key]):
        digest = folder.write(PurePosixPath("b.md"), f"a {key}".encode(), expected=None)
        assert folder.append(NOTE, f"- {key}\n", "# Notes\n") == 2
    assert (root / "b.md").read_text() == f"a {REMOVED}"
    assert digest == digest_of(f"a {REMOVED}".encode())
    assert (root / NOTE).read_text() == f"by hand {key}\n- {REMOVED}\n"
