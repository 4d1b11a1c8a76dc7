"""Random answers in the style of language models: headings, lists, code, tables, links, and slips."""

import random
from collections.abc import Iterator

PROSE = (
    "the plan is to ship it on Monday and then café слово 日本語 😀 see notes.md https://x.example/a?b=c&d=1 <tag> $5"
)
WORDS = tuple(PROSE.split())
SLIPS = (
    *("**", "*", "_", "`", "```py\n", "```\n", "\n", "> ", "- ", "1. ", "- [x] ", "#", "---\n", "~~", "||", "[", "]("),
    *(
        ")",
        "<b>",
        "<!-- x -->",
        "&lt;",
        "$",
        r"\(\frac{a}{b}\)",
        "{",
        "\\",
        "|",
        "[^1]: ",
        "\t",
        "\x00",
        "\u200b",
        "\ud83d",
    ),
    *("word", "👩\u200d👩\u200d👧", "@everyone", "</pre>", "![cat](https://a.example/c.png)"),
)
TARGETS = (
    *("https://a.example/x?y=1#z", "notes.md", "https://", "http://a b", "https://[::1]/x", "http://localhost:80/"),
    *(
        "https://пример.рф/а",
        "tg://user?id=1",
        "javascript:alert(1)",
        "http://a.example:99999/",
        "https://1.2.3.4:8080",
    ),
)


def answers(seed: int, count: int) -> Iterator[str]:
    """Yield *count* answers in Markdown, the same for the same *seed*."""
    dice = random.Random(seed)
    for _ in range(count):
        yield "\n\n".join(dice.choice(BLOCKS)(dice) for _ in range(dice.randint(1, 12)))


def _words(dice: random.Random) -> str:
    return " ".join(dice.choice(WORDS) for _ in range(dice.randint(1, 60)))


def _lines(dice: random.Random, most: int = 5) -> str:
    return "\n".join(_words(dice) for _ in range(dice.randint(1, most)))


def _heading(dice: random.Random) -> str:
    return "#" * dice.randint(1, 6) + " " + _words(dice)


def _items(dice: random.Random) -> str:
    return "\n".join("  " * dice.randint(0, 2) + "- " + _words(dice) for _ in range(dice.randint(1, 6)))


def _code(dice: random.Random) -> str:
    return f"```{dice.choice(['py', '', 'c++', 'json title=x'])}\n{_lines(dice, 80)}\n```"


def _quoted(dice: random.Random) -> str:
    return f"> {_words(dice)}\n> {_words(dice)}"


def _table(dice: random.Random) -> str:
    return "| a | b |\n|---|:-:|\n" + f"| {dice.choice(WORDS)} | **{dice.choice(WORDS)}** |\n" * dice.randint(1, 3)


def _slips(dice: random.Random) -> str:
    return "".join(dice.choice(SLIPS) for _ in range(dice.randint(1, 40)))


def _marked(dice: random.Random) -> str:
    return f"**{_words(dice)}** _{_words(dice)}_ ~~{_words(dice)}~~ ||{_words(dice)}|| `{dice.choice(WORDS)}`"


def _linked(dice: random.Random) -> str:
    return f"[{_words(dice)}]({dice.choice(TARGETS)}) and {_words(dice)}"


BLOCKS = (_heading, _items, _code, _quoted, _table, _slips, _marked, _linked, _lines, _lines)
