"""Splitting of documents: entries, their lines, sections, days and contexts."""

from datetime import date
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workspaces.access import PRIVATE
from workspaces.memory.entry import Document, Entry
from workspaces.memory.text.chunking import CHUNK_TOKENS, Chunking, entries_of, token_count

DAY = date(2026, 3, 7)


def cut(text: str, chunking: Chunking = Chunking.ENTRIES) -> list[Entry]:
    return entries_of(Document("memory/note.md", PRIVATE, text, DAY, "digest"), chunking)


def places(text: str) -> list[tuple[int, int, str]]:
    return [(entry.start_line, entry.end_line, entry.text) for entry in cut(text)]


def test_each_list_item_and_paragraph_is_an_entry() -> None:
    """A nested item stands alone, a wrapped line and a second paragraph belong to their item."""
    text = "Intro over\ntwo lines.\n\n- one\n  wrapped\n\n  more\n  - nested\n- two\n\n1. first\n2. second\n"
    assert places(text) == [
        (1, 2, "Intro over\ntwo lines."),
        (4, 7, "one\nwrapped\n\nmore"),
        (8, 8, "nested"),
        (9, 9, "two"),
        (11, 11, "first"),
        (12, 12, "second"),
    ]


def test_headings_are_sections_and_are_found_when_nothing_else_is_under_them() -> None:
    """Headings are joined from the top, end with their level; a bare one is an entry if it says something."""
    text = "top\n\n# Plans\n## Garden\nplant\n## Call the roofer ##\n## Empty\n# Other\nSetext\n---\nlast\n"
    assert [(entry.text, entry.section) for entry in cut(text)] == [
        ("top", ""),
        ("plant", "Plans > Garden"),
        ("Call the roofer", "Plans"),
        ("last", "Other > Setext"),
    ]


def test_an_entry_knows_the_one_before_it_in_its_section() -> None:
    """Context does not cross a heading; positions count through the whole document."""
    entries = cut("- a\n- b\n# Next\n- c\n")
    assert [entry.context for entry in entries] == ["", "a", ""]
    assert [entry.position for entry in entries] == [0, 1, 2]


def test_the_nearest_dated_heading_gives_the_day() -> None:
    """A heading without a date keeps the one above it, and without any the document's counts."""
    entries = cut("- a\n# 2023-05-08\n- b\n## Evening\n- c\n# 9 May 2023\n- d\n# Undated\n- e\n")
    days = [DAY, date(2023, 5, 8), date(2023, 5, 8), date(2023, 5, 9), DAY]
    assert [entry.date for entry in entries] == days


def test_turns_and_log_lines_are_entries_of_their_own() -> None:
    """A paragraph of which every line begins with a time or a speaker is a dialogue."""
    assert places("Ann Lee: hi\nBo: hello\n\n09:30 woke\n10:15 left\n\nOne: two\nthree") == [
        (1, 1, "Ann Lee: hi"),
        (2, 2, "Bo: hello"),
        (4, 4, "09:30 woke"),
        (5, 5, "10:15 left"),
        (7, 8, "One: two\nthree"),
    ]


def test_a_time_at_the_start_of_an_item_belongs_to_it() -> None:
    """What was written is what is found."""
    assert places("- 09:30 Ann: hi\n") == [(1, 1, "09:30 Ann: hi")]


def test_code_is_one_entry_as_written() -> None:
    """Nothing in a fence is taken for structure; its lines are those of the code."""
    assert places("~~~py\n# not a heading\n\n- not an item  <!-- kept -->\n~~~\n") == [
        (2, 4, "# not a heading\n\n- not an item  <!-- kept -->")
    ]


def test_a_table_row_is_read_with_the_head_of_its_table() -> None:
    """Rows are entries; the head alone is one only where there are no rows."""
    rows = cut("| name | size |\n|---|---|\n| oak | 9 m |\n| elm | 7 m |\n\nafter\n")
    assert [(row.start_line, row.text, row.context) for row in rows] == [
        (3, "oak | 9 m", "name | size"),
        (4, "elm | 7 m", "name | size"),
        (6, "after", "elm | 7 m"),
    ]


def test_the_head_of_a_table_whose_rows_are_blank_is_not_lost() -> None:
    """It is all that the table says."""
    assert places("| what | where |\n|------|-------|\n| | |\n") == [(1, 1, "what | where")]


def test_front_matter_comments_and_blanks_are_no_entries() -> None:
    """They are skipped without moving a line number."""
    text = "---\ntitle: x\n---\n\n<!-- hidden\nover lines -->\n\nseen <!-- not this --> too\n\n- \n***\n"
    assert places(text) == [(8, 8, "seen  too")]


def test_quotes_links_and_html_are_text() -> None:
    """Quoted lines lose their marks, a link definition is not swallowed, and raw HTML is searchable."""
    assert places("> said\n> so\n\n[1]: https://example.org\n\n<b>bold</b>\n") == [
        (1, 2, "said\nso"),
        (4, 4, "[1]: https://example.org"),
        (6, 6, "<b>bold</b>"),
    ]


def test_deeply_nested_text_is_not_lost() -> None:
    """Quotes of quotes in a forwarded mail, lists in lists."""
    assert places("> " * 60 + "deep") == [(1, 1, "deep")]


