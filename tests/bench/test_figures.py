"""Figures beside their goals: which are missed, and what a run of the bench ends with."""

import os
import sys

import pytest

from bench import __main__ as bench
from bench.figures import Figure, as_json, at_least, at_most, missed, percentile, ratio


def test_a_goal_is_a_number_and_is_compared() -> None:
    """The median counts; a bound itself is within it, and a figure without a goal misses none."""
    runs = [1.0, 8.0, 30.0]
    assert not Figure("a", runs, "ms", at_most(8)).is_missed
    assert Figure("a", runs, "ms", at_most(7.9)).is_missed
    assert not Figure("a", runs, "1/s", at_least(8)).is_missed
    assert Figure("a", runs, "1/s", at_least(8.1)).is_missed
    assert not Figure("a", runs, "ms").is_missed


def test_what_was_missed_is_listed_with_its_goal() -> None:
    """Alone, with how many goals there are; nothing is said where none was missed."""
    figures = [Figure("slow", [9.0], "ms", at_most(8)), Figure("quick", [7.0], "ms", at_most(8)), Figure("b", [1], "")]
    head, row = missed(figures).splitlines()
    assert head == "Missed 1 of 2 goals:"
    assert row.split() == ["slow", "9", "ms", "<=", "8"]
    assert not missed(figures[1:])
    assert as_json(figures)["slow"] == {"median": 9.0, "runs": [9.0], "goal": "<= 8", "missed": True}


def test_a_ratio_is_taken_run_by_run() -> None:
    """So a machine that slows down in the middle slows both."""
    ours, floor = Figure("ours", [10.0, 40.0], "ms"), Figure("floor", [5.0, 20.0], "ms")
    assert ratio("times", ours, floor).runs == [2.0, 2.0]
    assert percentile(list(range(100)), 0.95) == 95


def test_programs_that_are_measured_keep_their_compiled_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the environment of the bench says: a user's start compiles nothing but the first time."""
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setattr(sys, "argv", ["bench"])
    seen: list[str | None] = []

    class Part:
        async def run(self) -> list[Figure]:
            seen.append(os.environ.get("PYTHONDONTWRITEBYTECODE"))
            return []

    with pytest.raises(SystemExit):
        bench.main({"part": Part()})
    assert seen == [None]


@pytest.mark.parametrize(("value", "status"), [(9.0, 1), (8.0, 0)])
def test_the_bench_fails_when_a_goal_was_missed(
    value: float, status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its exit status says so, and its last lines name the figure."""

    monkeypatch.setattr(sys, "argv", ["bench", "--only", "part"])
    with pytest.raises(SystemExit) as ended:
        bench.main({"part": OneFigure(value)})
    assert int(ended.value.code or 0) == status
    assert ("Missed 1 of 1 goals" in capsys.readouterr().out) == bool(status)


class OneFigure:
    """A part of the bench."""

    def __init__(self, value: float) -> None:
        self._value = value

    async def run(self) -> list[Figure]:
        return [Figure("a figure", [self._value], "ms", at_most(8))]
