"""Entries of notes: their words, and who speaks."""

from datetime import date
from pathlib import PurePosixPath

import pytest

from tests.workspaces.memory.checkup.notes import lasting, of_day
from workspaces.memory.checkup.noted import noted_entries


@pytest.mark.parametrize(
    ("line", "speaker", "text"),
    [
        ("- 09:10 Rule: read a file first", "", "Rule: read a file first"),
        ("- Owner (09:10): my code is 4411", "Owner", "my code is 4411"),
        ("- 09:10 main: it is 4411", "main", "it is 4411"),
        ("- Front door: RAL 6009", "", "Front door: RAL 6009"),
        ("- 09:10 walked the dog", "", "walked the dog"),
    ],
)
def test_a_label_before_a_colon_is_no_speaker(line: str, speaker: str, text: str) -> None:
    """The owner and the agent speak; a rule and a door do not."""
    [entry] = noted_entries(PurePosixPath("memory/2026-03-02.md"), f"# 2026-03-02\n\n{line}\n", "main")
    assert (entry.speaker, entry.text) == (speaker, text)


def test_somebody_who_speaks_often_in_a_day_is_a_speaker() -> None:
    """As in an imported conversation."""
    said = "".join(f"- 10:0{place} Ann: I said {place}\n" for place in range(3))
    entries = list(noted_entries(PurePosixPath("memory/2026-03-02.md"), said, "main"))
    assert {entry.speaker for entry in entries} == {"Ann"}
    assert not any(entry.is_note for entry in entries)


def test_a_line_of_a_conversation_over_two_days_is_of_the_day_it_was_said() -> None:
    """Else its copy in the notes of that day counts as said on two days, and is proposed for `MEMORY.md`."""
    path = PurePosixPath("memory/2026-09-09-1403.md")
    text = "# Conversation\n\n## 2026-09-08\n\n- 12:29 Owner: my room is 308\n\n## 2026-09-09\n\n- 07:00 Owner: off\n"
    assert [entry.day for entry in noted_entries(path, text, "main")] == [date(2026, 9, 8), date(2026, 9, 9)]
    assert [entry.day for entry in lasting("the trip of 2026-10-01")] == [None]


def test_tables_code_and_replaced_lines_are_no_notes() -> None:
    """A line that says until when it held has been judged."""
    text = (
        "# Memory\n\n| a | b |\n|---|---|\n| c | d |\n\n```\nx = 1\n```\n\n- old (until 2026-01-01, now MEMORY.md#L9)\n"
    )
    entries = list(noted_entries(PurePosixPath("MEMORY.md"), text))
    assert [entry.is_note for entry in entries] == [False]


def test_equal_lines_are_counted() -> None:
    """Two of one file are told apart."""
    assert [entry.copy for entry in lasting("a b c", "x y z", "a b c")] == [0, 0, 1]


def test_parts_of_a_long_paragraph_share_their_line() -> None:
    """Nothing is proposed about them."""
    long = " ".join(f"This is the sentence number {place} of it." for place in range(400))
    assert all(entry.is_part for entry in of_day("2026-03-02", long))
