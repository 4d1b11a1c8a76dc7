"""Fuzzing of the chunker: every entry stands on the lines that it claims, and every word stands in an entry."""

import re

from hypothesis import strategies as st

from tests.fuzz.campaign import Target
from tests.fuzz.mutation import mutated, seeds_of
from workspaces.access import PRIVATE
from workspaces.memory.entry import Document
from workspaces.memory.text.chunking import CHUNK_TOKENS, Chunking, entries_of, token_count

_KNOTS = (
    *(
        "\n",
        "\n\n",
        "- ",
        "  - ",
        "1. ",
        "> ",
        "# ",
        "### ",
        "| ",
        "|--|\n",
        "```\n",
        "~~~",
        "    ",
        "\t",
        "---\n",
        "***\n",
    ),
    *(
        "<!--",
        "-->",
        "<b>",
        "Ann: ",
        "09:30 ",
        "2026-03-02",
        "[x]: y",
        "a. b! ",
        "漢字。",
        "word ",
        "\r\n",
        "\r",
        "\x00",
    ),
)
_WORD = re.compile(r"\b[a-z]{4,12}\b")
_MOST_TOKENS_TIMES = 2
_STRUCTURE = " >-+*=0123456789.)\t"


def check(given: tuple[str, Chunking]) -> None:
    """Raise AssertionError if entries leave words out, overlap places, or stand elsewhere than they say."""
    text, chunking = given
    entries = entries_of(Document("memory/2026-03-02.md", PRIVATE, text, None, ""), chunking)
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    assert [entry.position for entry in entries] == list(range(len(entries)))
    for entry in entries:
        assert entry.text.strip()
        assert 1 <= entry.start_line <= entry.end_line <= len(lines)
        assert token_count(entry.text) <= _MOST_TOKENS_TIMES * CHUNK_TOKENS
        claimed = lines[entry.start_line - 1 : entry.end_line]
        for written, line in zip(entry.text.split("\n"), claimed, strict=True):
            assert "<!--" in text or _letters(written) in _letters(line)
    if "<!--" not in text and not text.startswith("---"):
        found = "\n".join(f"{entry.text}\n{entry.context}\n{entry.section}" for entry in entries)
        assert set(_WORD.findall(text)) <= set(_WORD.findall(found)) | _bare(lines)


def _bare(lines: list[str]) -> set[str]:
    """Return the words of headings, which may be no entries with nothing below them, and of the first lines of fences.

    What stands above a line of hyphens or equals signs may be a heading, however many lines it has.
    """
    found: set[str] = set()
    above: list[str] = []
    for line in lines:
        bare = line.lstrip(_STRUCTURE)
        if bare[:1] in ("#", "`", "~"):
            found |= set(_WORD.findall(line))
        if not bare and line.strip(" >\t")[:1] in ("-", "="):
            found |= set(_WORD.findall(" ".join(above)))
        above = [*above, line] if line.strip() else []
    return found


def _letters(text: str) -> str:
    """Markdown's own reading replaces NUL and turns tabs into spaces."""
    return "".join(text.replace("\0", "\ufffd").split())


_TEXTS = mutated([seed.decode() for seed in seeds_of("notes")], _KNOTS)
TARGET = Target("chunker", st.tuples(_TEXTS, st.sampled_from(list(Chunking))), check)
