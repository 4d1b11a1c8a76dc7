"""Random answers, a few in the suite and minutes of them by night: no crash, no endless work, no refused part."""

import os
import time
from random import Random

import pytest

from adapters.channel import Body
from adapters.discord.text import discord_parts
from adapters.formatting.split import MOST_ENTITIES, plain_parts, units
from adapters.text import telegram_parts
from tests.adapters.formatting.growth import KNOTS
from tests.adapters.model_like import answers

MINUTES = float(os.environ.get("STRANDLINE_FUZZ_MINUTES", "10"))
_MOST_SECONDS = 5
_WORDS = (
    "word",
    "слово",
    "日本語",
    "😀",
    "| a | b |\n|---|---|\n",
    r"\(\frac{a}{b}\)",
    "[1]: https://a.example\n",
    "[x][1]",
)


def written(dice: Random) -> str:
    """Return a random answer: knots, words, and what models write."""
    if dice.random() < 0.2:
        return next(answers(dice.randrange(10**9), 1))
    pieces = [
        dice.choice(dice.choice((KNOTS, _WORDS))) * dice.choice((1, 1, 1, 2, 5, 30)) for _ in range(dice.randint(1, 60))
    ]
    return "".join(pieces)


def check(answer: str) -> None:
    """Raise AssertionError if a formatter makes of *answer* what no platform takes."""
    before = time.process_time()
    for parts, limit in [
        (telegram_parts(answer), 4096),
        (discord_parts(answer), 2000),
        (plain_parts(answer, 100), 100),
    ]:
        assert bool(parts) == bool(answer.strip()), repr(answer)
        assert sum(len(part.text) for part in parts) <= 12 * len(answer) + 5_000, repr(answer)
        for part in parts:
            check_part(part, limit, answer)
    assert time.process_time() - before < _MOST_SECONDS, repr(answer)


def check_part(part: Body, limit: int, answer: str) -> None:
    """Raise AssertionError if *part* is empty, too long, or formatted where it has no text."""
    assert part.upload or part.text.strip(), repr(answer)
    assert units(part.text) <= limit, repr(answer)
    assert len(part.entities) <= MOST_ENTITIES, repr(answer)
    assert all(0 <= at.offset < at.offset + at.length <= units(part.text) for at in part.entities), repr(answer)


def test_random_answers_are_shown() -> None:
    """The same three hundred each time."""
    dice = Random(1)
    for _ in range(300):
        check(written(dice))


@pytest.mark.nightly
@pytest.mark.timeout(7200)
def test_random_answers_are_shown_all_night() -> None:
    """Others each time, as long as `STRANDLINE_FUZZ_MINUTES` says."""
    dice, end = Random(), time.monotonic() + 60 * MINUTES
    while time.monotonic() < end:
        check(written(dice))
