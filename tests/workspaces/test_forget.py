"""Notes go out of their files whole, and nothing around them moves."""

import time
from pathlib import Path, PurePosixPath

import pytest

from tests.workspaces.turns import GROUP, MAIN, OWN, SUBAGENT
from workspaces.access import AgentId
from workspaces.errors import EditError
from workspaces.forget import NotePassage, author_of, forget, forgettable, holding, notes_in, notes_of, without_notes
from workspaces.workspace import Workspace

DAY = PurePosixPath("memory/2026-03-01.md")


def mark_of(whole: str, words: str) -> NotePassage:
    (note,) = holding(notes_of(DAY, whole), words)
    return note


@pytest.mark.parametrize(
    ("whole", "words", "left"),
    [
        ("# Day\n\n- 09:00 tea\n- 10:00 keys\n", "tea", "# Day\n\n- 10:00 keys\n"),
        ("# Day\n\n- 09:00 tea\n- 10:00 keys\n", "KEYS", "# Day\n\n- 09:00 tea\n"),
        ("- 09:00 tea\n  with milk\n- 10:00 keys\n", "milk", "- 10:00 keys\n"),
        ("- 09:00 tea\r\n- 10:00 keys\r\n", "tea", "- 10:00 keys\r\n"),
        ("\ufeff- tea\n- keys\n", "tea", "\ufeff- keys\n"),
        ("One paragraph.\n\nAnother tea.\n\nLast.\n", "tea", "One paragraph.\n\nLast.\n"),
        ("tea first.\n\nLast.\n", "tea", "Last.\n"),
        ("First.\n\ntea last", "tea", "First.\n\n"),
        ("| a | b |\n|---|---|\n| tea | 1 |\n| keys | 2 |\n", "tea", "| a | b |\n|---|---|\n| keys | 2 |\n"),
        ("- tea", "tea", ""),
        ("- 09:00 ünï tea\n", "TEA ÜNÏ", ""),
    ],
)
def test_a_note_goes_and_everything_else_stays(whole: str, words: str, left: str) -> None:
    """Byte for byte: line ends, byte order mark, what is above and below."""
    assert without_notes(whole, [mark_of(whole, words)]) == left


def test_a_mark_names_its_note_when_lines_come_and_go() -> None:
    """Also among notes that say the same."""
    before = "- tea\n- keys\n- tea\n"
    after = "# Day\n\n- new\n- tea\n- keys\n- tea\n"
    assert [note.mark for note in notes_of(DAY, before)] == [note.mark for note in notes_of(DAY, after)[-3:]]
    assert len({note.mark for note in notes_of(DAY, before)}) == 3
    assert notes_of(DAY, before)[0].mark != notes_of(PurePosixPath("MEMORY.md"), before)[0].mark


def test_words_hold_all_or_nothing() -> None:
    """Every word has to be there, in any order; no words hold nothing."""
    notes = notes_of(DAY, "- green tea\n- black tea\n")
    assert [note.text for note in holding(notes, "tea")] == ["green tea", "black tea"]
    assert [note.text for note in holding(notes, "tea black")] == ["black tea"]
    assert holding(notes, "tea coffee") == []
    assert holding(notes, "  ") == []


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    for name in ("MEMORY.md", str(DAY), f"{OWN}/2026-03-01.md", "memory/shared/other/2026-03-01.md", "plan.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("- tea\n- keys\n- tea\n")
    return Workspace.open(tmp_path, AgentId("main"))


def test_a_turn_forgets_only_what_it_may_write(workspace: Workspace) -> None:
    """The owner's chat its own notes, a group the group's; who writes nothing forgets nothing."""
    assert [str(path) for path in forgettable(workspace, MAIN)] == [str(DAY), "MEMORY.md"]
    assert [str(path) for path in forgettable(workspace, GROUP)] == [f"{OWN}/2026-03-01.md"]
    assert forgettable(workspace, SUBAGENT) == []


def test_several_notes_of_one_file_go_at_once(workspace: Workspace) -> None:
    """And of two that say the same, the one that is meant."""
    first, _, last = notes_in(workspace, MAIN, DAY)
    forget(workspace, MAIN, [last, first])
    assert workspace.read(DAY, MAIN).whole == "- keys\n"
    (_, middle, _) = notes_in(workspace, MAIN, PurePosixPath("MEMORY.md"))
    forget(workspace, MAIN, [middle])
    assert workspace.read("MEMORY.md", MAIN).whole == "- tea\n- tea\n"


def test_a_note_that_moved_is_not_taken_for_another(workspace: Workspace, tmp_path: Path) -> None:
    """What was found before a file changed is looked for again, not cut out by its line."""
    first, *_ = notes_in(workspace, MAIN, DAY)
    (tmp_path / DAY).write_text("- new\n- tea\n")
    with pytest.raises(EditError, match="changed in between"):
        forget(workspace, MAIN, [first])
    assert workspace.read(DAY, MAIN).whole == "- new\n- tea\n"


def test_a_part_of_a_long_passage_is_not_cut_out(workspace: Workspace, tmp_path: Path) -> None:
    """Its lines hold other parts too; the file stays as it is."""
    prose = " ".join(f"Sentence {number} speaks of tea at some length and width." for number in range(80))
    (tmp_path / DAY).write_text(prose)
    parts = notes_in(workspace, MAIN, DAY)
    assert len(parts) > 1
    with pytest.raises(EditError, match="part of a longer passage"):
        forget(workspace, MAIN, parts[:1])
    assert workspace.read(DAY, MAIN).whole == prose


def test_the_author_of_a_note_is_found_soon_among_many_versions() -> None:
    """Of two notes alike each has its own author; a chat of 400 notes a day took several seconds for each `/forget`."""
    place = PurePosixPath("memory/shared/telegram.home.-100/2026-11-29.md")
    lines = [f"- 10:00 Ann: note {number}" for number in range(398)] + ["- 10:00 Ann: note 7", "- 10:00 Ann: note 70"]
    versions = ["\n".join(["# Day", "", *lines[:number], ""]) for number in range(401)]
    newest_first = [(text, f"author {number}") for number, text in enumerate(versions)][::-1]
    notes = notes_of(place, versions[-1])
    began = time.process_time()
    assert [author_of(notes[at], newest_first) for at in (0, 7, 398, 399)] == [
        "author 1",
        "author 8",
        "author 399",
        "author 400",
    ]
    assert time.process_time() - began < 2
