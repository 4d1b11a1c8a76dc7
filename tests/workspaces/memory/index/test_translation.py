"""Queries in the other languages of the notes."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing

import pytest

from workspaces.access import PRIVATE, Scope
from workspaces.memory.index.rarity import Rarity, pack
from workspaces.memory.index.translation import Translation
from workspaces.memory.text import everyday_words
from workspaces.memory.text.sparse import term_number
from workspaces.memory.text.tokens import terms

GROUP = Scope("shared")
FRENCH = (
    "la clé de la cave est chez le boulanger d'en face",
    "mon rendez-vous chez le dentiste est le 9 juin, il ne faut pas oublier la carte",
)
ENGLISH = ("the guest wifi is tern-77 and it is on the fridge", "we have to be there by nine, not at ten")


OPEN = ExitStack()


@pytest.fixture(autouse=True)
def closed_databases() -> Iterator[None]:
    """Close what a test opened."""
    yield
    OPEN.close()


def translation(notes: Mapping[Scope, Sequence[str]]) -> Translation:
    words = Rarity(OPEN.enter_context(closing(sqlite3.connect(":memory:"))), "words")
    for scope, lines in notes.items():
        for line in lines:
            words.add(scope, pack(sorted(set(map(term_number, terms(line))))))
    return Translation(words)


def test_a_query_is_put_into_the_words_that_the_notes_hold() -> None:
    """Of the French words for key and cellar, those of the notes; Spanish ones, of which there are none, not at all."""
    [query] = translation({PRIVATE: [*FRENCH, *ENGLISH]}).queries("where is the key of the cellar", None)
    assert query.language == "French"
    assert sorted(query.text.split()) == ["cave", "cle"]
    assert query.share == 1


def test_notes_in_another_language_are_asked_in_theirs() -> None:
    """A German question is put into English where the notes are English."""
    [query] = translation({PRIVATE: ENGLISH}).queries("Wie heißt das WLAN und wo ist der Kühlschrank?", None)
    assert query.language == "English"
    assert "fridg" in query.text.split()


def test_a_language_is_only_searched_in_where_it_is_written() -> None:
    """A French word among English ones is a loan: no search for it."""
    notes = {PRIVATE: [*ENGLISH, "we had coffee in the cave and lost a clé"]}
    assert translation(notes).queries("where is the key of the cellar", None) == []


def test_half_of_what_is_asked_has_to_be_there() -> None:
    """The word for one of three things finds anything."""
    assert translation({PRIVATE: FRENCH}).queries("the key of the bike in the garage", None) == []


def test_words_of_other_audiences_do_not_show() -> None:
    """A group's search neither learns which languages are private, nor which of their words."""
    held = translation({PRIVATE: FRENCH, GROUP: ENGLISH})
    assert held.queries("where is the key of the cellar", frozenset({GROUP})) == []
    assert held.queries("where is the key of the cellar", frozenset({GROUP, PRIVATE})) != []


def test_a_line_of_another_language_says_something_else() -> None:
    """An English line about a cave is no answer in French; one that shows no language may be."""
    [query] = translation({PRIVATE: [*FRENCH, *ENGLISH]}).queries("where is the key of the cellar", None)
    assert not query.may_say("the cave is on the way to the lake")
    assert query.may_say("clé cave: boulanger")


def test_the_table_is_read_only_where_another_language_is_written() -> None:
    """An English question to English notes costs a look at their small words, and no table."""
    for each in (everyday_words._table, everyday_words._rows):
        each.cache_clear()
    assert translation({PRIVATE: ENGLISH}).queries("where is the key of the cellar", None) == []
    assert everyday_words._table.cache_info().currsize == 0
