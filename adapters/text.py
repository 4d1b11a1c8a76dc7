"""This file turns an answer's Markdown into what a platform shows, losing none of its words.

Everything here is pure: the same Markdown gives the same parts after a restart, and delivery counts on that.
"""

import html
import logging
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from telegramify_markdown import MessageEntity, RenderConfig, convert, split_entities

from adapters.blocks import code_as_files, tables_as_code
from adapters.channel import Body, Entity, EntityType, Upload

logger = logging.getLogger(__name__)

TELEGRAM_LIMIT = 4096
"""Longest text of one Telegram message, in UTF-16 code units (Bot API, `sendMessage`)."""

_LINK_TELEGRAM_TAKES = re.compile(
    r"https?://(?:[\w-]+(?:\.[\w-]+)+|\[[0-9a-f:.]+\])(?::(?P<port>[1-9]\d{0,4}))?(?:[/?#].*)?",
    re.IGNORECASE | re.DOTALL,
)
"""Telegram refuses a message with a link to a host without a dot or to a port that cannot be; a link without a scheme
it takes for a host's name: "notes.md" would lead to a stranger in Moldova. One that holds a name before the host
(`https://bank.example@evil.example`) shows another host than it leads to."""
_LAST_PORT = 65_535
_ENTITY_TYPES = frozenset(EntityType)
_PRIVATE_USE = range(0xE000, 0xF900)
_BARS_THAT_MEAN_OR = re.compile(r"(?<=\s)\|\|(?=\s)")
_WORDS_THAT_MAY_GO = re.compile(r"\\[A-Za-z]+|^[\s>]*\d+[.)]|\[[xX]\](?=\s)", re.MULTILINE)
"""LaTeX commands, which become symbols; list numbers, which are counted anew; ticks of a task list."""


def telegram_parts(markdown: str, limit: int = TELEGRAM_LIMIT) -> tuple[Body, ...]:
    """Return *markdown* as Telegram messages of at most *limit* UTF-16 units each; none for blank text.

    Cut at line ends where there are any. Formatting that crosses a cut goes on in the next part. Tables become
    aligned code, and long code becomes a file. Text that cannot be formatted without losing words comes out as it was
    written.
    """
    return tuple(part for piece in code_as_files(valid_unicode(markdown)) for part in _parts(piece, limit))


def _parts(piece: str | Upload, limit: int) -> Sequence[Body]:
    if isinstance(piece, Upload):
        return [Body("", upload=piece)]
    text, entities = _formatted(tables_as_code(piece))
    cut = split_entities(text, entities, limit)
    return [Body(part, tuple(_entity(found) for found in clipped)) for part, clipped in cut]


def terminal_parts(markdown: str) -> tuple[Body, ...]:
    """Return *markdown* as one body, as it was written; none for blank text.

    Markdown is made to be read as it is. Control characters become visible signs: a text must not be able to
    move the cursor, set the clipboard or rename the window of the terminal that shows it.
    """
    text = "".join(map(_visible, valid_unicode(markdown)))
    return (Body(text),) if text.strip() else ()


def valid_unicode(text: str) -> str:
    """Join surrogate pairs and replace lone surrogates, which no encoder takes."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _visible(character: str) -> str:
    if character in "\n\t" or unicodedata.category(character) != "Cc":
        return character
    code = ord(character)
    return "␡" if code == 0x7F else chr(0x2400 + code) if code < 0x20 else "\ufffd"


def _formatted(markdown: str) -> tuple[str, list[MessageEntity]]:
    try:
        text, entities = _convert(markdown)
    except Exception as exc:  # noqa: BLE001 - whatever a formatter trips over, the answer must reach its reader
        logger.warning("Markdown could not be converted; it is shown as written", extra={"error": type(exc).__name__})
        return markdown, []
    return (text, entities) if _keeps_words(markdown, text, entities) else (markdown, [])


def _convert(markdown: str) -> tuple[str, list[MessageEntity]]:
    masked, signs = _mask(markdown)
    text, entities = convert(masked, config=_look())
    known = [_unmasked(found, signs) for found in entities if found.type in _ENTITY_TYPES]
    return _spell_out_links(text.translate(signs), known)


def _unmasked(found: MessageEntity, signs: dict[int, str]) -> MessageEntity:
    url, language = found.url, found.language
    return replace(found, url=url and url.translate(signs), language=language and language.translate(signs))


def _look() -> RenderConfig:
    """Plain signs instead of the library's pictures."""
    look = RenderConfig.isolated()
    signs = look.markdown_symbol
    signs.heading_level_1 = signs.heading_level_2 = signs.heading_level_3 = signs.heading_level_4 = ""
    signs.unordered_list_item, signs.task_uncompleted, signs.task_completed = "•", "☐", "☑"
    return look


def _mask(markdown: str) -> tuple[str, dict[int, str]]:
    """Hide from the converter what it would swallow; also return the table that brings it back.

    Swallowed are HTML tags (`<tag>`), dollar signs in pairs ("$HOME/$USER" counts as mathematics) and the bars
    of "a || b || c" (a spoiler). Each sign stands in for one of the same length, so that offsets stay true.
    """
    free = (sign for sign in map(chr, _PRIVATE_USE) if sign not in markdown)
    less, dollar, bar = next(free), next(free), next(free)
    masked = _BARS_THAT_MEAN_OR.sub(bar * 2, markdown).translate({ord("<"): less, ord("$"): dollar})
    return masked, {ord(less): "<", ord(dollar): "$", ord(bar): "|"}


def _spell_out_links(text: str, entities: list[MessageEntity]) -> tuple[str, list[MessageEntity]]:
    """Write the targets of links that Telegram would not open, or open wrongly, behind their words."""
    kept = [found for found in entities if not _is_dead_link(found)]
    dead = [found for found in entities if _is_dead_link(found)]
    units = text.encode("utf-16-le")
    for link in sorted(dead, key=lambda found: found.offset + found.length, reverse=True):
        end = link.offset + link.length
        target = f" ({link.url})".encode("utf-16-le")
        units = units[: 2 * end] + target + units[2 * end :]
        kept = [_moved(found, end, len(target) // 2) for found in kept]
    return units.decode("utf-16-le"), kept


def _is_dead_link(found: MessageEntity) -> bool:
    if found.type != EntityType.TEXT_LINK:
        return False
    link = _LINK_TELEGRAM_TAKES.fullmatch(found.url or "")
    return link is None or int(link["port"] or 1) > _LAST_PORT


def _moved(found: MessageEntity, at: int, by: int) -> MessageEntity:
    """Return *found* after *by* units were inserted at *at*: later ones shift, ones around it grow."""
    if found.offset >= at:
        return replace(found, offset=found.offset + by)
    return replace(found, length=found.length + by) if found.offset + found.length > at else found


def _keeps_words(markdown: str, text: str, entities: Iterable[MessageEntity]) -> bool:
    """Tell whether every letter and digit of *markdown* is in *text* or in what its entities carry.

    Markdown drops some things by its own rules, such as "[todo]: milk", which it takes for a link's definition.
    """
    carried = "".join((found.url or "") + (found.language or "") for found in entities)
    return not _letters(_WORDS_THAT_MAY_GO.sub("", html.unescape(markdown))) - _letters(text + carried)


def _letters(text: str) -> Counter[str]:
    return Counter(filter(str.isalnum, unicodedata.normalize("NFKC", text)))


def _entity(found: MessageEntity) -> Entity:
    return Entity(EntityType(found.type), found.offset, found.length, found.url, found.language)
