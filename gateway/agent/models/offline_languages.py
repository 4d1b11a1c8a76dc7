"""Phrases that order a note, order one to be forgotten, or ask for what was said, in thirteen languages."""

import re
import tomllib
from functools import cache
from pathlib import Path

from msgspec import Struct

from workspaces.lazy_pattern import lazy_pattern

LANGUAGES = (
    "English, German, French, Spanish, Italian, Portuguese, Dutch, Polish, Romanian, Russian, Ukrainian, Chinese and "
    "Japanese"
)


class _Phrases(Struct, frozen=True):
    """Alternatives of regular expressions, matched at the start of a sentence."""

    please: str
    note: str
    that: str
    """Links the order with the text to note, beside a colon, a comma or a dash."""
    forget: str
    said: str
    """Asks for what was said, up to the topic."""
    tail: str = r"(?!)"
    """Follows the topic."""


_PHRASES = Path(__file__).with_name("offline_phrases.toml")
_EUROPEAN = tuple(_Phrases(**each) for each in tomllib.loads(_PHRASES.read_text("utf-8")).values())
_NOTE_CJK = lazy_pattern(
    r"(?:请|請|麻烦|帮我|你?要){0,4}(?:记住|記住|记下来?|記下|记一下|记得|別忘了|别忘了|不要忘记)[:：,，\s]*(?P<fact>\S.*)"
    r"|(?:覚えて(?:おいて)?|メモして(?:おいて)?)(?:ください|ね)?[:：、。\s]+(?P<fact2>\S.*)",
    re.DOTALL,
)
_NOTE_CJK_END = lazy_pattern(
    r"(?<=\S)(?:を|と|って|ことを|のを)?(?:覚えて(?:おいて)?|メモして(?:おいて)?|忘れないで)(?:ください|ね)?[。!！]{0,9}\Z"
)
_SPACE = lazy_pattern(r"\s*+")
_FORGET_CJK = lazy_pattern(r"(?:请|請)?(?:忘掉|忘记|忘記)(?P<topic>\S.*)", re.DOTALL)
_FORGET_CJK_END = lazy_pattern(r"(?<=\S)(?:のこと)?(?:を|は)?忘れて(?:ください)?[。!！]{0,9}\Z")
_SAID_CJK = lazy_pattern(
    r"(?:关于|關於)(?P<topic>\S.*?)[,，]?我(?:都|之前)?(?:说|說|讲|講)(?:过|過|了)?(?:什么|什麼)[?？]?"
    r"|我(?:之前)?(?:说过|說過|说了|讲过)(?P<topic2>.*?)(?:什么|什麼|吗|嗎)[?？]?"
    r"|(?P<topic3>\S.*?)について(?:私は|僕は|俺は)?(?:何|なん)(?:て|と)?(?:言っ|いっ|話し)(?:た|ていた|てた)(?:っけ)?[?？]?"
    r"|(?:私は|僕は|俺は)?(?P<topic4>)(?:何|なん)(?:て|と)?(?:言っ|いっ)(?:た|てた)(?:っけ)?[?？]?",
    re.DOTALL,
)
_FORGET_ENGLISH = r"(?:please )?forget(?: about| that| what i said about)?(?! (?:it|that|this)\b)"
_SAID_ENGLISH = (
    r"what (?:did i|have i|i) (?:say|said|tell you|told you|mention(?:ed)?)(?: to remember)?"
    r"(?: (?:about|of|on|regarding))?"
)
_ABOUT = lazy_pattern(
    r"(?:(?:the )?(?:notes?|things?|stuff|bit) (?:about|on|with)|everything (?:about|on)|lo de(?:l| que)?"
    r"|(?:la )?nota (?:de|sobre)|(?:das|die sache|die notiz) (?:mit|über|zu[mr]?)|l['’]histoire d[eu]"
    r"|(?:la )?note sur|a nota sobre|isso d[eoa]|la (?:cosa|storia) d[ei]l?)\s+",
    re.IGNORECASE,
)
"""Precedes a topic that is to be forgotten, and is no part of it."""
_YES = lazy_pattern(
    r"(?:yes|yep|yeah|ok|okay|sure|do|ja|klar|gerne|oui|d['’]accord|sí|si|vale|claro|dale|sì|va bene|certo|sim|tak"
    r"|jasne|da|sigur|да|конечно|так|是|好|好的|はい|お願い(?:します)?)"
    r"(?:[\s,]+(?:please|bitte|gerne|s['’]il te plaît|por favor|do|(?:note|save|write|remember) (?:it|that)(?: down)?"
    r"|claro|vale|(?:ap[uú]nta|an[oó]ta|gu[aá]rda)(?:me)?lo|notier(?:e|s)?(?: es| das)?|note[- ](?:le|ça)|annotalo"
    r"|anota|graag|noteer het|proszę|zapisz|notează|пожалуйста|запиши|будь ласка))*[\s.!。！]*",
    re.IGNORECASE,
)


