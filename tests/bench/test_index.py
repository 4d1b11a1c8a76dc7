"""Fairness of the indexing bench."""

from bench.index import full_days, long_notes, run
from workspaces.access import PRIVATE
from workspaces.memory.entry import Document
from workspaces.memory.text.chunking import CHUNK_TOKENS, entries_of, token_count


async def test_both_sides_embed_the_same_texts_and_their_shares_are_told() -> None:
    """Every text of the notes went through the model on either side, and what is found last was indexed."""
    figures = {figure.name: figure.value for figure in await run(entries=28, passages=0, rounds=1, days=1)}
    for unit in ("share of the model's speed", "the model's share of it"):
        assert figures[f"{unit}, lines of 20 words"] > 0
    assert not any("passages" in name for name in figures)
    assert figures["index of 365 notes of 16 kB, reckoned from 1"] > 0
    assert figures["index of 365 notes of 16 kB, reckoned from 1, on disk"] > 0


def test_long_passages_are_as_long_as_a_chunk_may_be() -> None:
    """None is cut in two, and none could be longer by a sentence."""
    [(day, text)] = long_notes(5)
    entries = entries_of(Document("memory/a.md", PRIVATE, text, day, "digest"))
    assert len(entries) == 5
    assert all(CHUNK_TOKENS - 60 < token_count(entry.text) <= CHUNK_TOKENS for entry in entries)


def test_full_days_are_as_long_as_a_year_of_six_megabytes_wants() -> None:
    """192 different lines of 86 characters each."""
    for _, text in full_days(2):
        lines = text.splitlines()
        assert len(set(lines)) == 192
        assert {len(line) for line in lines} == {86}
