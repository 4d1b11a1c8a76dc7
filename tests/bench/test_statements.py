"""The benchmark of what holds: two sides of a question among ten results."""

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from msgspec import structs

from bench.asked import AskedConversation, AskedQuestion
from bench.statements import CONTRADICTION, UPDATE, outcomes, run
from gateway.importers.locomo import TurnLocation
from tests.bench.test_asked import ASKED, BATCHES, write
from tests.workspaces.memory.test_assembly import hit
from workspaces.memory.hits import Hit

OLD, NEW = (hit(f"value {day}", date(2026, 2, day)) for day in (1, 20))
OTHERS = [hit("other", date(2026, 2, 2), line) for line in range(1, 10)]
PLACES = {"0": TurnLocation(OLD.path, 1), "1": TurnLocation(NEW.path, 1)}


def judged(kind: str, *found: Hit) -> list[str]:
    """Return what the benchmark says of a question of *kind* whose search gives *found*."""
    asked = AskedQuestion("Which?", kind, ("0", "1"), (("0",), ("1",)))
    talk = AskedConversation("beam-1", {}, places=PLACES, questions=(asked, replace(asked, sides=())))
    return [outcome for _, _, outcome in outcomes(talk, lambda _: found)]


@pytest.mark.parametrize(
    ("found", "outcome"),
    [
        ([NEW, OLD], "right"),
        ([OLD, NEW], "older first"),
        ([NEW], "not both found"),
        ([NEW, *OTHERS, OLD], "not both found"),
    ],
)
def test_the_newer_statement_stands_above_the_older_one(found: list[Hit], outcome: str) -> None:
    """Among ten results; a question without two sides is not judged."""
    assert judged(UPDATE, *found) == [outcome]


def test_both_sides_of_a_contradiction_have_the_mark() -> None:
    """One is not enough."""
    first, second = structs.replace(OLD, mark="contradicts b"), structs.replace(NEW, mark="contradicts a")
    assert judged(CONTRADICTION, first, second) == ["right"]
    assert judged(CONTRADICTION, first, NEW) == ["not marked"]


def test_it_runs_on_a_folder(tmp_path: Path) -> None:
    """With the built-in model and the real engine."""
    write(tmp_path / "7", BATCHES, ASKED)
    assert run(tmp_path, misses=True) == "knowledge-update: right 1"
