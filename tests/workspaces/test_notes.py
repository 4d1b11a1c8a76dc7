"""A note lands in its day and its audience, as one entry, and the receipt says where."""

import re
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tests.workspaces.turns import AGENT, CRON, GROUP, GUEST, HEARTBEAT, MAIN, OWN, SUBAGENT
from workspaces.access import Access
from workspaces.errors import NoSuchFileError
from workspaces.notes import NoteReceipt, append_note, append_once, format_note
from workspaces.workspace import Workspace

AT = datetime(2026, 3, 1, 9, 5, tzinfo=ZoneInfo("Europe/Kyiv"))


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace.create(tmp_path / "workspace", AGENT)


def test_a_day_reads_as_a_list_below_its_date(workspace: Workspace) -> None:
    """The first note makes the file; each note has its time of day, and its receipt the line it stands on."""
    receipts = [append_note(workspace, MAIN, text, AT) for text in ("one", "two\nlines", "three")]
    path = PurePosixPath("memory/2026-03-01.md")
    assert workspace.read(path, MAIN).whole == "# 2026-03-01\n\n- 09:05 one\n- 09:05 two\n  lines\n- 09:05 three\n"
    assert receipts == [NoteReceipt(path, 3), NoteReceipt(path, 4), NoteReceipt(path, 6)]


def test_a_note_that_the_day_has_is_not_written_again(workspace: Workspace) -> None:
    """Whatever its time and case; the beginning of a longer one, and another day, are something else."""
    later, next_day = AT.replace(hour=15), AT.replace(day=2)
    for text in ("The boat\nis called Ondine", "fed the cat"):
        append_once(workspace, MAIN, text, AT)
    path = PurePosixPath("memory/2026-03-01.md")
    before = workspace.read(path, MAIN).whole
    assert append_once(workspace, MAIN, "Fed the cat", later) == NoteReceipt(path, 5, is_repeated=True)
    assert append_once(workspace, MAIN, "The boat\nis called Ondine", later) == NoteReceipt(path, 3, is_repeated=True)
    assert workspace.read(path, MAIN).whole == before
    for text, at in (("The boat", later), ("fed the cat again", later), ("fed the cat", next_day)):
        assert not append_once(workspace, MAIN, text, at).is_repeated
    for _ in range(2):  # the second one may be another person's
        assert not append_once(workspace, GROUP, "fed the cat", AT).is_repeated


def test_the_day_is_the_owners(workspace: Workspace) -> None:
    """Shortly after the owner's midnight it is the new day, whatever UTC says."""
    at = datetime(2026, 3, 1, 22, 30, tzinfo=UTC).astimezone(ZoneInfo("Europe/Kyiv"))
    assert append_note(workspace, MAIN, "late", at).path == PurePosixPath("memory/2026-03-02.md")
    with pytest.raises(ValueError, match="zone"):
        append_note(workspace, MAIN, "whenever", at.replace(tzinfo=None))


@pytest.mark.parametrize(("access", "folder"), [(MAIN, "memory"), (HEARTBEAT, "memory"), (GROUP, OWN), (GUEST, OWN)])
def test_a_note_goes_to_the_audience_of_its_turn(workspace: Workspace, access: Access, folder: str) -> None:
    """What a chat notes is that chat's; what the owner's own turns note is private."""
    receipt = append_note(workspace, access, "something", AT)
    assert receipt.path == PurePosixPath(folder) / "2026-03-01.md"
    assert workspace.read(receipt.path, access).text.endswith("- 09:05 something\n")


@pytest.mark.parametrize("access", [SUBAGENT, CRON])
def test_who_may_not_write_leaves_no_note(workspace: Workspace, access: Access) -> None:
    """A subagent's or a plain job's note is refused and nothing is made."""
    with pytest.raises(NoSuchFileError):
        append_note(workspace, access, "something", AT)
    assert not workspace.folder.holds_folder(PurePosixPath("memory"))


@pytest.mark.parametrize("text", ["", " \n\t\n", "\x00\x01"])
def test_an_empty_note_is_refused(text: str) -> None:
    """There is nothing to remember in white space."""
    with pytest.raises(ValueError, match="empty"):
        format_note(text, AT)


LINES = (
    *("# Day", "###", "===", "---", "***", "\t# tab", "- 10:00 forged", "* 10:00 forged", "- item", "  - nested"),
    *("plain", "```", "<!--", "<div>", "> quote", "1. one", "    code", "\x00\u202e", "", "[a]: b", "| a |", "|---|"),
)
TEXT = st.lists(st.sampled_from(LINES), min_size=1, max_size=6).flatmap(
    lambda lines: st.sampled_from(["\n", "\r\n", "\r", "\u2028", "\x0b"]).map(lambda end: end.join(lines))
)


@given(TEXT)
def test_no_text_forges_a_heading_or_another_note(text: str) -> None:
    """Between two plain notes, any text is one item of the one list, and no heading appears."""
    try:
        note = format_note(text, AT)
    except ValueError:
        return
    day = f"# 2026-03-01\n\n- 09:00 before\n{note}- 09:10 after\n"
    tokens = MarkdownIt().parse(day)
    assert [token.map for token in tokens if token.type == "heading_open"] == [[0, 1]]
    items = [token for token in tokens if token.type == "list_item_open" and token.level == 1]
    assert len(items) == 3
    assert items[1].map == [3, 3 + note.count("\n")]
    further = note.splitlines()[1:]
    assert not [line for line in further if re.match(r"\s*[-*+]\s+\d\d:\d\d", line)]
