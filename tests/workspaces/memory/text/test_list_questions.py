"""Questions for several things."""

import pytest

from workspaces.memory.text.list_questions import asks_for_several, begins_list


@pytest.mark.parametrize(
    "question",
    [
        "which cities has Kate been to?",
        "What kinds of tea does she drink?",
        "what has Melanie painted?",
        "where else have we eaten",
        "What are Paola's hobbies?",
        "how often did the boiler fail",
        "books I've read this year",
        "everything we owe",
        "make a list of the plants",
        "what did I plant this spring?",
        "welche Bücher habe ich gelesen?",
        "was haben wir alles verliehen?",
        "quelles plantes avons-nous achetées ?",
        "qué libros he leído",
        "quali film abbiamo visto",
    ],
)
def test_a_list_is_asked_for(question: str) -> None:
    """By a plural, a word for all of it, a span of weeks, or as a list is begun; in several languages."""
    assert asks_for_several(question)


@pytest.mark.parametrize(
    "question",
    [
        "which city does Kate live in?",
        "what was the dentist's number",
        "what has six legs",
        "what times does the pool open",
        "who is Kate's boss?",
        "where are my work gloves",
        "¿qué días viene Ana?",
        "Owner (09:40): new place, let's keep a list of them",
    ],
)
def test_one_thing_is_asked_for(question: str) -> None:
    """Neither a word in "s" that is no plural, nor a time, nor a line of notes that speaks of a list."""
    assert not asks_for_several(question)


def test_a_list_begins_without_asking() -> None:
    """A plan does not."""
    assert begins_list("places we ate at")
    assert not begins_list("we ate at two places")
