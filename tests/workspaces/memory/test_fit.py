"""How well the hits of a search together fit its question."""

from datetime import date

from workspaces.access import PRIVATE
from workspaces.memory.fit import fit
from workspaces.memory.hits import CLEAR, Hit


def hit(text: str, score: float) -> Hit:
    """Return a hit of a day's notes."""
    day = date(2026, 3, 2)
    return Hit(f"memory/{day}.md", 1, 1, text, "", day, PRIVATE, score, 0.5, 0.5, 0.5, 0.5)


MINE = hit("10:00 Ann: I like the sea", 0.5)
THEIRS = hit("10:01 Ben: I bought a boat last year", 0.8)


def test_hits_fit_as_well_as_the_best_of_them() -> None:
    """Nothing found fits nothing."""
    assert fit([MINE, THEIRS], "boat") == 0.8
    assert fit([], "boat") == 0.0


def test_somebody_elses_words_do_not_answer_for_the_person_named() -> None:
    """Ben's boat is no answer about Ann; it is one about Ben, and about both."""
    assert fit([THEIRS, MINE], "What did Ann buy?") < CLEAR <= fit([THEIRS, MINE], "What did Ben buy?")
    assert fit([THEIRS, MINE], "What did Ann and Ben buy?") >= CLEAR


def test_the_owner_and_an_agent_are_nobody_by_name() -> None:
    """Their roles are words: the owner of a house is another one."""
    said = [hit("10:00 Owner: hello", 0.2), hit("the house belongs to Ms. Rao", 0.8)]
    assert fit(said, "the owner of the house") == 0.8


def test_the_kind_of_answer_asked_for_counts() -> None:
    """A time, if a time is asked for."""
    with_day, without = hit("Ann moved in March", 0.5), hit("Ann moved to a house", 0.5)
    assert fit([with_day], "when did Ann move") > fit([without], "when did Ann move")
    assert fit([with_day], "why did Ann move") == fit([without], "why did Ann move") == 0.5
