"""Fingerprints of notes."""

import pytest

from workspaces.memory.text.fingerprint import fingerprint


@pytest.mark.parametrize("same", ["09:10 The cat eats.", "the cat eats", "**The cat**\neats!"])
def test_a_note_is_known_by_its_words(same: str) -> None:
    """Its time, case, marks and line ends make no difference."""
    assert fingerprint(same) == fingerprint("The cat eats.")


@pytest.mark.parametrize("other", ["The cat ate.", "Ann: The cat eats.", "eats the cat", ""])
def test_other_words_are_another_note(other: str) -> None:
    """So is who says them."""
    assert fingerprint(other) != fingerprint("The cat eats.")


def test_a_passage_that_was_cut_off_is_known() -> None:
    """Searches show long passages in part."""
    long = " ".join(f"word{number}" for number in range(200))
    assert fingerprint(f"{long[:600]}…") == fingerprint(long)
