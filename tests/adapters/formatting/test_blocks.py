"""Conversion of tables and long code, which chats show badly."""

import pytest

from adapters.channel import Body, Upload
from adapters.discord.text import discord_parts
from adapters.formatting.blocks import LONG_CODE, code_as_files
from adapters.text import telegram_parts

CODE = "".join(f"print({number})\n" for number in range(LONG_CODE // 10))
ANSWER = f"Here:\n\n```python\n{CODE}```\n\nand\n\n```c\nx;\n```"


def test_long_code_is_a_file_where_it_stood() -> None:
    """A line names the file, which holds every line of the code; short code stays in the text."""
    before, code, after = code_as_files(ANSWER)
    assert before == "Here:\n\n`code-1.py` (600 lines), attached as a file:"
    assert code == Upload("code-1.py", CODE.encode())
    assert after == "\n\nand\n\n```c\nx;\n```".removeprefix("\n")


@pytest.mark.parametrize("parts_of", [telegram_parts, discord_parts])
def test_each_platform_sends_the_file_between_its_texts(parts_of: type) -> None:
    """The order of an answer is kept."""
    parts = parts_of(ANSWER)
    assert [part.upload and part.upload.name for part in parts] == [None, "code-1.py", None]
    assert parts[1] == Body("", upload=Upload("code-1.py", CODE.encode()))


@pytest.mark.parametrize(
    ("language", "name"),
    [("rust", "code-1.rs"), ("", "code-1.txt"), ("../../x", "code-1.txt"), ("Py title=a", "code-1.py")],
)
def test_a_file_is_named_after_its_language(language: str, name: str) -> None:
    """What a model writes behind a fence cannot lead out of a folder."""
    _, code, *_ = code_as_files(f"```{language}\n{CODE}```")
    assert isinstance(code, Upload)
    assert code.name == name


def test_code_within_a_list_stays_in_the_text() -> None:
    """Its file would tear the list apart."""
    inner = "".join(f"  {line}\n" for line in CODE.splitlines())
    assert not any(isinstance(piece, Upload) for piece in code_as_files(f"- item\n\n  ```\n{inner}  ```"))


def test_a_table_becomes_aligned_code() -> None:
    """Its columns stand below each other where letters are as wide as another, or twice that."""
    table = "Prices:\r\n\r\n| Fruit | Euro |\r\n|:--|--:|\r\n| apple | 1 |\r\n| 林檎 | 12 |\r\n\r\nBye"
    aligned = "Prices:\n\n```\nFruit | Euro\n------+-----\napple | 1\n林檎  | 12\n```\n\nBye"
    (part,) = telegram_parts(table)
    assert part.text == aligned.replace("```\n", "").replace("\n```", "")
