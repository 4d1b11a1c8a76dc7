"""MEMORY.md keeps its sections, and every byte that is not concerned."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workspaces.turns import AGENT, GROUP, HEARTBEAT, MAIN
from workspaces.errors import EditError, NoSuchFileError
from workspaces.sections import Category, memory_file, placed, replaced, save_memory, saved, update_memory, updated
from workspaces.workspace import Workspace

LINES = st.sampled_from(
    ["# Memory", "## Profile", "## Notes", "### Projects ##", "## Mine", "Notes", "---", "===", "", "```", "- a", "x"]
)
TEXTS = st.builds(
    lambda bom, lines, end, last: bom + end.join(lines) + (end if last else ""),
    st.sampled_from(["", "\ufeff"]),
    st.lists(LINES, max_size=12),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace.create(tmp_path / "workspace", AGENT)


def test_entries_stand_in_their_sections(workspace: Workspace) -> None:
    """In the order of being saved, with the line that was written; the template's other sections stay."""
    assert save_memory(workspace, MAIN, "Sails a boat.", Category.PROFILE).line == 5
    assert save_memory(workspace, MAIN, "Called Ondine.", Category.PROFILE).line == 6
    save_memory(workspace, HEARTBEAT, "Prefers tea.", Category.PREFERENCES)
    text = workspace.read("MEMORY.md", MAIN).whole
    profile, preferences = "- Sails a boat.\n- Called Ondine.\n", "- Prefers tea.\n"
    assert text.startswith(f"# Memory\n\n## Profile\n\n{profile}\n## Preferences\n\n{preferences}\n## Interests\n")


def test_a_memory_is_begun_where_there_is_none(workspace: Workspace) -> None:
    """With its heading and the one section; a file of another case is not doubled."""
    (workspace.folder.root / "MEMORY.md").unlink()
    with pytest.raises(NoSuchFileError):
        update_memory(workspace, MAIN, "a", "b")
    save_memory(workspace, MAIN, "Late riser.", Category.NOTES)
    assert workspace.read("MEMORY.md", MAIN).whole == "# Memory\n\n## Notes\n\n- Late riser.\n"
    (workspace.folder.root / "MEMORY.md").rename(workspace.folder.root / "memory.md")
    assert str(save_memory(workspace, MAIN, "Really.", Category.NOTES).path) == "memory.md"


def test_only_private_turns_write_it(workspace: Workspace) -> None:
    """For a group it looks absent, and nothing is written."""
    before = workspace.read("MEMORY.md", MAIN).digest
    with pytest.raises(NoSuchFileError):
        save_memory(workspace, GROUP, "x", Category.NOTES)
    with pytest.raises(NoSuchFileError):
        update_memory(workspace, GROUP, "Memory", "x")
    assert workspace.read("MEMORY.md", MAIN).digest == before


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "## Notes\n\n- e\n"),
        ("mine", "mine\n\n## Notes\n\n- e\n"),
        ("\ufeff# Notes\r\n", "\ufeff# Notes\r\n\r\n- e\r\n"),
        ("## NOTES ##\nfree words\n## Other\n", "## NOTES ##\nfree words\n- e\n\n## Other\n"),
        ("## Notes\n\n- a\n\n### Old\n- b\n", "## Notes\n\n- a\n- e\n\n### Old\n- b\n"),
        ("## Notes\n\nOther\n-----\nx\n", "## Notes\n\n- e\n\nOther\n-----\nx\n"),
        ("```\n## Notes\n```\n", "```\n## Notes\n```\n\n## Notes\n\n- e\n"),
        ("```\n## Notes\n", "```\n## Notes\n\n- e\n"),
    ],
)
def test_odd_memories_are_kept(text: str, expected: str) -> None:
    """Without sections, with others, with a BOM, CRLF or code: only the entry comes in."""
    assert saved(text, "e", Category.NOTES) == expected


@given(TEXTS, st.text(min_size=1), st.sampled_from(Category))
def test_saving_only_inserts_whole_lines(text: str, entry: str, category: Category) -> None:
    """Nothing that was there goes, a second entry needs no second section, and the line ends stay of one kind."""
    try:
        once = saved(text, entry, category)
    except ValueError:
        return
    at, added = placed(text, entry, category)
    assert text == once[:at] + once[at + len(added) :]
    assert once.startswith("\ufeff") == text.startswith("\ufeff")
    assert len(saved(once, "again", category)) - len(once) <= len("- again\r\n") + 2
    if "\r\n" in text:
        assert added.count("\n") == added.count("\r\n")


@given(TEXTS, st.sampled_from(Category))
def test_what_was_saved_can_be_changed_and_deleted(text: str, category: Category) -> None:
    """A change and its reverse give the same bytes; a deletion takes the whole item."""
    once = saved(text, "The boat is called Ondine.", category)
    changed = updated(once, "Ondine", "Mistral")
    assert updated(changed, "Mistral", "Ondine") == once
    gone = updated(once, "The boat is called Ondine.", None)
    assert once.count("\n") - gone.count("\n") == 1
    assert "Ondine" not in gone


def test_a_passage_goes_without_the_rest_of_its_line() -> None:
    """Only an item that would be empty goes with its line."""
    assert updated("- a, b\n- c\n", ", b", None) == "- a\n- c\n"
    assert updated("\ufeff- a\n- c", "c", None) == "\ufeff- a\n"
    assert updated("\ufeff- a\n- c", "a", None) == "\ufeff- c"


def test_a_change_needs_exactly_one_match() -> None:
    """None is not found; several are ambiguous, with their lines."""
    with pytest.raises(EditError, match=r"(?s)not found.*the nearest:\nline 2: - Green tea$"):
        replaced("- wine\n- Green tea\n", "- green  tea", "x")
    with pytest.raises(EditError, match=r"(?s)ambiguous.*2 times.*line 1: - tea\nline 3: - more tea"):
        replaced("- tea\n\n- more tea\n", "tea", "x")
    with pytest.raises(EditError, match="empty"):
        replaced("- tea\n", " ", "x")


def test_an_entry_forges_no_section() -> None:
    """Its lines cannot read as headings."""
    assert saved("", "# Profile\n## Notes", Category.NOTES) == "## Notes\n\n- \\# Profile\n  \\## Notes\n"
    assert updated("- a\n", "a", "b\n# c") == "- b\n  \\# c\n"


def test_a_change_can_be_worked_out_without_being_made(workspace: Workspace) -> None:
    """The text is what the writing functions then leave in the file; without a file there is nothing to correct."""
    path, whole = memory_file(workspace, MAIN)
    later = saved(whole, "Sails.", Category.PROFILE)
    corrected = updated(later, "Sails.", "Rows.")
    assert memory_file(workspace, MAIN) == (path, whole)
    save_memory(workspace, MAIN, "Sails.", Category.PROFILE)
    assert memory_file(workspace, MAIN) == (path, later)
    update_memory(workspace, MAIN, "Sails.", "Rows.")
    assert memory_file(workspace, MAIN) == (path, corrected)
    assert saved(None, "Sails.", Category.NOTES) == "# Memory\n\n## Notes\n\n- Sails.\n"
    with pytest.raises(NoSuchFileError, match="no long-term memory yet"):
        updated(None, "Sails.", None)
