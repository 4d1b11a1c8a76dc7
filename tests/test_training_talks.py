"""The talks that the models are trained on are complete, and nothing that the search is measured on is among them."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TALKS = sorted((ROOT / "scripts/training_talks").rglob("*.txt"))
MEASURED = [ROOT / "bench" / name / "talk.txt" for name in ("month", "workshop", "choir")]
LOCOMO = ROOT.parent / "shared/data/locomo-dev.json"
TELLING = 40
"""Characters of a line from which it is no coincidence: "ok thanks" stands in any talk."""


def lines(file: Path) -> Iterator[str]:
    """Yield the messages and questions of a talk."""
    for line in file.read_text(encoding="utf-8").splitlines():
        if not line.startswith("= "):
            yield line.removeprefix("? ").strip().casefold()


def test_each_question_has_a_message_above_it() -> None:
    """A day without a message before its first question would train on another day's answer."""
    assert len(TALKS) > 100
    for talk in TALKS:
        kinds = [line[:2] for line in talk.read_text(encoding="utf-8").splitlines()]
        assert all(kinds), talk
        assert ("= ", "? ") not in set(pairwise(kinds)), talk
        assert kinds.count("? ") > 50, talk


def test_nothing_that_is_measured_on_was_trained_on() -> None:
    """Figures of a talk that a model has read would say nothing."""
    trained = {line for talk in TALKS for line in lines(talk) if len(line) >= TELLING}
    for talk in MEASURED:
        assert trained.isdisjoint(lines(talk)), talk


def test_no_line_of_locomo_was_trained_on() -> None:
    """It is for evaluation alone."""
    if not LOCOMO.exists():
        pytest.skip("LoCoMo's conversations are not here")
    measured = LOCOMO.read_text(encoding="utf-8").casefold()
    said = (line.rpartition(": ")[2] for talk in TALKS for line in lines(talk))
    assert [line for line in said if len(line) >= TELLING and line in measured] == []
