"""Sparse vectors: BM25 weights of documents and the terms of a query."""

from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from workspaces.access import PRIVATE
from workspaces.memory.entry import Entry
from workspaces.memory.text.sparse import (
    K1,
    SparseVector,
    contextual_vector,
    dated_vector,
    document_vector,
    query_vector,
    term_number,
)

ENTRY = Entry("memory/a.md", PRIVATE, 1, 2, 2, "bought a kettle", "Kitchen", date(2026, 3, 7), "the old one broke")


def weight(vector: SparseVector, term: str) -> float:
    return dict(zip(vector.indices, vector.values, strict=True)).get(term_number(term), 0.0)


def test_a_repeated_term_weighs_more_and_never_more_than_k1_allows() -> None:
    """BM25 saturates: the weight grows with each repetition towards k1 + 1."""
    weights = [weight(document_vector("tea " * count), "tea") for count in (1, 2, 4)]
    assert weights == sorted(weights)
    assert weights[0] < weights[-1] < K1 + 1


def test_a_term_in_a_long_text_weighs_less() -> None:
    """Length is compared with a constant, so other texts have no part in it."""
    assert weight(document_vector("tea"), "tea") > weight(document_vector("tea" + " and more" * 40), "tea")


def test_day_and_headings_are_words_of_an_entry() -> None:
    """An entry is found by its date in ISO form, by its month's name, and by its section."""
    asked = query_vector("kettle 2026-03-07 march kitchen")
    assert set(asked.indices) <= set(dated_vector(ENTRY).indices)


def test_the_entry_before_is_only_in_the_contextual_vector() -> None:
    """Words of the context find the entry by one vector, its date by the other."""
    assert weight(contextual_vector(ENTRY), "broke") > 0
    assert weight(dated_vector(ENTRY), "broke") == 0
    assert weight(contextual_vector(ENTRY), "2026") == 0


def test_term_numbers_are_the_same_in_every_process() -> None:
    """They are stored; a hash that changed with the process would lose every note."""
    assert term_number("kettl") == 2_023_221_117
    assert 0 <= term_number("кот") < 2**32


@given(st.text(), st.text())
def test_vectors_have_unique_numbers_and_positive_weights(document: str, query: str) -> None:
    """What an engine requires of a sparse vector, for any text."""
    for vector in (document_vector(document), query_vector(query)):
        assert len(set(vector.indices)) == len(vector.indices) == len(vector.values)
        assert all(value > 0 for value in vector.values)
