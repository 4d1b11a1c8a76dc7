"""Indexed notes and their audiences, and the reasons for leaving others out."""

from datetime import date
from pathlib import Path, PurePosixPath

import pytest

from tests.workspaces.turns import GROUP_CHAT, OWN
from workspaces.access import PRIVATE
from workspaces.errors import FileBusyError
from workspaces.file_slot import FileContent
from workspaces.files import Folder
from workspaces.memory.entry import UnreadableDocumentError
from workspaces.memory.workspace_source import FRESH_NS, LARGEST_NOTE, WorkspaceNotes
from workspaces.secrets import REMOVED, guarding


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for path in ("MEMORY.md", "memory/2026-03-01.md", "memory/2026-03-02-trip.md", f"{OWN}/2026-03-01.md"):
        _write(tmp_path, path, f"text of {path}\n")
    return tmp_path


def _write(home: Path, path: str, text: str | bytes) -> None:
    file = home / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())


def _notes(home: Path) -> WorkspaceNotes:
    return WorkspaceNotes(Folder(home))


def test_notes_are_memory_files_and_nothing_else(home: Path) -> None:
    """Behaviour files, skills and files that are no Markdown are not indexed."""
    for path in ("AGENTS.md", "USER.md", "skills/a/SKILL.md", "memory/picture.png", "other/2026-03-01.md"):
        _write(home, path, "x")
    assert set(_notes(home).stamps()) == {
        "MEMORY.md",
        "memory/2026-03-01.md",
        "memory/2026-03-02-trip.md",
        f"{OWN}/2026-03-01.md",
    }


def test_the_other_spelling_of_memory_is_a_note(tmp_path: Path) -> None:
    """`memory.md` stands for `MEMORY.md`."""
    _write(tmp_path, "memory.md", "x")
    assert set(_notes(tmp_path).stamps()) == {"memory.md"}


def test_audience_and_day_come_from_the_path(home: Path) -> None:
    """A shared note belongs to its chat; a date in the name is the day; all others are private and undated."""
    notes = _notes(home)
    facts = {path: (doc.scope, doc.date) for path in notes.stamps() if (doc := notes.read(path))}
    assert facts == {
        "MEMORY.md": (PRIVATE, None),
        "memory/2026-03-01.md": (PRIVATE, date(2026, 3, 1)),
        "memory/2026-03-02-trip.md": (PRIVATE, date(2026, 3, 2)),
        f"{OWN}/2026-03-01.md": (GROUP_CHAT, date(2026, 3, 1)),
    }


def test_a_day_that_does_not_exist_is_no_date(tmp_path: Path) -> None:
    """`2026-02-30.md` is indexed without a day."""
    _write(tmp_path, "memory/2026-02-30.md", "x")
    document = _notes(tmp_path).read("memory/2026-02-30.md")
    assert document is not None
    assert document.date is None


def test_the_digest_tells_every_change(home: Path) -> None:
    """Another text, or the same text under another path, is another digest; the same file read again is the same."""
    notes = _notes(home)
    first, again = notes.read("MEMORY.md"), notes.read("MEMORY.md")
    assert first == again
    _write(home, "memory/copy.md", first.text if first else "")
    copy = notes.read("memory/copy.md")
    _write(home, "MEMORY.md", "other\n")
    changed = notes.read("MEMORY.md")
    assert len({document.digest for document in (first, copy, changed) if document}) == 3


def test_a_file_that_is_gone_is_none(home: Path) -> None:
    """A note that went between looking and reading is no error."""
    (home / "MEMORY.md").unlink()
    assert _notes(home).read("MEMORY.md") is None


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"a\0b", "binary"),
        (b"caf\xe9", "not UTF-8"),
        (b"x" * (LARGEST_NOTE + 1), "notes of up to"),
        (b"x" * (3 * LARGEST_NOTE), "MEMORY.md"),
    ],
)
def test_what_cannot_be_indexed_says_why(home: Path, content: bytes, reason: str) -> None:
    """Binary, badly encoded and huge notes are refused with a reason."""
    _write(home, "MEMORY.md", content)
    with pytest.raises(UnreadableDocumentError, match=reason):
        _notes(home).read("MEMORY.md")


def test_a_byte_order_mark_is_not_text(home: Path) -> None:
    """A file from another editor begins with its first word."""
    _write(home, "MEMORY.md", b"\xef\xbb\xbfhello")
    document = _notes(home).read("MEMORY.md")
    assert document is not None
    assert document.text == "hello"


def test_a_just_written_file_is_looked_at_again(home: Path) -> None:
    """Two writes within one tick of the file system's clock leave the same time: fresh files have passing stamps."""
    written = (home / "MEMORY.md").stat().st_mtime_ns
    times = iter([written + 1, written + 2, written + FRESH_NS, written + 2 * FRESH_NS])
    notes = WorkspaceNotes(Folder(home), lambda: next(times))
    first, second, third, fourth = (notes.stamps()["MEMORY.md"] for _ in range(4))
    assert len({first, second, third}) == 3
    assert third == fourth


def test_no_known_secret_is_indexed(home: Path) -> None:
    """A key that its owner wrote into a note by hand is replaced in the document; the file stays."""
    _write(home, "MEMORY.md", "the key is canary-of-notes\n")
    with guarding(["canary-of-notes"]):
        document = _notes(home).read("MEMORY.md")
    assert document is not None
    assert document.text == f"the key is {REMOVED}\n"
    assert "canary-of-notes" in (home / "MEMORY.md").read_text()


def test_a_note_that_changes_all_the_time_is_left_out_and_not_gone(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason is told, and it is read again once it has changed."""
    folder = Folder(home)

    def busy(path: PurePosixPath) -> FileContent:
        raise FileBusyError(f"{path} is being changed all the time; try again")

    monkeypatch.setattr(folder, "read", busy)
    with pytest.raises(UnreadableDocumentError, match=r"MEMORY\.md is being changed all the time"):
        WorkspaceNotes(folder).read("MEMORY.md")
