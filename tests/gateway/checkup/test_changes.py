"""What accepted proposals change."""

from pathlib import PurePosixPath

import pytest
from msgspec import structs

from gateway.checkup.changes import TouchedNotes, carried_out, preview
from gateway.checkup.proposals import CheckupProposal
from gateway.errors import CheckupError
from workspaces.memory.checkup.findings import FindingKind

MEMORY = PurePosixPath("MEMORY.md")
LINES = "".join(f"- fact number {number} of it\n" for number in range(8))
FIRST, SECOND = "- fact number 0 of it", "- fact number 1 of it"
DOUBLE = CheckupProposal("1a2b3c4d", FindingKind.DOUBLE, "MEMORY.md", 2, SECOND, None, "twice", "MEMORY.md", FIRST, 1)


def notes(text: str = LINES, entries: int = 100) -> TouchedNotes:
    """Return a memory with *text*."""
    return TouchedNotes({MEMORY: text}, MEMORY, entries)


def test_a_note_is_found_where_it_has_moved() -> None:
    """And nothing else changes, whatever the line ends are."""
    moved = f"# New heading\n\n{LINES}"
    assert carried_out(notes(moved), [DOUBLE]) == {MEMORY: moved.replace("- fact number 1 of it\n", "")}
    windows = LINES.replace("\n", "\r\n")
    assert carried_out(notes(windows), [DOUBLE], "mine") == {MEMORY: windows.replace("fact number 1 of it", "mine")}


def test_a_note_that_changed_is_refused_with_the_difference() -> None:
    """The owner sees what it says now."""
    with pytest.raises(CheckupError, match=r"(?s)changed since.*-- fact number 1 of it.*\+- something else"):
        carried_out(notes(LINES.replace("- fact number 1 of it", "- something else")), [DOUBLE])


def test_a_double_stays_if_the_other_is_gone() -> None:
    """Also if both have the same words: of the last one nothing is taken."""
    with pytest.raises(CheckupError, match="It said: - fact number 0 of it"):
        carried_out(notes(LINES.replace("- fact number 0 of it\n", "")), [DOUBLE])
    equal = structs.replace(DOUBLE, beside="- fact number 1 of it")
    with pytest.raises(CheckupError, match="changed since"):
        carried_out(notes(), [equal])


def test_a_line_that_no_longer_holds_names_its_successor_where_that_stands() -> None:
    """The proposal was made when it stood elsewhere."""
    after = "- fact number 1 of it (until 2026-03-01, now MEMORY.md#L1)"
    marked = structs.replace(DOUBLE, kind=FindingKind.OUTDATED, after=after)
    assert carried_out(notes(f"# M\n\n{LINES}"), [marked])[MEMORY].split("\n")[3] == after.replace("#L1)", "#L3)")


def test_a_quarter_of_the_notes_may_go_and_no_more() -> None:
    """Of all of them, and of MEMORY.md; one alone may always go."""
    each = [
        structs.replace(DOUBLE, mark=str(n), line=n + 1, before=f"- fact number {n} of it", beside="") for n in range(8)
    ]
    assert carried_out(notes(), each[:2])
    with pytest.raises(CheckupError, match=r"3 of 100 notes, 3 of 8 in MEMORY.md: more than a quarter"):
        carried_out(notes(), each[:3])
    with pytest.raises(CheckupError, match="more than a quarter"):
        carried_out(notes(entries=7), each[:2])
    assert carried_out(notes("- fact number 0 of it\n", 1), each[:1]) == {MEMORY: ""}


def test_a_promotion_joins_its_section() -> None:
    """As shown, or in the owner's words."""
    day = PurePosixPath("memory/2026-03-02.md")
    shown = structs.replace(
        DOUBLE, kind=FindingKind.PROMOTION, path=str(day), after="profile: my size is 42", before="- x", beside=""
    )
    assert preview(shown).endswith("+- my size is 42")
    assert "## Profile\n\n- my size is 42\n" in carried_out(notes(), [shown])[MEMORY]
    assert "- size 42\n" in carried_out(notes(), [shown], "size 42")[MEMORY]
