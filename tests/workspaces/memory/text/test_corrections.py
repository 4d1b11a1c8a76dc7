"""Corrections in conversations."""

import pytest

from workspaces.memory.text.corrections import corrects


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("gate code is new: 9036", "no, sorry, 9063"),
        ("the dentist is on tuesday", "no, Thursday"),
        ("meeting at 5", "wait, actually 6pm"),
        ("it was Ann who called", "sorry I mean it was Bela"),
        ("der Termin ist am 9. Juni", "Quatsch, am 16."),
        ("le rendez-vous est le 9 juin", "non, pardon, le 16"),
        ("we pay 71 a month", "correction: 78"),
        ("the oil is Mobilgard 300", "actually it's Mobilgard 412 not 300"),
    ],
)
def test_a_value_is_taken_back_for_another_one(earlier: str, later: str) -> None:
    """Whatever is said first: no, sorry, wait, I mean."""
    assert corrects(later, earlier)


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("gate code is new: 9036", "no idea who changed it"),
        ("gate code is new: 9036", "the bins go out on friday"),
        ("the dog sleeps", "no, Thursday"),
        ("bunker on saturday, barge is now Elbe 7", "Actually the oil is Mobilgard 412 not 300"),
        ("we pay 71 a month", "no problem, I'll tell Ann"),
        ("we pay 71 a month", "no, " + "and the other thing is that " * 5 + "78"),
    ],
)
def test_another_statement_takes_nothing_back(earlier: str, later: str) -> None:
    """Without a value of the same kind, without first words of a correction, or with a number that is not there.

    Nor where it says something of its own.
    """
    assert not corrects(later, earlier)
