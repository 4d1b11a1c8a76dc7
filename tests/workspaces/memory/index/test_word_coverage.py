"""Shares of a query's words that entries hold."""

import random

import pytest

from workspaces.memory.index.rarity import pack
from workspaces.memory.index.word_coverage import covered_shares
from workspaces.memory.text.sparse import SparseVector


def test_words_count_by_weight_in_an_entry_or_in_the_question_that_it_answers() -> None:
    """Each once; without words nothing is covered."""
    words = SparseVector([7, 2**32 - 1, 3], [1.0, 0.5, 0.5])
    entries = [pack([3, 9]), pack([7, 3]), pack([]), pack([2**32 - 1, 8])]
    assert covered_shares(words, entries, [0, 1, 2, 3]).tolist() == [0.25, 0.75, 0.0, 0.25]
    assert covered_shares(words, entries, [1, 1, 0, 2]).tolist() == [0.75, 0.75, 0.25, 0.25]
    assert covered_shares(SparseVector([], []), entries, [0, 1, 2, 3]).tolist() == [0.0] * 4
    assert covered_shares(words, [], []).tolist() == []


def test_shares_are_those_of_sets() -> None:
    """Counted entry by entry, for words and entries of any kind."""
    dice = random.Random(1)
    for _ in range(50):
        words = SparseVector(dice.sample(range(40), 6), [dice.randint(1, 400) / 128 for _ in range(6)])
        entries = [set(dice.sample(range(50), dice.randint(0, 20))) for _ in range(20)]
        answered = [dice.randrange(20) for _ in entries]
        held = [entry | entries[other] for entry, other in zip(entries, answered, strict=True)]
        weights = dict(zip(words.indices, words.values, strict=True))
        expected = [sum(weights[word] for word in each & weights.keys()) / sum(words.values) for each in held]
        found = covered_shares(words, [pack(sorted(entry)) for entry in entries], answered)
        assert found.tolist() == pytest.approx(expected)
