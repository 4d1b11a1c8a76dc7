"""Tokens are told before a request is sent, from what the provider counted in the one before."""

import json
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest

from gateway.agent.entries import (
    CHARACTERS_A_TOKEN,
    Entry,
    Picture,
    ReplyEntry,
    ToolCall,
    TurnNoteEntry,
    Usage,
    UserEntry,
)
from gateway.agent.models.port import ModelRequest, ToolSpec
from gateway.agent.window.count import Scale, measured_scale

RECORDED: dict[str, list[list[int]]] = json.loads(Path(__file__).with_name("recorded_usage.json").read_text())
"""Characters and tokens of each request of a growing conversation, by two models' own tokenizers
(`scripts/record_usage.py` made it)."""


def reply(usage: Usage, model: str = "m") -> ReplyEntry:
    return ReplyEntry("fine", (), model, usage)


@pytest.mark.parametrize("tokenizer", sorted(RECORDED))
def test_the_next_request_is_foretold_within_six_per_cent(tokenizer: str) -> None:
    """Notes, programs, JSON and four scripts in turn: each count comes from the one before; on average within 0.5 %."""
    errors = []
    for (characters, tokens), (next_characters, next_tokens) in pairwise(RECORDED[tokenizer]):
        scale = measured_scale([reply(Usage(tokens, 5, 0, characters))], "m")
        errors.append(abs(scale.tokens(next_characters) - next_tokens) / next_tokens)
    assert max(errors) < 0.06
    assert sum(errors) / len(errors) < 0.005


@pytest.mark.parametrize("tokenizer", sorted(RECORDED))
def test_without_a_count_the_guess_is_never_too_low(tokenizer: str) -> None:
    """A guess that is too high asks for room too early; one that is too low fails at the provider."""
    assert all(Scale().tokens(characters) >= tokens for characters, tokens in RECORDED[tokenizer])


@pytest.mark.parametrize(
    "usage", [Usage(), Usage(100, 5, 0, 0), Usage(0, 5, 0, 100), Usage(1_000, 5, 0, 10), Usage(1, 5, 0, 4_000)]
)
def test_a_count_that_cannot_be_is_not_believed(usage: Usage) -> None:
    """A provider that says nothing, or nonsense, leaves the cautious guess."""
    assert measured_scale([reply(usage)], "m") == Scale(CHARACTERS_A_TOKEN, is_measured=False)


def test_only_the_models_own_count_is_taken_and_the_latest() -> None:
    """Another model of the chain has another tokenizer."""
    entries = [reply(Usage(100, 5, 0, 200)), reply(Usage(100, 5, 0, 500)), reply(Usage(100, 5, 0, 300), "other")]
    assert measured_scale(reversed(entries), "m") == Scale(5.0, is_measured=True)


def test_everything_that_is_sent_is_counted() -> None:
    """System prompt, note, messages, calls, tools: a part that is not counted would be foreseen by nobody."""
    call = ToolCall("c", "ab", "{}")
    message, answer = UserEntry("four", datetime.now(UTC), "", "1"), ReplyEntry("x", (call,), "m", Usage())
    entries: list[Entry] = [TurnNoteEntry("note"), message, answer]
    spec = ToolSpec("tool", "does", {})
    assert ModelRequest("sys", entries, (spec,)).characters == 3 + 4 + 4 + (1 + 2 + 2) + (4 + 4 + 2)


@pytest.mark.parametrize(
    ("width", "height", "tokens"),
    [(1, 1, 512), (512, 512, 512), (513, 512, 768), (1_024, 1_024, 1_280), (4_096, 8_000, 3_328), (8_000, 1, 1_280)],
)
def test_a_picture_costs_what_its_tiles_do(width: int, height: int, tokens: int) -> None:
    """After it was fitted into 2,048 pixels; with the text of its message."""
    picture = Picture("attachments/a.png", "image/png", 5, width, height)
    said = UserEntry("four", datetime(2026, 11, 22, tzinfo=UTC), "", "1", pictures=(picture,))
    assert picture.tokens == tokens
    assert said.characters == 4 + tokens * CHARACTERS_A_TOKEN
