"""Misspelt words of queries."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing

import pytest

from workspaces.access import PRIVATE, Scope
from workspaces.memory.index.rarity import Rarity, pack
from workspaces.memory.index.spelling import LONGEST, Spelling
from workspaces.memory.text.sparse import term_number
from workspaces.memory.text.tokens import terms

GROUP = Scope("shared")
NOTES = ("the piano tuner Osgood comes friday", "rehearsals are on tuesdays", "a ball for Rex", "кошка спит")


class English:
    """A small vocabulary."""

    def is_word(self, text: str) -> bool:
        return text in {"piano", "friday", "stall"}


OPEN = ExitStack()


@pytest.fixture(autouse=True)
def closed_databases() -> Iterator[None]:
    """Close what a test opened."""
    yield
    OPEN.close()


def spelling(notes: Sequence[str] = NOTES, scope: Scope = PRIVATE, asked: Sequence[str] = ()) -> Spelling:
    """Return the spelling of *notes* and of words that were only *asked* for."""
    words = Rarity(OPEN.enter_context(closing(sqlite3.connect(":memory:"))), "words")
    for note in (*notes, *asked):
        words.add(scope, pack(sorted(set(map(term_number, terms(note))))))
    told = {number for note in notes for number in map(term_number, terms(note))}
    return Spelling(words, English(), lambda number, _: number in told)


@pytest.mark.parametrize(
    ("asked", "read"),
    [
        ("who is the paino tuner", "who is the piano tuner"),
        ("when does Osgod come", "when does osgood come"),
        ("Osggood's price", "osgood's price"),
        ("what about the tunar?", "what about the tuner?"),
        ("где кошкка", "где кошка"),
    ],
)
def test_a_word_that_no_note_holds_is_read_as_one_of_theirs(asked: str, read: str) -> None:
    """One letter too many, too few, another one, or two exchanged; in the query or in the note."""
    assert spelling().corrected(asked, None) == read


@pytest.mark.parametrize(
    "asked", ["the piano", "the tall ones", "stalls and balls", "who is ann", "x" * (LONGEST + 1), ""]
)
def test_other_words_stay(asked: str) -> None:
    """Known words, words of the language in any form, short ones, long ones and those with no neighbour."""
    assert spelling().corrected(asked, None) == asked


def test_short_words_of_other_languages_stay() -> None:
    """The vocabulary is English: "laube" is no slip of "laute", a longer word may be one."""
    german = spelling(["die laute ist laut", "der zahnarzt ist in der lindenstraße"])
    assert german.corrected("wo ist der schlüssel von der laube", None) == "wo ist der schlüssel von der laube"
    assert "zahnarzt" in german.corrected("wo ist der zahnartzt von der lina", None)


def test_a_correction_tells_nothing_of_another_audience() -> None:
    """Words of private notes correct no query of a group."""
    private = spelling(scope=PRIVATE)
    assert private.corrected("the paino", frozenset({GROUP})) == "the paino"
    assert private.corrected("the paino", frozenset({GROUP, PRIVATE})) == "the piano"


def test_of_several_neighbours_the_most_frequent_is_meant() -> None:
    """And the same one each time, whatever order the notes came in."""
    notes = ["the garden", "the garden again", "we harden steel"]
    for order in (notes, notes[::-1]):
        assert spelling(order).corrected("the gardem", None) == "the garden"


def test_a_word_that_was_only_asked_for_is_no_word_of_the_notes() -> None:
    """Neither does it stop the reading of a slip, however often it was asked, nor is a slip read as it."""
    questions = ["who is our plumber", "the plumber again"]
    asked = spelling(["our plumer is Osterholz"], asked=questions)
    assert asked.corrected("our plumber", None) == "our plumer"
    assert asked.corrected("our plumbr", None) == "our plumer"
    told = spelling(["our plumer is Osterholz", "the plumber came"], asked=questions)
    assert told.corrected("our plumber", None) == "our plumber"
