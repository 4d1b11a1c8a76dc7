"""A turn sees of its agent's home what its access allows, and changes only what it knows."""

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from tests.workspaces.test_access import CELLS
from tests.workspaces.test_files import nobody
from tests.workspaces.turns import AGENT, GROUP, GUEST, MAIN, OTHER, OWN, SUBAGENT
from workspaces.access import Access, AgentId
from workspaces.errors import (
    BadPathError,
    EditError,
    FileChangedError,
    NoSuchFileError,
    NotTextError,
    WorkspaceUnusableError,
)
from workspaces.secrets import REMOVED, guarding
from workspaces.workspace import Workspace, replace_once

TEMPLATES = {
    "AGENTS.md",
    "BOOTSTRAP.md",
    "HEARTBEAT.md",
    "IDENTITY.md",
    "MEMORY.md",
    "SOUL.md",
    "TOOLS.md",
    "USER.md",
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "agents/main/workspace"


@pytest.fixture
def workspace(home: Path) -> Workspace:
    return Workspace.create(home, AGENT)


def put(home: Path, path: str, data: bytes = b"text\n") -> None:
    (home / path).parent.mkdir(parents=True, exist_ok=True)
    (home / path).write_bytes(data)


def test_a_new_agent_gets_a_home_of_its_own(workspace: Workspace, home: Path) -> None:
    """The folder is private to its user and holds every template."""
    assert home.stat().st_mode & 0o777 == 0o700
    assert {path.name for path in home.iterdir()} == TEMPLATES


def test_the_templates_leave_room_in_the_first_request(workspace: Workspace, home: Path) -> None:
    """All that a new agent's prompt shows is under 2,400 bytes, for a whole request for "hello" under 8 KB."""
    assert sum((home / name).stat().st_size for name in TEMPLATES - {"HEARTBEAT.md"}) < 2_400


def test_a_home_that_is_lived_in_is_only_completed(home: Path) -> None:
    """Existing files stay, twins of templates count as them, and nobody is asked for their name again."""
    put(home, "AGENTS.md", b"mine")
    put(home, "memory.md", b"mine")
    for _ in range(2):
        Workspace.create(home, AGENT)
    assert {path.name for path in home.iterdir()} == TEMPLATES - {"BOOTSTRAP.md", "MEMORY.md"} | {"memory.md"}
    assert (home / "AGENTS.md").read_bytes() == b"mine"


@pytest.mark.parametrize("make", [os.link, os.symlink])
def test_a_second_name_costs_a_home_nothing_but_its_file(
    tmp_path: Path, home: Path, make: Callable[[Path, Path], None]
) -> None:
    """A home of links opens, nothing in it is replaced, and what is missing is added, but nobody's first run."""
    for name in ("AGENTS.md", "MEMORY.md"):
        (tmp_path / name).write_text("mine")
        home.mkdir(parents=True, exist_ok=True)
        make(tmp_path / name, home / name)
    workspace = Workspace.create(home, AGENT)
    assert {path.name for path in home.iterdir()} == TEMPLATES - {"BOOTSTRAP.md"}
    assert (home / "MEMORY.md").read_text() == (tmp_path / "MEMORY.md").read_text() == "mine"
    assert workspace.present("MEMORY.md", MAIN) is None
    assert workspace.present("SOUL.md", MAIN) is not None


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (
            lambda _: None,
            r"there is no workspace at .*workspace\. .*moved to .*; `strandline init --yes` makes a new one",
        ),
        (Path.touch, r"workspace is not a folder; move what is there"),
        (lambda path: path.symlink_to("nowhere"), r"workspace is not a folder; move what is there"),
    ],
)
def test_what_is_no_folder_is_refused(tmp_path: Path, make: Callable[[Path], None], told: str) -> None:
    """A missing folder, a file or a broken link in its place is named, and nothing is made."""
    place = tmp_path / "workspace"
    make(place)
    before = set(tmp_path.iterdir())
    with pytest.raises(WorkspaceUnusableError, match=told):
        Workspace.open(place, AGENT)
    assert set(tmp_path.iterdir()) == before


@pytest.mark.parametrize("mode", [0o500, 0o300, 0o600, 0])
def test_a_folder_without_permissions_is_refused_before_anything_is_touched(mode: int) -> None:
    """Unreadable and read-only workspaces are told apart from empty ones, and stay as they are."""
    with nobody() as home:
        place = home / "workspace"
        Workspace.create(place, AGENT)
        (home / "workspace.lock").unlink()
        place.chmod(mode)
        with pytest.raises(WorkspaceUnusableError, match="permissions"):
            Workspace.open(place, AGENT)
        assert [path.name for path in home.iterdir()] == ["workspace"]
        place.chmod(0o700)


