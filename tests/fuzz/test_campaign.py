"""What a campaign finds: crashes, broken invariants, hangs and growth, and nothing where there is none."""

import itertools

import pytest
from hypothesis import strategies as st

from tests.fuzz.campaign import BLOCKS_A_REPLAY, FREE_BLOCKS, Campaign, HangError, Target, fuzz, replay
from tests.fuzz.mutation import CORPUS, mutated, mutated_json, seeds_of

HANG_S = 0.2


def test_the_input_that_breaks_a_parser_is_told() -> None:
    """As short as it could be made; an exception is as bad as a broken invariant."""

    def crash(value: int) -> None:
        assert value < 7 or value // 0

    with pytest.raises(ZeroDivisionError) as crashed:
        fuzz(Target("division", st.integers(0, 1_000), crash), 60, 1)
    assert "value=7," in "".join(crashed.value.__notes__)


def test_an_input_that_hangs_is_told() -> None:
    """By the processor's time: it is cut off and named."""

    def hang(value: int) -> None:
        for _ in itertools.count():
            if value < 500:
                break

    with pytest.raises(HangError, match="no end within"):
        fuzz(Target("loop", st.sampled_from((1, 2, 700)), hang), 60, 1, HANG_S)


def test_memory_that_grows_is_told() -> None:
    """Some blocks more at every input are a leak; what fills up at first, or goes up and down, is none."""
    assert grown([at * 4_000 for at in range(40)]).grew()
    assert not grown([min(at, 10) * 9_000 for at in range(40)]).grew()
    assert not grown([(at % 3) * FREE_BLOCKS // 2 for at in range(40)]).grew()
    assert not grown([0, 90_000]).grew(), "two looks say nothing"
    assert grown([0] * 40, mb=[float(at * 4) for at in range(40)]).grew()


def test_memory_that_grows_by_what_is_known_is_told() -> None:
    """An input that is given again leaves nothing behind; one that is kept each time does."""
    kept: list[list[int]] = []
    values = list(range(1_000, 1_050))
    assert replay(Target("leak", st.integers(), lambda value: kept.append([value])), values) > BLOCKS_A_REPLAY
    assert replay(Target("none", st.integers(), lambda value: None), values) <= BLOCKS_A_REPLAY


def grown(blocks: list[int], mb: list[float] | None = None) -> Campaign:
    return Campaign("x", looks=[(at * 200, each, mb[at] if mb else 100.0) for at, each in enumerate(blocks)])


def test_a_campaign_gives_the_same_inputs_for_the_same_seed() -> None:
    """So that the suite fails for everybody or nobody."""

    def inputs() -> list[int]:
        seen: list[int] = []
        fuzz(Target("x", st.integers(), seen.append), 0.5, 1)
        return seen

    once, again = inputs(), inputs()
    alike = min(len(once), len(again))
    assert once[:alike] == again[:alike]


@pytest.mark.parametrize("name", sorted(folder.name for folder in CORPUS.iterdir()))
def test_each_corpus_is_used(name: str) -> None:
    """A folder without seeds would leave a target with next to nothing."""
    assert all(seeds_of(name))


def test_seeds_come_unchanged_too_and_are_never_changed_themselves() -> None:
    """What a platform really sends must be accepted; and a change of one input must not reach the next."""
    seeds, seen = ['{"a": {"b": [1]}}'], []
    fuzz(Target("json", mutated_json(seeds), lambda value: seen.append(repr(value))), 2, 1)
    assert "{'a': {'b': [1]}}" in seen
    assert len(set(seen)) > 20
    texts: list[str] = []
    fuzz(Target("text", mutated(["whole"], ["knot"]), texts.append), 2, 1)
    assert "whole" in texts
    assert any("knot" in text for text in texts)
