"""BM25 vectors of points and queries, in sparse form; the engine multiplies by the IDF.

The average length is a constant: measured on the notes themselves, it would let private text affect a group's scores.
"""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from zlib import crc32

from msgspec import Struct

from workspaces.memory.entry import Entry
from workspaces.memory.text.tokens import query_terms, terms

K1 = 1.2
"""Saturation of repeated terms; the usual value."""
B = 0.75
"""Penalty for long texts; the usual value."""
AVERAGE_TERMS = 48
"""Average length, in terms: a line of a daily note with its date has 35, with the previous one 55."""

TEXTS_KEPT = 256
"""Texts with cached terms: each text is read again as the context of the next entry, headings with each entry."""


class SparseVector(Struct, frozen=True):
    """Weights by term number; both of equal length, numbers unique."""

    indices: Sequence[int]
    values: Sequence[float]


def term_number(term: str) -> int:
    """Return the stable 32-bit number of *term*.

    Two of 100,000 terms share one, on average; they then count as one word. Exact identifiers are compared as text
    during ranking, so a shared number cannot make a wrong identifier win.
    """
    return crc32(term.encode())


def document_vector(*texts: str) -> SparseVector:
    """Return the BM25 weight, without IDF, of every term of *texts*, read as one text."""
    counts = Counter(chain.from_iterable(map(_term_numbers, texts)))
    norm = K1 * (1 - B + B * counts.total() / AVERAGE_TERMS)
    return SparseVector(list(counts), [count * (K1 + 1) / (count + norm) for count in counts.values()])


@lru_cache(TEXTS_KEPT)
def _term_numbers(text: str) -> tuple[int, ...]:
    return tuple(map(term_number, terms(text)))


def query_vector(text: str) -> SparseVector:
    """Return weight 1 for every search term of *text*."""
    numbers = list(dict.fromkeys(map(term_number, query_terms(text))))
    return SparseVector(numbers, [1.0] * len(numbers))


def dated_vector(entry: Entry) -> SparseVector:
    """Return the sparse vector `bm25` of *entry*: the words of its date, its headings and its own."""
    day = f"{entry.date.isoformat()} {entry.date:%d %B %Y}" if entry.date else ""
    return document_vector(day, entry.section, entry.text)


def contextual_vector(entry: Entry) -> SparseVector:
    """Return the sparse vector `bm25_context` of *entry*: the words of the previous entry and its own."""
    return document_vector(entry.context, entry.text)