def test_opening_clears_what_a_crash_left(workspace: Workspace, home: Path) -> None:
    """Half-written files of a dead writer are gone; files that merely look alike stay."""
    put(home, "memory/.strandline-0123456789abcdef.tmp")
    put(home, "memory/.strandline-notes.md")
    Workspace.open(home, AGENT)
    assert [path.name for path in (home / "memory").iterdir()] == [".strandline-notes.md"]


@pytest.mark.parametrize(("path", "access", "cell"), [cell for cell in CELLS if cell[0] not in {"memory", "memory.md"}])
def test_the_matrix_holds_on_real_files(home: Path, path: str, access: Access, cell: str) -> None:
    """Each session type reads and writes exactly its cells of the table, of files that are there."""
    put(home, path)
    workspace = Workspace.open(home, AGENT)
    seen = workspace.read(path, MAIN)
    with _allowed("r" in cell):
        assert workspace.read(path, access).whole == "text\n"
    for change in (
        lambda: workspace.write(path, "changed\n", access, seen),
        lambda: workspace.edit(path, "changed", "edited", access),
        lambda: workspace.append(path, "- added\n", "", access),
    ):
        with _allowed("w" in cell):
            change()
    assert (home / path).read_text() == ("edited\n- added\n" if "w" in cell else "text\n")
    with _allowed("w" in cell):
        workspace.delete(path, access, workspace.read(path, MAIN))
    assert (home / path).exists() is ("w" not in cell)


def _allowed(is_allowed: bool) -> AbstractContextManager[object]:
    return nullcontext() if is_allowed else pytest.raises(NoSuchFileError)


@pytest.mark.parametrize("access", [GROUP, GUEST, SUBAGENT])
@pytest.mark.parametrize(
    "path", ["MEMORY.md", "memory/2026-03-01.md", "plans", f"{OTHER}/x.md", "memory", "memory/shared"]
)
def test_refused_and_absent_are_told_in_the_same_bytes(home: Path, access: Access, path: str) -> None:
    """Nothing that a turn may not see shows by a refusal, whether it is there or not."""
    home.mkdir(parents=True)
    workspace = Workspace.open(home, AGENT)
    absent = [_refusal(attempt, workspace, path, access) for attempt in ATTEMPTS]
    put(home, path if "." in path else f"{path}/x.md", b"secret")
    assert [_refusal(attempt, workspace, path, access) for attempt in ATTEMPTS] == absent
    assert len(set(absent)) == 1


Attempt = Callable[[Workspace, str, Access], object]
ATTEMPTS: list[Attempt] = [
    lambda workspace, path, access: workspace.read(path, access),
    lambda workspace, path, access: workspace.list(path, access),
    lambda workspace, path, access: workspace.edit(path, "secret", "x", access),
    lambda workspace, path, access: workspace.edit(path, "absent", "x", access),
    lambda workspace, path, access: workspace.write(path, "x", access, None),
    lambda workspace, path, access: workspace.append(path, "x\n", "", access),
]


def _refusal(attempt: Attempt, workspace: Workspace, path: str, access: Access) -> str:
    with pytest.raises(NoSuchFileError) as refusal:
        attempt(workspace, path, access)
    return str(refusal.value)


def test_no_agent_reaches_the_home_of_another(workspace: Workspace) -> None:
    """An access for another agent finds nothing at all, its owner's own included."""
    stranger = structs.replace(MAIN, agent=AgentId("other"))
    seen = workspace.read("AGENTS.md", MAIN)
    for attempt in (
        lambda: workspace.read("AGENTS.md", stranger),
        lambda: workspace.list(".", stranger),
        lambda: workspace.write("AGENTS.md", "x", stranger, seen),
        lambda: workspace.append("AGENTS.md", "x\n", "", stranger),
        lambda: workspace.delete("AGENTS.md", stranger, seen),
    ):
        with pytest.raises(NoSuchFileError):
            attempt()


def test_a_listing_shows_what_the_turn_may_read(workspace: Workspace, home: Path) -> None:
    """The owner sees all; a group sees the files of its row and the way to its own notes, once there are any."""
    put(home, "memory/2026-03-01.md")
    put(home, f"{OTHER}/2026-03-01.md")

    def seen(path: str, access: Access) -> set[str]:
        return {entry.name for entry in workspace.list(path, access).entries}

    readable = {"AGENTS.md", "TOOLS.md", "SOUL.md", "IDENTITY.md"}
    assert seen(".", MAIN) == TEMPLATES | {"memory"}
    assert seen(".", GROUP) == readable
    assert seen(".", SUBAGENT) == {"AGENTS.md", "TOOLS.md"}
    put(home, f"{OWN}/2026-03-01.md")
    assert seen(".", GROUP) == readable | {"memory"}
    assert seen("memory", GROUP) == {"shared"}
    assert seen("memory/shared", GROUP) == {PurePosixPath(OWN).name}
    assert seen(OWN, GROUP) == {"2026-03-01.md"}
    assert seen(".", SUBAGENT) == {"AGENTS.md", "TOOLS.md"}
    assert seen("memory", MAIN) == {"2026-03-01.md", "shared"}


