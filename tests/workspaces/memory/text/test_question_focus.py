"""The thing that a question asks for by a noun, and requests that no passage answers alone."""

import pytest

from workspaces.memory.text.question_focus import focus, is_open_ended
from workspaces.memory.text.tokens import query_terms


@pytest.mark.parametrize(
    ("question", "thing"),
    [
        ("Which criteria did I use to prioritise tasks?", "criteria"),
        ("what was the rationale behind the new menu", "rationale"),
        ("Can you share the agenda or structure of the sessions?", "agenda structure"),
        ("Welche Farbe hat das neue Fahrrad?", "Farbe"),
        ("what is the API's daily call quota", "daily call quota API"),
        ("what town is the house in", ""),
        ("what's the phone number of the vet", ""),
        ("when do we leave", ""),
        ("", ""),
    ],
)
def test_the_focus_is_the_noun_after_the_question_word(question: str, thing: str) -> None:
    """Without words that say nothing, and never a kind of answer."""
    assert focus(question) <= set(query_terms(thing))
    assert bool(focus(question)) == bool(thing)


@pytest.mark.parametrize(
    "question",
    ["Give me an overview of the move", "how should I pack the glasses?", "kannst du die Woche zusammenfassen?"],
)
def test_overviews_and_advice_are_open_ended(question: str) -> None:
    """No single passage answers them."""
    assert is_open_ended(question)


def test_a_question_for_a_fact_is_not_open_ended() -> None:
    """One line answers it, also if it is about advice."""
    assert not is_open_ended("which doctor did Ann mention?")
    assert not is_open_ended("how did we dress Emil for the stage")
