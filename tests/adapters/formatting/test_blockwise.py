"""Formatting block by block: what one block cannot show costs the others nothing."""

import pytest
from markdown_it import MarkdownIt

from adapters.channel import EntityType
from adapters.discord.text import discord_parts
from adapters.text import telegram_parts
from tests.adapters.model_like import answers

SLIPS = (
    "[docs][1]\n\n[1]: https://a.example/d",
    '[docs](https://a.example "title")',
    '![cat](https://a.example/c.png "a title")',
    "```py title=a.py\nx = 1\n```",
    "[todo]: milk",
)
"""Each once left the whole answer raw."""


@pytest.mark.parametrize("slip", SLIPS)
def test_no_slip_leaves_an_answer_raw(slip: str) -> None:
    """A link's definition or title, a picture's title and a fence's info string once did."""
    (part,) = telegram_parts(f"# Head\n\n{slip}\n\n**bold** end")
    assert part.text.startswith("Head\n\n")
    assert part.text.endswith("\n\nbold end")
    assert {EntityType.UNDERLINE, EntityType.BOLD} <= {found.type for found in part.entities}


def test_of_two_hundred_answers_none_is_raw_as_a_whole() -> None:
    """A quarter of them have one of the slips: 838 of 4,000 were raw, now none."""
    raw = []
    for number, answer in enumerate(answers(1, 200)):
        slip = SLIPS[number // 4 % len(SLIPS)] if number % 4 == 0 else "plain"
        first = telegram_parts(f"**So** it is.\n\n{slip}\n\n{answer}")[0].text
        raw += [answer] if not first.startswith("So it is.\n\n") else []
    assert raw == []


@pytest.mark.parametrize("answer", ["\\[see](page 'chapter one')", "see](page 'chapter one')"])
def test_what_is_no_links_title_is_shown(answer: str) -> None:
    """Quoted words behind an address are one only in a link, which an unescaped bracket begins."""
    (part,) = telegram_parts(answer)
    assert part.text == answer.removeprefix("\\")


def test_a_link_finds_its_target_below_the_answer() -> None:
    """Its definition is not shown again; one that no link uses is, for it may be a note."""
    answer = "See [docs][1] and [Home].\n\n[1]: https://a.example/d 'T'\n[home]: https://a.example/h\n[todo]: milk"
    (part,) = telegram_parts(answer)
    assert part.text == "See docs and Home.\n\n[todo]: milk"
    assert [found.url for found in part.entities] == ["https://a.example/d", "https://a.example/h"]
    (part,) = discord_parts(answer)
    assert part.text.startswith("See [docs](https://a.example/d) and [Home](https://a.example/h).")
    assert "[1]" not in part.text


def test_a_reference_within_code_stays() -> None:
    """An index is no link."""
    (part,) = discord_parts("`a[1]`\n\n```\nb[1]\n```\n\n[1]: https://a.example")
    assert part.text == "`a[1]`\n\n```\nb[1]\n```\n\n[1]: https://a.example"


def test_a_block_that_is_too_long_or_too_deep_is_shown_as_written() -> None:
    """5,000 levels of a list made 4,274 messages, nearly all spaces."""
    for block in ["1. " * 5_000, "> " * 5_000, "**a** " * 5_000]:
        parts = telegram_parts(f"**so**\n\n{block}")
        assert parts[0].text.startswith("so\n\n" + block[:10])
        assert sum(len(part.text) for part in parts) <= len(block) + 10


def test_marks_in_a_tables_cell_are_not_shown() -> None:
    """Code shows signs as they are, so they go; a line break is one."""
    table = "| a | b |\n|---|---|\n| **x**<br>`y` | [z](https://a.example) |\n| 2*3*4 | c_d_e |"
    shown = "a     | b\n------+----------------------\nx     | z (https://a.example)\ny     |\n2*3*4 | c_d_e"
    assert [part.text for part in telegram_parts(table)] == [shown]
    assert [part.text for part in discord_parts(table)] == [f"```\n{shown}\n```"]


def test_one_wide_cell_does_not_pad_a_thousand_narrow_ones() -> None:
    """Each narrow row would be padded with 20,000 spaces."""
    table = f"| a | b |\n|---|---|\n| {'x' * 20_000} | y |\n" + "| 1 | 2 |\n" * 2_000
    assert sum(len(part.text) for part in telegram_parts(table)) < 3 * len(table)


def test_discord_does_not_take_a_product_for_emphasis() -> None:
    """In prose; code shows what stands there."""
    assert discord_parts("2*3*4 and `2*3*4`")[0].text == r"2\*3\*4 and `2*3*4`"


def test_a_long_target_is_not_repeated_without_end() -> None:
    """A thousand links to one definition of 2,000 characters keep their label beyond a bound, and it stays."""
    answer = "[x][1] " * 1_000 + f"\n\n[1]: https://a.example/{'d' * 1_900}"
    parts = discord_parts(answer)
    assert sum(len(part.text) for part in parts) < 5 * len(answer) + 10_000
    assert "[1]: https://a.example/" in parts[-1].text or "[1]: https://a.example/" in parts[-2].text


def test_no_message_waits_for_a_new_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    """To make one takes longer than to read a short message."""
    made: list[object] = []
    monkeypatch.setattr(MarkdownIt, "__init__", lambda *arguments: made.append(arguments))
    assert [part.text for part in telegram_parts("**Good** morning")] == ["Good morning"]
    assert [part.text for part in discord_parts("**Good** morning")] == ["**Good** morning"]
    assert made == []