@pytest.mark.parametrize("deep", ["1. " * 300, "> " * 300, "\n".join("  " * level + "- level" for level in range(120))])
def test_what_stands_below_text_that_is_nested_too_deeply_is_not_lost(deep: str) -> None:
    """The parser drops the rest of the document there."""
    found = " ".join(entry.text for entry in cut(f"# Head\n\n{deep}\n\nLater words."))
    assert "Later words." in found
    assert found.count("level") >= deep.count("level")


@pytest.mark.parametrize("heading", ["#", "## ", "# <!-- later -->"])
def test_what_stands_below_a_heading_without_a_name_is_not_lost(heading: str) -> None:
    """Every paragraph below was taken for its name."""
    found = [(entry.start_line, entry.text, entry.section) for entry in cut(f"{heading}\n\nTea at nine.\n\n- bread")]
    assert [(line, text) for line, text, _ in found] == [(3, "Tea at nine."), (5, "bread")]
    assert len({section for _, _, section in found}) == 1


def test_line_ends_of_other_systems_count_alike() -> None:
    """CRLF and a lone CR end a line, as editors show it."""
    assert places("a\r\n\r\nb\r\rc") == [(1, 1, "a"), (3, 3, "b"), (5, 5, "c")]


def test_a_long_passage_is_cut_at_sentences_with_an_overlap() -> None:
    """Only above 400 tokens; each part is at most that long and begins with the end of the one before."""
    sentences = [f"Sentence number {number} says one more thing about the garden wall." for number in range(60)]
    text = " ".join(sentences)
    parts = cut(text)
    assert len(parts) > 1
    assert all(token_count(part.text) <= CHUNK_TOKENS for part in parts)
    assert all(part.text.startswith("Sentence") and part.text.endswith(".") for part in parts)
    for before, after in pairwise(parts):
        assert after.text.split(". ")[0] in before.text
    assert all(any(sentence in part.text for part in parts) for sentence in sentences)


def test_a_long_text_without_sentences_is_still_cut() -> None:
    """A wall of letters or of Han characters ends in parts that lose nothing."""
    for wall in ("x" * 9_000, "漢" * 4_000, "word " * 2_000):
        parts = cut(wall)
        assert all(token_count(part.text) <= CHUNK_TOKENS for part in parts)
        assert len("".join(part.text for part in parts)) >= len(wall.replace(" ", ""))


def test_plain_windows_are_a_setting() -> None:
    """They ignore items, keep headings apart, and have true lines."""
    text = "top\n\n# Plans\n- a\n- b\n\nc\n"
    windows = cut(text, Chunking.WINDOWS)
    assert [(w.start_line, w.end_line, w.text, w.section) for w in windows] == [
        (1, 1, "top", ""),
        (3, 7, "# Plans\n- a\n- b\n\nc", "Plans"),
    ]


LINES = st.lists(
    st.one_of(
        st.sampled_from(
            ["", "- item", "  - nested", "# Head", "## 2023-05-08", "> quote", "```", "| a | b |", "|--|--|"]
        ),
        st.sampled_from(
            ["---", "1. one", "<!-- c", "c -->", "Ann: hi", "09:30 x", "    code", "\tcode", "***", "text"]
        ),
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"), max_size=40),
        st.text("漢字 ёлка 🎉.", min_size=1, max_size=2_000),
    ),
    max_size=30,
)


@given(LINES, st.sampled_from(list(Chunking)))
def test_an_entry_stands_on_its_lines(lines: list[str], chunking: Chunking) -> None:
    """Every line of an entry's text occurs in the line that it claims, in order, and positions have no gap."""
    entries = cut("\n".join(lines), chunking)
    assert [entry.position for entry in entries] == list(range(len(entries)))
    for entry in entries:
        claimed = lines[entry.start_line - 1 : entry.end_line]
        written = entry.text.split("\n")
        assert entry.text.strip()
        assert len(claimed) == len(written)
        for text, line in zip(written, claimed, strict=True):
            assert _letters(text) in _letters(line) or "<!--" in "".join(lines)


def _letters(text: str) -> str:
    """Markdown's own reading replaces NUL and turns tabs into spaces."""
    return "".join(text.replace("\0", "\ufffd").split())


MARKS = st.sampled_from(
    [
        "",
        "- ",
        "  - ",
        "1. ",
        "> ",
        "# ",
        "### ",
        "    ",
        "| ",
        "Ann: ",
        "09:30 ",
        "- > ",
        "[x]: ",
        "<b> ",
        "- [ ] ",
        "*** ",
    ]
)


@given(st.lists(MARKS, min_size=1, max_size=25), st.sampled_from(["\n", "\n\n", "\n---\n", "\n===\n", "\n|--|\n"]))
def test_no_word_is_lost(marks: list[str], between: str) -> None:
    """Whatever the structure, each word of a document is in an entry, its context or its section."""
    text = between.join(f"{mark}word{number}" for number, mark in enumerate(marks))
    found = "\n".join(f"{entry.text}\n{entry.context}\n{entry.section}" for entry in cut(f"\n{text}")).split()
    assert {f"word{number}" for number in range(len(marks))} <= set(found)
