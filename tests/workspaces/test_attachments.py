"""Files that came with messages: where they lie, what they are called, and that each is there once."""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest

from tests.workspaces.turns import AGENT, CRON, GROUP, GUEST, MAIN, OTHER, OWN, SUBAGENT
from workspaces.access import is_attachment
from workspaces.attachments import DownloadedFile, cleaned_name, store
from workspaces.errors import FileChangedError, NoSuchFileError, TooLargeError
from workspaces.files import FileCaps, Folder
from workspaces.history.tracked_files import tracked_text
from workspaces.memory.workspace_source import is_note
from workspaces.paths import clean_path
from workspaces.usage import Quotas
from workspaces.workspace import Workspace

LARGE = os.urandom(3_000_000)
"""More than the tools read or write."""


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    (tmp_path / "workspace").mkdir()
    quotas = Quotas(attachments_mb=7, attachments_files=3)
    yield (workspace := Workspace(Folder(tmp_path / "workspace", FileCaps(quotas=quotas)), AGENT))
    workspace.folder.close()


def incoming(tmp_path: Path, content: bytes, name: str = "plan.md") -> DownloadedFile:
    place = tmp_path / "fetched"
    place.write_bytes(content)
    return DownloadedFile(place, name, len(content), hashlib.sha256(content).hexdigest())


def test_a_file_lies_where_its_own_audience_reads_it_and_nobody_else(workspace: Workspace, tmp_path: Path) -> None:
    """The owner's at the top, a group's in the group's folder; the owner's own chat reads both."""
    mine = store(workspace, MAIN, incoming(tmp_path, b"mine"))
    theirs = store(workspace, GROUP, incoming(tmp_path, b"theirs"))
    assert mine.parent == PurePosixPath("attachments")
    assert theirs.parent == PurePosixPath(OWN) / "attachments"
    assert workspace.read(theirs, MAIN).text == workspace.read(theirs, GROUP).text == "theirs"
    for access in (GROUP, GUEST, SUBAGENT, CRON):
        with pytest.raises(NoSuchFileError):
            workspace.read(mine, access)
    for access in (SUBAGENT, CRON):
        with pytest.raises(ValueError, match="no folder"):
            store(workspace, access, incoming(tmp_path, b"x"))


def test_the_same_file_is_stored_once_in_each_place(workspace: Workspace, tmp_path: Path) -> None:
    """Whatever it is called the second time; a group's copy tells nothing of the owner's."""
    first = store(workspace, MAIN, incoming(tmp_path, LARGE, "a.bin"))
    assert store(workspace, MAIN, incoming(tmp_path, LARGE, "b.bin")) == first
    assert store(workspace, GROUP, incoming(tmp_path, LARGE, "c.bin")).name != first.name
    files = [found.path for found in workspace.folder.walk()]
    assert len(files) == 2
    assert (workspace.folder.root / first).read_bytes() == LARGE


def test_a_name_alone_does_not_pass_for_a_file(workspace: Workspace, tmp_path: Path) -> None:
    """What somebody wrote under the name that a content would get is neither taken for it nor overwritten."""
    real = incoming(tmp_path, b"the real one")
    twin = PurePosixPath("attachments") / f"{real.digest[:16]}-plan.md"
    workspace.write(twin, "the fake one", MAIN, None)
    with pytest.raises(FileChangedError):
        store(workspace, MAIN, real)
    assert store(workspace, MAIN, incoming(tmp_path, b"the real one", "other.md")).name.endswith("-other.md")
    assert workspace.read(twin, MAIN).text == "the fake one"


def test_attachments_have_a_room_of_their_own(workspace: Workspace, tmp_path: Path) -> None:
    """A full one names its setting, leaves nothing behind, and takes no room from notes or from another chat."""
    store(workspace, GROUP, incoming(tmp_path, LARGE))
    store(workspace, GROUP, incoming(tmp_path, LARGE[1:]))
    with pytest.raises(TooLargeError, match=r"limit here is 7 MB.* attachments_mb in \[limits\]"):
        store(workspace, GROUP, incoming(tmp_path, LARGE[2:]))
    store(workspace, GROUP, incoming(tmp_path, b"small"))
    with pytest.raises(TooLargeError, match="attachments_files"):
        store(workspace, GROUP, incoming(tmp_path, b"one more"))
    workspace.append(f"{OWN}/2026-03-01.md", "- a note\n", "", GROUP)
    store(workspace, MAIN, incoming(tmp_path, LARGE))
    assert len([found for found in workspace.folder.walk() if is_attachment(found.path)]) == 4


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("attachments/a.md", True),
        ("Attachments/a.md", True),
        ("attachments", True),
        (f"{OWN}/attachments/a.md", True),
        (f"{OTHER}/ATTACHMENTS/deep/a.md", True),
        (f"{OWN}/a.md", False),
        ("memory/attachments/a.md", False),
        ("plans/attachments/a.md", False),
        ("MEMORY.md", False),
    ],
)
def test_attachments_are_neither_notes_nor_kept_in_the_history(path: str, expected: bool) -> None:
    """They are the words of whoever sent them, and large: no search finds them, no version of them is kept."""
    place = PurePosixPath(path)
    assert is_attachment(place) is expected
    if expected:
        assert not is_note(place)
        assert tracked_text(place, b"text") is None


@pytest.mark.parametrize(
    ("name", "mime", "expected"),
    [
        ("report.pdf", "", "report.pdf"),
        ("Kostenplan für März (neu).ods", "", "Kostenplan_für_März_(neu).ods"),
        ("../../etc/passwd", "", "passwd"),
        ("C:\\secret\\plan.doc", "", "plan.doc"),
        ("", "image/jpeg", "file.jpg"),
        ("", "", "file"),
        ("...", "audio/ogg", "file.oga"),
        ("photo", "image/png", "photo.png"),
        ("a\nb]\u202etxt.exe", "", "a_b__txt.exe"),
        (".git", "", "git"),
        ("x" * 300 + ".tar", "", "x" * 60 + ".tar"),
        ("名" * 300 + ".md", "", "名" * 60 + ".md"),
        ("हिन्दी.txt", "", "हिन्दी.txt"),
    ],
)
def test_a_senders_name_is_cleaned(name: str, mime: str, expected: str) -> None:
    """It leads nowhere, steers no terminal, closes no bracket, and stays readable."""
    assert cleaned_name(name, mime) == expected
    assert clean_path(cleaned_name(name, mime)).parts == (expected,)


def test_a_large_file_comes_out_piece_by_piece_as_it_went_in(workspace: Workspace, tmp_path: Path) -> None:
    """More than any tool reads at once; over its own limit it is refused, and what is not for a turn looks absent."""
    path = store(workspace, MAIN, incoming(tmp_path, LARGE))
    pieces = list(workspace.pieces(path, MAIN, len(LARGE)))
    assert b"".join(pieces) == LARGE
    assert max(map(len, pieces)) <= 65_536
    with pytest.raises(TooLargeError, match="at most 2,999,999"):
        list(workspace.pieces(path, MAIN, len(LARGE) - 1))
    with pytest.raises(NoSuchFileError):
        list(workspace.pieces(path, GROUP, len(LARGE)))
    (workspace.folder.root / "link").symlink_to(workspace.folder.root / path)
    for absent in ("none", "attachments", "link"):
        with pytest.raises(NoSuchFileError):
            list(workspace.pieces(absent, MAIN, 10**9))
