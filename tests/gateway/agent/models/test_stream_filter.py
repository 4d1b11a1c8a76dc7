"""An answer is the same however its stream is cut, with marks of the model's server in it."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tests.gateway.agent.models.test_template_tokens import CASES as TOKENS
from tests.gateway.agent.models.test_thinking import CASES as REASONING
from tests.gateway.agent.models.test_thinking import answer


@given(st.sampled_from([*REASONING, *TOKENS]), st.data())
def test_it_does_not_matter_how_the_stream_is_cut(case: tuple[str, str], data: st.DataObject) -> None:
    """Cut anywhere, even within a mark, the same words arrive."""
    text, shown = case
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    places = [0, *cuts, len(text)]
    assert answer(*(text[a:b] for a, b in pairwise(places))) == shown
