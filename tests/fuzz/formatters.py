"""Fuzzing of the formatters: no word of an answer is lost, and each part is one that its platform takes."""

import html
import random
import re
from collections import Counter

from hypothesis import strategies as st
from markdown_it import MarkdownIt

from adapters.channel import Body
from adapters.discord.text import DISCORD_LIMIT, discord_parts
from adapters.formatting.formulas import letters
from adapters.formatting.split import MOST_ENTITIES, plain_parts, units, valid_unicode
from adapters.terminal import terminal_parts
from adapters.text import TELEGRAM_LIMIT, telegram_parts
from tests.adapters.formatting.growth import KNOTS
from tests.adapters.model_like import answers
from tests.fuzz.campaign import Target
from tests.fuzz.mutation import mutated, seeds_of

_WORDS = ("word", "слово", "日本語", "| a | b |\n|---|---|\n", r"\(\frac{a}{b}\)", "[1]: https://a.example\n", "[x][1]")
_PLAIN_LIMIT = 100
_SEEDS = 40
"""Answers such as models write, beside the corpus."""
_MOST_TIMES_LONGER, _FREE_UNITS = 12, 5_000
_SHOWN_AS_SIGNS = re.compile(r"\\[A-Za-z]+|\[[xX]\](?=\s)|<br[ \t]{0,9}/?>", re.IGNORECASE)
_READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
_VISIBLE = ("text", "code_inline", "code_block", "fence", "html_block", "html_inline")


def check(answer: str) -> None:
    """Raise AssertionError if a formatter makes of *answer* what no platform takes, or loses a word of it."""
    for parts, limit in [
        (telegram_parts(answer), TELEGRAM_LIMIT),
        (discord_parts(answer), DISCORD_LIMIT),
        (plain_parts(answer, _PLAIN_LIMIT), _PLAIN_LIMIT),
    ]:
        assert bool(parts) == bool(answer.strip())
        assert sum(len(part.text) for part in parts) <= _MOST_TIMES_LONGER * len(answer) + _FREE_UNITS
        for part in parts:
            check_part(part, limit)
        assert not (gone := lost(answer, parts)), gone
    assert telegram_parts(answer) == telegram_parts(answer), "delivery counts on the same parts after a restart"
    assert all(sign.isprintable() or sign not in "\x1b\x07\x08\r" for sign in "".join(_texts(terminal_parts(answer))))


def check_part(part: Body, limit: int) -> None:
    """Raise AssertionError if *part* is empty, too long, or formatted where it has no text."""
    assert part.upload or part.text.strip()
    assert units(part.text) <= limit
    assert len(part.entities) <= MOST_ENTITIES
    assert all(0 <= at.offset < at.offset + at.length <= units(part.text) for at in part.entities)


def lost(answer: str, parts: tuple[Body, ...]) -> Counter[str]:
    """Return the letters that a reader of *answer* should see, by CommonMark, and does not: in no text and no file.

    Names of formulas' commands, ticks of task lists, `<br>` and `&lt;` may go: signs stand for them.
    """
    shown = "".join((*_texts(parts), *(f"{at.url or ''}{at.language or ''}" for part in parts for at in part.entities)))
    return letters(_SHOWN_AS_SIGNS.sub("", html.unescape(visible(valid_unicode(answer))))) - letters(shown)


def visible(markdown: str) -> str:
    """Return the words that a reader sees of *markdown*."""
    tokens = [part for token in _READER.parse(markdown) for part in (token.children or [token])]
    return "\n".join(token.content for token in tokens if token.type in _VISIBLE)


def _texts(parts: tuple[Body, ...]) -> list[str]:
    return [part.text + (part.upload.content.decode() if part.upload else "") for part in parts]


def _seeds() -> list[str]:
    made = answers(random.Random(1).randrange(10**9), _SEEDS)
    return [*(seed.decode() for seed in seeds_of("markdown")), "", *made]


TARGET = Target("formatters", mutated(_seeds(), (*KNOTS, *_WORDS)) | st.text(max_size=300), check)
