"""Tokens of a model's chat template reach no chat; every word of the answer does, however the stream is cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.gateway.agent.models.test_thinking import answer

CASES = [
    ("It is 5433.<|im_end|>", "It is 5433."),
    ("It is 5433.<|eot_id|>", "It is 5433."),
    ("It is 5433.<end_of_turn>\n", "It is 5433.\n"),
    ("It is 5433.</s>", "It is 5433."),
    ("It is 5433.<｜end▁of▁sentence｜>", "It is 5433."),
    ("It is 5433. <|im_end|> <|endoftext|>", "It is 5433. "),
    ("It is 5433.<|im_end|>\n<|im_start|>user\nAnd the host?<|im_end|>\nIt is h.", "It is 5433.\n"),
    ("It is 5433.<|im_end|>\n<|im_start|>user", "It is 5433.\n"),
    ("It is 5433.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nThanks", "It is 5433."),
    ("<|im_start|>assistant\nIt is 5433.<|im_end|>", "\nIt is 5433."),
    ("<|start_header_id|>assistant<|end_header_id|>\n\nIt is 5433.", "\n\nIt is 5433."),
    ("<start_of_turn>model\nIt is 5433.<end_of_turn>", "\nIt is 5433."),
    ("First.<|im_end|>\nSecond.", "First.\nSecond."),
    ("<think>hm</think><|im_start|>assistant\nIt is 5433.", "\nIt is 5433."),
    ("reasoning<|im_end|>\n<|im_start|>x</think>It is 5433.", "It is 5433."),
    ("The token <|im_end|> ends a turn.", "The token <|im_end|> ends a turn."),
    ("A turn begins with <|im_start|> and a role.", "A turn begins with <|im_start|> and a role."),
    ("Stop at `<|im_end|>`", "Stop at `<|im_end|>`"),
    ("```\n<|im_start|>user\nhi<|im_end|>\n```\nDone.", "```\n<|im_start|>user\nhi<|im_end|>\n```\nDone."),
    ("<s>old</s>\nnew", "<s>old</s>\nnew"),
    ("a <| b and c <|d", "a <| b and c <|d"),
]


@pytest.mark.parametrize(("text", "shown"), CASES)
def test_tokens_are_taken_out_and_nothing_else(text: str, shown: str) -> None:
    """At the end, before an invented turn, at the beginning; never in code, never in a sentence."""
    assert answer(text) == shown


def test_tokens_within_reasoning_hide_nothing_of_the_answer() -> None:
    """A turn that the reasoning invents ends with it, though its tokens had been read before."""
    assert answer("hm<|im_end|>\n<|im_start|>user\nAnd the host of it?\n", "</think>It is 5433.") == "It is 5433."


@given(st.text(alphabet="ab <|s>/`\n", min_size=1).filter(lambda text: text.strip() and "</s>" not in text))
def test_text_without_tokens_stays_whole(text: str) -> None:
    """Brackets and bars alone are text."""
    assert answer(*text) == text
