"""Growth of the formatters with the length of an answer: no answer may hold up the chats of all others."""

import time

import pytest

from adapters.discord.text import discord_parts
from adapters.terminal import terminal_parts
from adapters.text import telegram_parts
from tests.adapters.formatting.growth import KNOTS, PAIRS, is_linear

FORMATTERS = {"telegram": telegram_parts, "discord": discord_parts, "terminal": terminal_parts}
KNOWN = ["\n", r"\(", "||a\n> > > > > > > > > > ", "[a]: b\n", "a|b\n-|-\n", "- "]
"""Inputs that froze a gateway, or would have."""


@pytest.mark.parametrize("platform", FORMATTERS)
@pytest.mark.parametrize("knot", KNOWN)
def test_inputs_that_once_froze_a_gateway_are_read_in_linear_time(platform: str, knot: str) -> None:
    """30,000 line ends took 84 seconds, 10,000 openings of a formula 2.7."""
    assert is_linear(FORMATTERS[platform], knot)


def test_a_spoiler_over_quoted_lines_is_read_at_once() -> None:
    """Each further quote sign doubled the time of the converter's own search: 14 pairs took 74 seconds."""
    before = time.process_time()
    telegram_parts("||a\n" + "> " * 60 + "x||")
    assert time.process_time() - before < 5


@pytest.mark.nightly
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("platform", FORMATTERS)
@pytest.mark.parametrize("knots", [KNOTS, PAIRS[::7]], ids=["single", "pairs"])
def test_no_pumped_input_takes_more_than_linear_time(platform: str, knots: tuple[str, ...]) -> None:
    """Each kind of character, and pairs of them."""
    assert [knot for knot in knots if not is_linear(FORMATTERS[platform], knot)] == []