def test_a_long_listing_is_capped_and_says_so(workspace: Workspace, home: Path) -> None:
    """Of 510 files 500 are shown, and the other ten are counted."""
    for number in range(510):
        put(home, f"notes/{number:03}.md")
    listing = workspace.list("notes", MAIN)
    assert (len(listing.entries), listing.omitted) == (500, 10)


def test_a_part_of_a_file_is_read_by_line_numbers(workspace: Workspace, home: Path) -> None:
    """Lines are counted from 1 by line feeds alone, and keep their ends; beyond the end there are none."""
    put(home, "a.md", "one\r\ntwo\x0bstill two\nthree\u2028still three".encode())
    file = workspace.read("a.md", MAIN, 2, 1)
    assert (file.text, file.first_line, file.total_lines) == ("two\x0bstill two\n", 2, 3)
    assert workspace.read("a.md", MAIN, 3).text == "three\u2028still three"
    assert workspace.read("a.md", MAIN, 4).text == ""
    assert workspace.read("a.md", MAIN).text == file.whole


def test_which_file_it_is_is_told_of_what_can_be_read(workspace: Workspace, home: Path) -> None:
    """A look at which file stands somewhere says what reading it would, and nothing of what is not for the turn."""
    put(home, f"{OWN}/plan.md")
    (home / OWN / "link.md").symlink_to("plan.md")
    assert workspace.identity("AGENTS.md", GROUP) == workspace.read("AGENTS.md", GROUP).identity
    assert workspace.identity(f"{OWN}/plan.md", GROUP) == workspace.read(f"{OWN}/plan.md", GROUP).identity
    for none in ("MEMORY.md", "missing.md", OWN, f"{OWN}/link.md"):
        assert workspace.identity(none, GROUP) is None
    (home / OWN / "other.md").hardlink_to(home / OWN / "plan.md")
    assert workspace.identity(f"{OWN}/plan.md", GROUP) is None


@pytest.mark.parametrize("data", [b"\xff\xfe#\0", b"text\0", b"caf\xe9"])
def test_what_is_not_text_is_not_read(workspace: Workspace, home: Path, data: bytes) -> None:
    """Binary files and other encodings are refused, not guessed at."""
    put(home, "a.md", data)
    with pytest.raises(NotTextError):
        workspace.read("a.md", MAIN)


@pytest.mark.parametrize("text", ["a\0b", "\ud800"])
def test_what_is_not_text_is_not_written(workspace: Workspace, text: str) -> None:
    """NUL and lone surrogates never get into a file."""
    with pytest.raises(NotTextError):
        workspace.write("a.md", text, MAIN, None)
    with pytest.raises(NotTextError):
        workspace.append("a.md", text, "", MAIN)
    with pytest.raises(NoSuchFileError):
        workspace.read("a.md", MAIN)


def test_a_file_is_replaced_only_as_it_was_read(workspace: Workspace, home: Path) -> None:
    """The owner's edit between a read and a write, edit or delete stays, and the refusal shows it."""
    seen = workspace.read("USER.md", MAIN)
    with (home / "USER.md").open("a") as file:
        file.write("- Likes sailing\n")
    theirs = (home / "USER.md").read_bytes()
    for attempt in (
        lambda: workspace.write("USER.md", "mine", MAIN, seen),
        lambda: workspace.edit("USER.md", "Time zone:", "Time zone: UTC", MAIN, seen),
        lambda: workspace.delete("USER.md", MAIN, seen),
    ):
        with pytest.raises(FileChangedError, match=r"(?s)changed since it was read.*\n\+- Likes sailing"):
            attempt()
    assert (home / "USER.md").read_bytes() == theirs
    with pytest.raises(FileChangedError, match="read it before"):
        workspace.write("USER.md", "mine", MAIN, None)
    (home / "USER.md").unlink()
    with pytest.raises(FileChangedError, match="removed"):
        workspace.write("USER.md", "mine", MAIN, seen)
    assert not (home / "USER.md").exists()


