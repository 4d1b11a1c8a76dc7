"""Facts that a rule takes out of what people write, and the questions for them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workspaces.memory.text.facts import FactKind, facts_in, is_decision, sentences

D, I, N, P = FactKind.DATE, FactKind.IDENTIFIER, FactKind.NUMBER, FactKind.NAME  # noqa: E741


@pytest.mark.parametrize(
    ("sentence", "facts"),
    [
        (
            "our plumber is now Hr. Sørensen, +45 20 11 93 40",
            [(N, "+45 20 11 93 40"), (P, "Hr. Sørensen")],
        ),
        ("her op is on the 9th of December, at St Olav's", [(D, "9th of December"), (P, "St Olav")]),
        ("Mira's flight to Lisbon leaves on 14 May.", [(D, "14 May"), (P, "Mira"), (P, "Lisbon")]),
        ("the password is marsh-59", [(I, "marsh-59")]),
        ("it moved to thursday 19:30", [(D, "thursday"), (N, "19:30")]),
        ("she wants 14 euros now instead of 12", [(N, "14"), (N, "12")]),
        ("we meet on 2026-05-03", [(D, "2026-05-03")]),
        ("彼はレックスと呼ぶ", [(P, "レックス")]),
        ("I may march on", []),
        ("so We hope that The cat stays", []),
        ("The cat ate the tulips", []),
    ],
)
def test_the_facts_of_a_sentence(sentence: str, facts: list[tuple[FactKind, str]]) -> None:
    """Each is found once, as it was written; ordinary words are none."""
    assert [(fact.kind, fact.value) for fact in facts_in(sentence)] == facts


def test_a_decision_is_the_whole_sentence() -> None:
    """What was decided is asked for by its own words; its identifiers count beside it."""
    found = facts_in("we settled on the sofa, order KX-20981")
    assert [(fact.kind, fact.value) for fact in found] == [
        (FactKind.DECISION, "we settled on the sofa, order KX-20981"),
        (FactKind.IDENTIFIER, "KX-20981"),
    ]
    assert found[0].question == "the sofa, order KX-20981"
    assert is_decision("Wir haben entschieden, dass wir bleiben.")
    assert not is_decision("We sat on the sofa.")


def test_a_question_does_not_know_its_answer() -> None:
    """It is the rest of the sentence; where too little is left, the fact itself is asked for."""
    [fact] = facts_in("The garage door code changed to 80412.")
    assert fact.question == "The garage door code changed to ."
    assert fact.is_in("the code is 80412 now")
    assert not fact.is_in("the code is 8041")
    [lone] = facts_in("It is 80412.")
    assert lone.question == "80412"


def test_sentences_end_where_people_end_them() -> None:
    """An abbreviation, an initial and a decimal end none; a line and a full stop of Chinese do."""
    text = "We took order no. 5 today. Dr. Who paid 3.50, e.g. at St. Olav's! ok. then we left\nnew line。好的。再见"
    assert sentences(text) == [
        "We took order no. 5 today.",
        "Dr. Who paid 3.50, e.g. at St. Olav's!",
        "ok.",
        "then we left",
        "new line。",
        "好的。",
        "再见",
    ]


@given(st.text(max_size=300))
def test_no_text_fails(text: str) -> None:
    """Every fact stands in its sentence, and at most twelve are taken."""
    for sentence in sentences(text):
        found = facts_in(sentence)
        assert all(fact.value in sentence for fact in found)
        assert len(found) <= 12
        assert all(fact.question.strip() for fact in found)


def test_a_line_of_a_megabyte_takes_no_time() -> None:
    """Only the beginning of a long sentence is read."""
    assert len(sentences("A1-" * 300_000)) == 1
    assert len(facts_in("Ab 12 " * 200_000)) <= 12
