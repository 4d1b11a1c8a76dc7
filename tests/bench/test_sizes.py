"""Inputs of the search-speed bench: the requested number of notes, and a rival that really searches."""

from pathlib import Path

import pytest

from bench.made_notes import daily_notes

pytest.importorskip("sqlite_vec", reason="sqlite-vec has no wheel for this machine")


def test_as_many_lines_are_made_as_were_asked_for() -> None:
    """Fourteen a day, all different, the same at every call."""
    days = list(daily_notes(30))
    lines = [line for _, text in days for line in text.splitlines() if line.startswith("- ")]
    assert len(set(lines)) == 30
    assert len(days) == 3
    assert days == list(daily_notes(30))


def test_the_rival_finds_by_meaning_and_by_word(tmp_path: Path) -> None:
    """A bench against something that finds nothing would be easily won."""
    from bench.sizes import MadeVectors
    from bench.sqlite_way import SqliteWay

    texts = [f"note {n} about {word}" for n, word in enumerate(("tea", "rain", "boats", "a violin"))]
    vectors = [each.pooled for each in MadeVectors().embed(texts)]
    rival = SqliteWay(tmp_path / "rival.db", len(vectors[0]))
    rival.store(zip(texts, vectors, strict=True))
    assert rival.search("nothing of the kind", vectors[2], 1) == [texts[2]]
    assert rival.search("violins?", vectors[1], 2) == [texts[1], texts[3]]
    rival.close()


def test_both_are_asked_and_timed_by_two_clocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole bench on a few entries: every figure is there, and no time is nothing."""
    from bench import sizes

    monkeypatch.setattr(sizes, "WARM", 1)
    figures = {figure.name: figure.value for figure in sizes._figures(28, 3)}
    for name in ("search", "sqlite-vec + FTS5"):
        for clock in ("", ", CPU"):
            assert (
                0
                < figures[f"{name}, 28 entries{clock}, median"]
                <= figures[f"{name}, 28 entries{clock}, 99th percentile"]
            )
    assert figures["as fast as that by CPU, 28 entries"] > 0