def test_a_difference_too_long_to_work_out_is_not_worked_out(workspace: Workspace, home: Path) -> None:
    """Comparing takes time that grows with the square of the lines: long files are refused without it."""
    put(home, "a.md", b"".join(b"%d\n" % number for number in range(100_000)))
    seen = workspace.read("a.md", MAIN)
    put(home, "a.md", b"".join(b"%d\n" % (number * 7919 % 100_000) for number in range(100_000)))
    with pytest.raises(FileChangedError, match="too long to show"):
        workspace.write("a.md", "mine", MAIN, seen)


def test_writing_returns_the_file_for_the_next_write(workspace: Workspace) -> None:
    """A turn goes on from what it wrote itself."""
    file = workspace.write("a.md", "one\n", MAIN, None)
    file = workspace.write("a.md", "two\n", MAIN, file)
    file = workspace.edit("a.md", "two", "three", MAIN, file)
    assert file.whole == workspace.read("a.md", MAIN).whole == "three\n"
    workspace.delete("a.md", MAIN, file)
    with pytest.raises(NoSuchFileError):
        workspace.read("a.md", MAIN)


def test_an_edit_changes_no_byte_outside_it(workspace: Workspace, home: Path) -> None:
    """Byte order mark, CRLF, odd separators and a missing line end stay; what is new takes the file's line ends."""
    put(home, "a.md", b"\xef\xbb\xbf# T\r\n\r\none\r\ntwo\x0b\r\nend")
    workspace.edit("a.md", "one\ntwo", "1\n2\n3", MAIN)
    assert (home / "a.md").read_bytes() == b"\xef\xbb\xbf# T\r\n\r\n1\r\n2\r\n3\x0b\r\nend"
    put(home, "b.md", b"one\r\ntwo\nthree")
    workspace.edit("b.md", "two\n", "2\n", MAIN)
    assert (home / "b.md").read_bytes() == b"one\r\n2\nthree"


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("absent", "x", "does not occur"),
        ("same", "x", r"occurs 3 times in a.md; give more of it\nline 1: same\nline 3: same same\nline 3: same same$"),
        ("aa", "x", r"occurs 2 times.*\nline 2: aaa\nline 2: aaa$"),
        ("", "x", "empty"),
        ("aaa", "aaa", "the same"),
    ],
)
def test_an_edit_needs_one_match(workspace: Workspace, home: Path, old: str, new: str, reason: str) -> None:
    """None, several (overlapping ones too) or an empty passage are refused, and nothing changes."""
    data = b"same\naaa\nsame same\n"
    put(home, "a.md", data)
    with pytest.raises(EditError, match=reason):
        workspace.edit("a.md", old, new, MAIN)
    assert (home / "a.md").read_bytes() == data


LINES = st.lists(st.sampled_from(["a", "b", "ab", "", "é", "\ufeff"]), max_size=8)


@given(LINES, LINES, LINES, st.sampled_from(["\n", "\r\n"]), st.text(alphabet="xy\n", max_size=5))
def test_what_is_around_the_only_match_stays(
    before: list[str], middle: list[str], after: list[str], end: str, new: str
) -> None:
    """Whatever surrounds the passage and whatever its line ends, only the passage is exchanged."""
    head, tail = end.join([*before, ""]), end.join(["", *after])
    old = end.join(["<", *middle, ">"])
    edited = replace_once(head + old + tail, old.replace("\r\n", "\n"), new, "a.md")
    is_crlf = "\r\n" in head + old + tail
    assert edited == head + (new.replace("\n", "\r\n") if is_crlf else new) + tail


def test_paths_are_cleaned_before_they_are_judged(workspace: Workspace, home: Path) -> None:
    """No spelling of a private path passes for a group's own."""
    put(home, f"{OWN}/x.md")
    for path in (f"{OWN}/../../2026-03-01.md", "./../workspace/MEMORY.md", "/MEMORY.md"):
        with pytest.raises(BadPathError):
            workspace.read(path, GROUP)
    with pytest.raises(NoSuchFileError):
        workspace.read("./MEMORY.md", GROUP)
    assert workspace.read(f"./{OWN}//x.md", GROUP).text == "text\n"


def test_a_key_that_its_owner_wrote_into_a_file_is_not_shown(workspace: Workspace, home: Path) -> None:
    """A turn sees that something was taken out, and can write above it without being told that the file changed."""
    key = "canary-of-the-owner"
    put(home, "MEMORY.md", f"- door {key}\n- tea\n".encode())
    with guarding([key]):
        seen = workspace.read("MEMORY.md", MAIN)
        assert (seen.text, seen.whole) == (f"- door {REMOVED}\n- tea\n",) * 2
        assert (home / "MEMORY.md").read_text() == f"- door {key}\n- tea\n"
        assert workspace.edit("MEMORY.md", "tea", "coffee", MAIN, seen).whole == f"- door {REMOVED}\n- coffee\n"
