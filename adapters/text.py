"""Conversion of an answer's Markdown for a platform, without loss of words.

Everything here is pure: the same Markdown gives the same parts after a restart, and delivery relies on that.
"""

import html
import logging
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from msgspec import structs
from telegramify_markdown import MessageEntity, RenderConfig, convert

from adapters.channel import Body, Entity, EntityType, Upload
from adapters.formatting.blocks import code_as_files
from adapters.formatting.formulas import letters
from adapters.formatting.markup import MarkPlaceholders, prepare
from adapters.formatting.outline import Block, outline
from adapters.formatting.references import with_targets
from adapters.formatting.split import plain_parts, split, units, valid_unicode

logger = logging.getLogger(__name__)

TELEGRAM_LIMIT = 4096
"""Longest text of one Telegram message, in UTF-16 code units (Bot API, `sendMessage`)."""

_LINK_TELEGRAM_TAKES = re.compile(
    r"https?://(?:[\w-]+(?:\.[\w-]+)+|\[[0-9a-f:.]+\])(?::(?P<port>[1-9]\d{0,4}))?(?:[/?#].*)?",
    re.IGNORECASE | re.DOTALL,
)
"""Telegram refuses a message with a link to a host without a dot or to an impossible port; it takes a link without a
scheme for a host name: "notes.md" would lead to a stranger in Moldova. A link with a name before the host
(`https://bank.example@evil.example`) shows another host than it leads to.
"""
_LAST_PORT = 65_535
_ENTITY_TYPES = frozenset(EntityType)
_WORDS_THAT_MAY_GO = re.compile(r"^[ \t>]*\d+[.)]|\[[xX]\](?=\s)", re.MULTILINE)
"""List numbers, which are counted anew; ticks of a task list. Neither matches across line ends: that is quadratic."""


def telegram_parts(markdown: str, limit: int = TELEGRAM_LIMIT) -> tuple[Body, ...]:
    """Return *markdown* as Telegram messages of at most *limit* UTF-16 units each; none for blank text.

    Cut at line ends where there are any. Formatting that crosses a cut continues in the next part. Tables become
    aligned code, and long code becomes a file. Text is left unchanged if formatting would lose words or leave nothing.
    """
    whole = valid_unicode(markdown)
    parts = tuple(part for piece in code_as_files(whole) for part in _parts(piece, limit))
    return parts or plain_parts(whole, limit)


def _parts(piece: str | Upload, limit: int) -> Sequence[Body]:
    if isinstance(piece, Upload):
        return [Body("", upload=piece)]
    entities: list[Entity] = []
    pieces: list[str] = []
    offset = 0
    for block in outline(with_targets(piece)):
        text, found = _formatted_block(block)
        if text.strip():
            gap = ("\n\n" if block.is_apart else "\n") if pieces else ""
            entities += [structs.replace(entity, offset=entity.offset + offset + len(gap)) for entity in found]
            pieces += [gap, text]
            offset += len(gap) + units(text)
    return list(split("".join(pieces), entities, limit))


def _formatted_block(block: Block) -> tuple[str, list[Entity]]:
    """Return the text of *block* and its formatting; unformatted if that would lose words or take too long."""
    if block.is_code:
        return block.text, [Entity(EntityType.PRE, 0, units(block.text), language=block.language or None)]
    if block.is_plain:
        return block.text, []
    text, found = _formatted(block.text)
    text = text.rstrip("\n")
    return text, [entity for entity in _entities(found, units(text)) if entity.length > 0]


def _entities(found: Iterable[MessageEntity], end: int) -> Iterator[Entity]:
    for each in found:
        yield Entity(EntityType(each.type), each.offset, min(each.length, end - each.offset), each.url, each.language)


def _formatted(markdown: str) -> tuple[str, list[MessageEntity]]:
    try:
        text, entities, prepared = _convert(markdown)
    except Exception as exc:  # noqa: BLE001 - whatever a formatter trips over, the answer must reach its reader
        logger.warning(
            "Markdown could not be converted; the text is sent as written", extra={"error": type(exc).__name__}
        )
        return markdown, []
    return (text, entities) if _keeps_words(prepared, text, entities) else (markdown, [])


def _convert(markdown: str) -> tuple[str, list[MessageEntity], str]:
    """Return the text to show, its formatting, and the Markdown whose words it must preserve."""
    signs = MarkPlaceholders.absent_from(markdown)
    prepared = prepare(markdown, signs)
    text, entities = convert(prepared.translate(signs.for_converter), latex_escape=False, config=_look())
    known = [_unmask_entity(found, signs) for found in entities if found.type in _ENTITY_TYPES]
    return *_spell_out_links(text.translate(signs.literals), known), prepared


def _unmask_entity(found: MessageEntity, signs: MarkPlaceholders) -> MessageEntity:
    url, language, marks = found.url, found.language, signs.literals
    return replace(found, url=url and url.translate(marks), language=language and language.translate(marks))


def _look() -> RenderConfig:
    """Use plain signs instead of the library's emoji."""
    look = RenderConfig.isolated()
    signs = look.markdown_symbol
    signs.heading_level_1 = signs.heading_level_2 = signs.heading_level_3 = signs.heading_level_4 = ""
    signs.unordered_list_item, signs.task_uncompleted, signs.task_completed = "•", "☐", "☑"
    return look


def _spell_out_links(text: str, entities: list[MessageEntity]) -> tuple[str, list[MessageEntity]]:
    """Append the target of links that Telegram would not open, or would open wrongly, to their text."""
    dead = sorted((found for found in entities if _is_dead_link(found)), key=_end)
    if not dead:
        return text, entities
    units, done = text.encode("utf-16-le"), 0
    spelled: list[bytes] = []
    added = [0]
    for link in dead:
        target = f" ({link.url})".encode("utf-16-le")
        spelled += [units[2 * done : 2 * _end(link)], target]
        done = _end(link)
        added.append(added[-1] + len(target) // 2)
    ends = [_end(link) for link in dead]
    kept = [_shifted_entity(found, ends, added) for found in entities if not _is_dead_link(found)]
    return b"".join([*spelled, units[2 * done :]]).decode("utf-16-le"), kept


def _end(found: MessageEntity) -> int:
    return found.offset + found.length


def _is_dead_link(found: MessageEntity) -> bool:
    if found.type != EntityType.TEXT_LINK:
        return False
    link = _LINK_TELEGRAM_TAKES.fullmatch(found.url or "")
    return link is None or int(link["port"] or 1) > _LAST_PORT


def _shifted_entity(found: MessageEntity, ends: Sequence[int], added: Sequence[int]) -> MessageEntity:
    """Return *found* after units were inserted at *ends*: before it, it shifts; within it, it grows."""
    before = added[bisect_right(ends, found.offset)]
    within = added[bisect_left(ends, _end(found))] - before
    return replace(found, offset=found.offset + before, length=found.length + max(within, 0))


def _keeps_words(markdown: str, text: str, entities: Iterable[MessageEntity]) -> bool:
    """Tell whether *text* and its entities preserve every letter and digit of *markdown*.

    Markdown drops some text by its own rules, such as "[todo]: milk", which it takes for a link's definition.
    """
    carried = "".join((found.url or "") + (found.language or "") for found in entities)
    return not letters(_WORDS_THAT_MAY_GO.sub("", html.unescape(markdown))) - letters(text + carried)
