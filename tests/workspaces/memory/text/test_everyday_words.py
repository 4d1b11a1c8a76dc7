"""Everyday words in other languages."""

from pathlib import Path

import pytest

from workspaces.memory.text import everyday_words
from workspaces.memory.text.everyday_words import LANGUAGES, things_in
from workspaces.memory.text.tokens import terms

LINES = [
    line
    for line in Path(everyday_words.__file__).with_suffix(".txt").read_text("utf-8").splitlines()
    if not line.startswith("#")
]


@pytest.mark.parametrize("line", LINES)
def test_a_thing_has_a_name_in_each_language(line: str) -> None:
    """Each line has a cell for each language, and each phrase of it at most three words."""
    cells = [cell.split() for cell in line.split("|")]
    assert len(cells) == len(LANGUAGES)
    assert all(cells)
    assert all(len(phrase.split("+")) <= 3 and terms(phrase.replace("+", " ")) for cell in cells for phrase in cell)


@pytest.mark.parametrize(
    ("query", "language", "into", "name"),
    [
        ("where is the key of the cellar", "English", "French", "clé cave"),
        ("reading of the water meter", "English", "Spanish", "contador agua"),
        ("when does the chimney sweep come", "English", "German", "Schornsteinfeger"),
        ("Was kostet das Schild?", "German", "English", "sign cost"),
        ("¿quién es el veterinario?", "Spanish", "Italian", "veterinario"),
        ("à quelle heure ouvre la pharmacie", "French", "Polish", "apteka"),
        ("wanneer komt de loodgieter", "Dutch", "Portuguese", "encanador"),
        ("где ключ от подвала", "Russian", "Ukrainian", "ключ підвал"),
        ("wifi password", "English", "German", "passwort"),
    ],
)
def test_a_question_is_read_in_its_language(query: str, language: str, into: str, name: str) -> None:
    """Its things have names in every other language, phrases before single words."""
    things = things_in(query)
    assert things is not None
    assert things.language == language
    held = {term for phrases in things.phrases(into) for phrase in phrases for term in phrase}
    assert set(terms(name)) <= held


def test_names_and_numbers_stay() -> None:
    """Words that the table lacks are searched for as they are, without small words of the language."""
    things = things_in("how many goals did Emil shoot on 4711")
    assert things is not None
    assert set(things.others) >= {"emil", "4711"}
    assert things_in("what did Emil say") is None
    assert things_in("") is None


def test_kind_is_english_beside_english_words() -> None:
    """A question with English small words that names a thing in English is English, although "Kind" is a child."""
    things = things_in("what kind of job would he like")
    assert things is not None
    assert things.language == "English"
