"""Reasoning between tags goes to no chat; every word of the answer does, however the stream is cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.agent.models.provider import Finish, TextPiece
from gateway.agent.models.reply_builder import Assembly


def answer(*pieces: str) -> str:
    """Return the text of a reply that comes in *pieces*."""
    assembly = Assembly("m")
    for piece in pieces:
        assembly.add(TextPiece(piece))
    assembly.add(Finish("stop"))
    return assembly.entry(()).text


CASES = [
    ("<think>\nShe asks for the port.\n</think>\n\nIt is 5433.", "It is 5433."),
    ("<THINKING>a</THINKING>It is 5433.", "It is 5433."),
    ("First.\n<think>hm</think>\nSecond.", "First.\n\nSecond."),
    ("reasoning that the template opened\n</think>\n\nIt is 5433.", "It is 5433."),
    ("Write `<think>` before it.", "Write `<think>` before it."),
    ("```xml\n<think>\nx\n</think>\n```\nDone.", "```xml\n<think>\nx\n</think>\n```\nDone."),
    ("The tag <think> is old.", "The tag <think> is old."),
    ("A list:\n<think> stands here and is never closed", "A list:\n<think> stands here and is never closed"),
    ("<think>a ` b</think>`code` c", "`code` c"),
    ("a < b and c <d", "a < b and c <d"),
    ("ends with `", "ends with `"),
]


@pytest.mark.parametrize(("text", "shown"), CASES)
def test_reasoning_is_taken_out_and_nothing_else(text: str, shown: str) -> None:
    """At the beginning, in the middle, without an opening tag; never in code, never a tag in a sentence."""
    assert answer(text) == shown


@given(st.text(alphabet="ab <`\n", min_size=1).filter(str.strip))
def test_text_without_tags_stays_whole(text: str) -> None:
    """Angle brackets and backticks alone are text."""
    assert answer(*text) == text


@pytest.mark.parametrize("ticks", [4, 5, 7, 90])
def test_a_run_of_backticks_may_be_cut_anywhere(ticks: int) -> None:
    """Whether the tag behind it stands in code depends on how many there are, and not on how they came."""
    whole = "`" * ticks + "\n<think>x</think>\nend"
    assert {answer(whole[:cut], whole[cut:]) for cut in range(1, len(whole))} == {answer(whole)}


def test_no_draft_shows_reasoning() -> None:
    """What a chat sees while the answer grows is the answer, too."""
    assembly = Assembly("m")
    drafts = [assembly.add(TextPiece(piece)) for piece in ("<th", "ink>secret", " plan</thi", "nk>It is", " 5433.")]
    assert "".join(drafts) == "It is 5433."


def test_reading_is_linear() -> None:
    """Many beginnings of tags cost no more than other text: each is looked at once."""
    text = "<think" * 20_000 + "<" * 20_000
    assert answer(*(text[n : n + 50] for n in range(0, len(text), 50))) == text
