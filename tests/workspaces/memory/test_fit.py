"""How well the hits of a search together fit its question."""

from datetime import date

import pytest
from msgspec import structs

from workspaces.access import PRIVATE
from workspaces.memory.fit import CLEAR, fit
from workspaces.memory.hits import Hit


def hit(text: str, score: float) -> Hit:
    """Return a hit of a day's notes."""
    day = date(2026, 3, 2)
    return Hit(f"memory/{day}.md", 1, 1, text, "", day, PRIVATE, score, score, score, 0.5, score)


MINE, ALSO_MINE = hit("10:00 Ann: I like the sea", 0.5), hit("10:04 Ann: I like the lake", 0.4)
THEIRS, ALSO_THEIRS = hit("10:01 Ben: I bought a boat last year", 0.8), hit("10:02 Ben: I sail a lot", 0.4)
TALK = [THEIRS, MINE, ALSO_MINE, ALSO_THEIRS]


def test_hits_fit_as_well_as_the_best_of_them() -> None:
    """Nothing found fits nothing."""
    assert fit([MINE, THEIRS], "boat") == pytest.approx(0.8)
    assert fit([], "boat") == 0.0


def test_somebody_elses_words_do_not_answer_for_the_person_named() -> None:
    """Ben's boat is no answer about Ann; it is one about Ben, and about both."""
    assert fit(TALK, "What did Ann buy?") < CLEAR <= fit(TALK, "What did Ben buy?")
    assert fit(TALK, "What did Ann and Ben buy?") >= CLEAR


def test_a_heading_in_an_answer_is_no_person() -> None:
    """It looks like a speaker, once."""
    steps = [hit("Bootstrap: the grid has twelve columns", 0.4), hit("I use Bootstrap 5 for the cards", 0.6)]
    assert fit(steps, "Have I used Bootstrap?") == pytest.approx(0.6)


def test_the_owner_and_an_agent_are_nobody_by_name() -> None:
    """Their roles are words: the owner of a house is another one."""
    said = [hit("10:00 Owner: hello", 0.2), hit("the house belongs to Ms. Rao", 0.8)]
    assert fit(said, "the owner of the house") == pytest.approx(0.8)


def test_the_kind_of_answer_asked_for_counts() -> None:
    """A time, if a time is asked for."""
    with_day, without = hit("Ann moved in March", 0.5), hit("Ann moved to a house", 0.5)
    assert fit([with_day], "when did Ann move") > fit([without], "when did Ann move")
    assert fit([with_day], "why did Ann move") == fit([without], "why did Ann move") == 0.5


def test_the_thing_asked_for_counts() -> None:
    """The board is known well, the criteria were never mentioned; an agent's advice about them is no memory."""
    board = hit("I prioritised the tasks on the Trello board", 0.6)
    advice = structs.replace(hit("Assistant: use criteria such as value and effort", 0.6), is_answer=True)
    said = hit("my criteria for the tasks on the Trello board are value and risk", 0.6)
    question = "Which criteria did I use to prioritise the tasks on the Trello board?"
    assert fit([board, advice], question) < fit([said, board], question) == pytest.approx(0.6)


def test_an_overview_needs_no_single_passage_that_fits() -> None:
    """Its parts are in many."""
    hits = [hit("the login page is done", 0.3), hit("the budget charts are slow", 0.28)]
    assert fit(hits, "Can you summarise how my app progressed?") >= CLEAR > fit(hits, "Did the app win a prize?")


def test_an_identifier_of_the_question_answers_nothing_else() -> None:
    """Where the file is mentioned, its author need not be."""
    mentioned = structs.replace(hit("autocomplete.js is slow", 0.38), score=1.0)
    assert fit([mentioned], "who wrote autocomplete.js?") < CLEAR


def test_a_hit_is_worth_what_it_is_above_the_others() -> None:
    """Of long messages each fits a bit, of short lines hardly any; a small memory has no others."""
    best = hit("the boat lies in Laboe", 0.45)
    long, short = ([best, *(hit(f"line {n}", score) for n in range(30))] for score in (0.44, 0.12))
    assert fit(long, "boat") < CLEAR < fit([best], "boat") < fit(short, "boat")
    assert fit([best], "boat") == pytest.approx(0.45)
    assert fit(short[:20], "boat") == fit(short, "boat")


def test_items_of_a_list_that_fit_little_make_it_no_clearer() -> None:
    """They are shown for a list alone, so they say nothing of the others."""
    boat, others = hit("the boat lies in Laboe", 0.45), [hit(f"line {n}", 0.12) for n in range(20)]
    asked = "which boats do we have"
    assert fit([boat, *others], asked) == fit([boat], asked)
