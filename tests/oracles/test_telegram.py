"""Check of our messages by Telegram's own library: TDLib's `td_execute`, which needs no network."""

import ctypes
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adapters.channel import Entity, EntityType
from adapters.discord.text import discord_parts
from adapters.formatting.blocks import FENCE
from adapters.text import telegram_parts
from tests.adapters.model_like import answers

LIBRARY = Path(__file__).parents[2] / ".oracles/node_modules/@prebuilt-tdlib/linux-x64-glibc/libtdjson.so"
ANSWERS = 4_000
NAMES = {
    EntityType.TEXT_LINK: "TextUrl",
    EntityType.BLOCKQUOTE: "BlockQuote",
    EntityType.EXPANDABLE_BLOCKQUOTE: "ExpandableBlockQuote",
}
TAGS = {
    EntityType.BOLD: "b",
    EntityType.ITALIC: "i",
    EntityType.UNDERLINE: "u",
    EntityType.STRIKETHROUGH: "s",
    EntityType.SPOILER: "tg-spoiler",
    EntityType.CODE: "code",
    EntityType.PRE: "pre",
    EntityType.BLOCKQUOTE: "blockquote",
}
Execute = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def execute() -> Execute:
    """TDLib, asked for one thing at a time."""
    if not LIBRARY.exists():
        pytest.skip("Telegram's library is not here; `make oracles` gets it")
    call = ctypes.CDLL(str(LIBRARY)).td_execute
    call.restype, call.argtypes = ctypes.c_char_p, [ctypes.c_char_p]

    def execute(kind: str, **fields: object) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(call(json.dumps({"@type": kind, **fields}).encode()))
        return answer

    execute("setLogVerbosityLevel", new_verbosity_level=1)
    return execute


def written(entity: Entity) -> dict[str, object]:
    """*entity* as TDLib has it."""
    kind: dict[str, object] = {"@type": "textEntityType" + NAMES.get(entity.type, entity.type.value.title())}
    if entity.url is not None:
        kind["url"] = entity.url
    if entity.type is EntityType.PRE and entity.language:
        kind |= {"@type": "textEntityTypePreCode", "language": entity.language}
    return {"@type": "textEntity", "offset": entity.offset, "length": entity.length, "type": kind}


def judged(execute: Execute, text: str, entities: list[dict[str, object]]) -> dict[str, Any]:
    """What TDLib makes of a formatted text: an error where Telegram refuses it."""
    return execute("getMarkdownText", text={"@type": "formattedText", "text": text, "entities": entities})


def test_telegram_takes_every_part_of_every_answer(execute: Execute) -> None:
    """Of thousands of answers it refuses nothing, and each part fits."""
    parts = refused = 0
    for answer in answers(1, ANSWERS):
        for part in telegram_parts(answer):
            if part.upload:
                continue
            parts += 1
            assert 0 < len(part.text.encode("utf-16-le")) // 2 <= 4096
            refused += judged(execute, part.text, [written(entity) for entity in part.entities])["@type"] == "error"
    assert parts > ANSWERS
    assert refused == 0


def test_the_judge_refuses_what_telegram_refuses(execute: Execute) -> None:
    """An entity beyond the end, one that begins within a character, and a link to nowhere."""
    bold = {"@type": "textEntityTypeBold"}
    link = {"@type": "textEntityTypeTextUrl", "url": "https://"}
    for offset, length, kind in [(3, 9, bold), (2, 1, bold), (0, 1, link)]:
        entity = {"@type": "textEntity", "offset": offset, "length": length, "type": kind}
        assert judged(execute, "h😀lo", [entity])["@type"] == "error"


def test_telegram_reads_our_formatting_as_we_mean_it(execute: Execute) -> None:
    """The same text with its formatting as HTML tags is parsed to the same text and the same entities."""
    answer = "**b** _i_ ~~s~~ ||hush|| `c`\n\n> said\n\n```\nx < 1\n```"
    (part,) = telegram_parts(answer)
    marks = sorted(part.entities, key=lambda entity: entity.offset)
    html, at = "", 0
    for mark in marks:
        escaped = part.text[mark.offset : mark.offset + mark.length].replace("<", "&lt;")
        html += part.text[at : mark.offset] + f"<{TAGS[mark.type]}>{escaped}</{TAGS[mark.type]}>"
        at = mark.offset + mark.length
    parsed = execute("parseTextEntities", text=html + part.text[at:], parse_mode={"@type": "textParseModeHTML"})
    assert parsed["text"] == part.text
    found = [(entity["offset"], entity["length"], entity["type"]["@type"]) for entity in parsed["entities"]]
    ours = [written(mark) for mark in marks]
    assert found == [(mark["offset"], mark["length"], dict(mark["type"])["@type"]) for mark in ours]  # type: ignore[call-overload]


def test_the_parts_of_an_answer_together_are_the_whole() -> None:
    """Between two parts only white space may be missing."""
    for answer in answers(3, ANSWERS // 8):
        whole, cut = ("".join(part.text for part in telegram_parts(answer, limit)) for limit in (10**9, 4096))
        assert "".join(whole.split()) == "".join(cut.split())


def test_no_code_block_is_cut_on_discord() -> None:
    """The same answers on Discord: every part is short enough and has its fences in pairs."""
    for answer in answers(2, ANSWERS // 4):
        for part in discord_parts(answer):
            assert len(part.text.encode("utf-16-le")) // 2 <= 2000
            assert part.text.count(FENCE) % 2 == 0