def is_yes(text: str) -> bool:
    """Tell whether *text* accepts an offer."""
    return _YES.fullmatch(text.strip()) is not None


def ordered_note(text: str, start: int = 0, *, is_first: bool = True) -> str:
    """Return the text to note by an order in a language other than English from *start* on; empty if there is none.

    An order at the end is about all before it, so it is sought from the first sentence alone.
    """
    found = _note_order().match(text, start)
    if found is not None:
        return text[found.end() :].strip()
    if is_first:
        return _group(_NOTE_CJK, _NOTE_CJK_END, text[start:])
    begun = _SPACE.match(text, start)
    return _object(_NOTE_CJK.fullmatch(text, begun.end() if begun else start))


def topic_to_forget(text: str) -> str:
    """Return the text that is to be forgotten, without a remark after a comma; empty if nothing is."""
    found = _forget_order().match(text)
    topic = text[found.end() :] if found else _group(_FORGET_CJK, _FORGET_CJK_END, text)
    return _trimmed(_ABOUT.sub("", topic, count=1).partition(", ")[0])


def topic_of_own_words(text: str) -> str | None:
    """Return the topic of a question such as "What did I say about the boat?"; empty without one.

    `None` for any other text.
    """
    if found := _said_question().match(text):
        topic = _trimmed(text[found.end() :])
        return _tails().sub("", topic).strip()
    if (cjk := _SAID_CJK.fullmatch(text.strip())) is not None:
        return _trimmed("".join(cjk.groupdict(default="").values()))
    return None


def _group(order: re.Pattern[str], end: re.Pattern[str], text: str) -> str:
    """Return the object of an order that begins like *order*, or ends like *end*; empty if *text* is none."""
    text = "" if text.isascii() else text.strip()
    if said := _object(order.fullmatch(text)):
        return said
    return text[: found.start()].strip() if (found := end.search(text)) else ""


def _object(order: re.Match[str] | None) -> str:
    return "".join(order.groupdict(default="").values()).strip() if order else ""


def _trimmed(text: str) -> str:
    return text.strip().strip("?？¿.。!！:,").strip()


@cache
def _note_order() -> re.Pattern[str]:
    orders = (
        rf"(?:(?:{each.please})[\s,]++){{0,2}}(?:{each.note})"
        rf"(?:\s*+[,:–—-](?:\s*+(?:{each.that})(?:\s++|(?<=['’]))|\s++)"
        rf"|\s++(?:{each.that})(?:\s++|(?<=['’]))|\s*+[:,]|\s++)(?=\S)"
        for each in _EUROPEAN
    )
    return re.compile("|".join(f"(?:{order})" for order in orders), re.IGNORECASE)


@cache
def _forget_order() -> re.Pattern[str]:
    orders = "|".join(rf"(?:(?:{each.please})[\s,]+)?(?:{each.forget})(?:\s+(?:{each.that})\b)?" for each in _EUROPEAN)
    return re.compile(rf"(?:{_FORGET_ENGLISH}|{orders})(?:\s*+[:,])?+\s++(?=\S)", re.IGNORECASE)


@cache
def _said_question() -> re.Pattern[str]:
    questions = "|".join(each.said for each in _EUROPEAN)
    return re.compile(rf"(?:{_SAID_ENGLISH}|{questions})(?=[\s?]|$)", re.IGNORECASE)


@cache
def _tails() -> re.Pattern[str]:
    return re.compile(rf"\s+(?:{'|'.join(each.tail for each in _EUROPEAN)})$", re.IGNORECASE)
