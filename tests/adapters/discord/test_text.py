"""Messages for Discord: no part too long, no code block cut, no word lost."""

import re

from hypothesis import given
from hypothesis import strategies as st

from adapters.discord.text import DISCORD_LIMIT, discord_parts

PIECES = st.sampled_from(
    [
        "words and more words ",
        "# Head\n",
        "- item **bold** `code`\n",
        "> quoted\n",
        "```python\nx = 1\ny = `2`\n```\n",
        "~~~\ntilde\n~~~\n",
        "````md\n```js\ninner()\n```\n````\n",
        "    indented code\n",
        "| a | b |\n|---|---|\n| 1 | long cell 😀 |\n\n",
        "1. list\n   ```sh\n   ls\n   ```\n",
        "@everyone <@42> ||spoiler||",
        "😀" * 30,
        "x" * 120,
        "\n\n",
        "```",
        "``",
        "```not closed\n",
        "слово ",
    ]
)
MARKDOWN = st.lists(PIECES | st.text(max_size=40), max_size=40).map("".join)


def letters(text: str) -> str:
    """All that carries meaning, in order."""
    return "".join(filter(str.isalnum, text))


def texts(markdown: str, limit: int = DISCORD_LIMIT) -> list[str]:
    return [part.text for part in discord_parts(markdown, limit)]


@given(MARKDOWN)
def test_no_part_is_too_long_and_every_code_block_is_whole(markdown: str) -> None:
    """Whatever is answered, Discord takes each part, and a fence that a part opens it also closes."""
    for part in texts(markdown, 200):
        assert part.strip()
        assert len(part.encode("utf-16-le")) // 2 <= 200
        assert part.count("```") % 2 == 0


@given(MARKDOWN)
def test_parts_together_say_what_the_whole_says(markdown: str) -> None:
    """Every letter comes, in order; cutting adds nothing but the language of a code block that goes on."""
    whole, parts = "".join(texts(markdown, 1_000_000)), texts(markdown, 200)
    rest = iter(letters("".join(parts)))
    assert all(letter in rest for letter in letters(whole))
    assert len(letters("".join(parts))) <= len(letters(whole)) + len(parts) * 32


@given(MARKDOWN)
def test_no_word_of_the_answer_is_lost(markdown: str) -> None:
    """Tables and code of every kind keep their words; only the dashes below a table's head are ours."""
    shown = letters("".join(texts(markdown, 1_000_000)))
    for word in re.findall(r"[a-z]{3,}", markdown):
        assert word in shown


def test_a_long_code_block_goes_on_in_the_next_part() -> None:
    """Each part opens it with its language and closes it."""
    code = "\n".join(f"line_{number} = {number}" for number in range(300))
    parts = texts(f"Here:\n\n```python\n{code}\n```\n\nDone.")
    assert len(parts) > 2
    assert parts[0].startswith("Here:")
    assert all(part.startswith("```python\n") for part in parts[1:])
    assert all(part.endswith("\n```") for part in parts[:-1])
    assert parts[-1].endswith("Done.")
    assert sum(part.count("line_") for part in parts) == 300


def test_a_code_block_that_does_not_fit_begins_in_the_next_part() -> None:
    """Its opening line is not left behind alone."""
    code = "print('a line that is long enough to be moved')"
    first, second = texts(f"{'x' * 150}\n```python\n{code}\n```", 200)
    assert first == "x" * 150
    assert second == f"```python\n{code}\n```"


def test_a_long_line_is_not_cut_within_backticks() -> None:
    """Three of them begin a code block; two and one would not."""
    first, second = texts("x" * 150 + "```" + "y" * 40 + "```", 200)
    assert first == "x" * 150
    assert second == "```" + "y" * 40 + "```"


def test_a_table_becomes_aligned_code() -> None:
    """Discord shows no tables; letters of double width count as two."""
    (part,) = texts("Prices:\n\n| Fruit | Euro |\n|:--|--:|\n| apple | 1 |\n| 林檎 | 12 |\n\nBye")
    assert part == ("Prices:\n\n```\nFruit | Euro\n------+-----\napple | 1\n林檎  | 12\n```\n\nBye")


def test_every_kind_of_code_block_becomes_the_one_that_discord_knows() -> None:
    """A fence of tildes, a longer fence and indentation; backticks within cannot end the block."""
    assert texts("~~~js\nrun()\n~~~") == ["```js\nrun()\n```"]
    assert texts("text\n\n    indented\n") == ["text\n\n```\nindented\n```\n"]
    assert texts("1. ```sh\n   ls\n   ```") == ["1.\n```sh\nls\n```"]
    assert texts("a\r\n```sh\r\nls\r\n```\r\nb") == ["a\n```sh\nls\n```\nb"]
    (part,) = texts("````md\n```js\nx\n```\n````")
    assert part == "```md\n`\u200b``js\nx\n`\u200b``\n```"
    assert texts("```py title=a.py\nx\n```") == ["```\npy title=a.py\nx\n```"]


def test_what_discord_reads_itself_stays_as_it_was_written() -> None:
    """Links, headings, quotes, lists and spoilers are Discord's own Markdown."""
    markdown = "# Head\n> quote\n- [site](https://a.example) ||secret|| **b** *i* ~~s~~ `c`"
    assert texts(markdown) == [markdown]


def test_blank_text_is_no_message() -> None:
    """Discord refuses one."""
    assert texts(" \n\t\n ") == []
