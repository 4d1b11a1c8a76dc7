"""Which of several things a line is about."""

import pytest

from workspaces.memory.text.owners import names_other_number, numbered


@pytest.mark.parametrize(
    ("text", "things"),
    [
        ("drag of disc 3 is 1.17, disc 4 is 0.98", {("disc", "3"), ("disc", "4")}),
        ("is room 12 free?", {("room", "12")}),
        ("bus 38 leaves at 9", {("bus", "38")}),
        ("it costs 40 euros, we paid 35", set()),
        ("we met on May 3 at 10:30", set()),
        ("the rate is 3.5 % over 12 months", set()),
    ],
)
def test_a_number_after_a_noun_tells_things_apart(text: str, things: set[tuple[str, str]]) -> None:
    """Neither an amount, nor a day, nor a time does."""
    assert numbered(text) == things


def test_a_line_about_another_number_is_known() -> None:
    """One that names both, or none of the kind, is not about another."""
    assert names_other_number("drag of disc 3", "drag of disc 5: 0.84")
    assert not names_other_number("drag of disc 3", "disc 5 and disc 3 differ")
    assert not names_other_number("drag of disc 3", "the drag is 0.84")
    assert not names_other_number("what is the drag", "drag of disc 5: 0.84")
