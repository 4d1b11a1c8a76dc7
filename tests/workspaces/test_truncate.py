"""A cut keeps to its limit to the character and says exactly what it left out."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from workspaces.truncate import truncate, truncate_end

CLUSTERS = ["a", "é", "e\u0301", "日", "\n", "\r\n", "👍🏽", "👩\u200d👩\u200d👧", "🇺🇦", "🇩🇪", "❤\ufe0f", " "]
TEXTS = st.lists(st.sampled_from(CLUSTERS), max_size=400).map(lambda some: some * 3)
HOW = re.compile(
    r"\n\[… notes/a\.md goes on here, lines (\d+)-(\d+): "
    r'read_file\("notes/a\.md", first_line=(\d+), lines=(\d+)\) …\]\n'
)


def boundaries(clusters: list[str]) -> set[int]:
    at, places = 0, {0}
    for cluster in clusters:
        at += len(cluster)
        places.add(at)
    return places


@example(["a"] * 50, -1)
@example(["a"] * 50, 0)
@given(TEXTS, st.integers(min_value=-1, max_value=1_500))
def test_a_cut_is_never_longer_than_its_limit(clusters: list[str], limit: int) -> None:
    """Any text in any limit: what fits stays as it is, the rest is cut to the limit."""
    text = "".join(clusters)
    for short in (truncate(text, limit, "notes/a.md"), truncate_end(text, limit)):
        assert len(short) <= max(limit, 0)
        assert len(text) > limit or short == text


@given(TEXTS, st.integers(min_value=200, max_value=1_500))
def test_what_a_cut_left_out_is_where_its_marker_says(clusters: list[str], limit: int) -> None:
    """Head, tail and the lines that the marker names make up the whole text, and no visible character is split."""
    text = "".join(clusters)
    short = truncate(text, limit, "notes/a.md")
    if short == text:
        return
    found = HOW.search(short)
    assert found is not None
    head, tail = short[: found.start()], short[found.end() :]
    assert text.startswith(head)
    assert text.endswith(tail)
    places = boundaries(clusters)
    assert len(head) in places
    assert len(text) - len(tail) in places
    first, last, asked_first, asked_lines = map(int, found.groups())
    assert (first, last - first + 1) == (asked_first, asked_lines)
    lines = text.split("\n")
    assert head.count("\n") == first - 1
    assert last == len(lines) - tail.count("\n")


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_no_visible_character_is_split(cluster: str) -> None:
    """At whatever place a limit falls, accents, emoji, flags and CRLF stay whole on both sides."""
    text, places = cluster * 2_000, boundaries([cluster] * 2_000)
    for limit in range(300, 330):
        head, tail = HOW.split(truncate(text, limit, "notes/a.md"))[::5]
        assert {len(head), len(text) - len(tail)} <= places
        assert len(truncate_end(text, limit).removesuffix("\n[...truncated]")) in places
        assert min(len(head), len(tail)) > 0


def test_a_cut_keeps_seventy_and_twenty_percent() -> None:
    """Of a limit of 20,000 the first 14,000 and the last 4,000 characters stay."""
    text = "".join(chr(0x4E00 + number % 5_000) for number in range(50_000))
    short = truncate(text, 20_000, "AGENTS.md")
    assert short.startswith(text[:14_000] + "\n[…")
    assert short.endswith("…]\n" + text[-4_000:])
    assert "AGENTS.md" in short[14_000:-4_000]


def test_a_small_limit_is_shared_after_the_marker() -> None:
    """Where ten percent do not hold the marker, head and tail shrink alike."""
    short = truncate("line\n" * 1_000, 300, "memory/2026-03-01.md")
    assert 280 < len(short) <= 300
    assert 'read_file("memory/2026-03-01.md", first_line=' in short


def test_the_other_look_cuts_off_the_end() -> None:
    """OneClaw's look keeps the head and ends with its marker."""
    assert truncate_end("x" * 5_000, 4_000) == "x" * (4_000 - 15) + "\n[...truncated]"


@pytest.mark.parametrize("text", ["e" + "\u0301" * 5_000, "🇺🇦" * 2_000, "\r\n" * 3_000])
def test_endless_clusters_cost_no_more_than_the_limit(text: str) -> None:
    """A text that is one single visible character, or nothing but flags, is cut all the same."""
    assert 0 < len(truncate(text, 1_000, "a.md")) <= 1_000
