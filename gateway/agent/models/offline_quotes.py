"""Formats search results and notes without a language model: quotes, each with its day and source."""

import datetime
import re
from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from gateway.agent.models.offline_intents import content_words, is_statement, only_forgets
from gateway.agent.person_requests import REMINDER
from workspaces.lazy_pattern import lazy_pattern
from workspaces.memory.text.dialogue import read_line
from workspaces.memory.text.tokens import STOP_WORDS, query_terms, terms

CLEAR = 0.43
"""Similarity plus a quarter of the matched share from which a note is relevant to a question.

A measure of its own beside `Hit.score`, because it separates answers better: of 120 questions about two
conversations of LoCoMo 99 % had such a note, of 120 about other ones 9 % (area under the curve 0.996; of the
score 0.980). At `hits.CLEAR` the score would leave 10 % unanswered: right for automatic recall, too strict for
an answer. Moved with the model: of two talks 16 % of the questions found, and 75 % of 473 about others, fall below.
"""
CLEAR_BY_WORDS = 0.4
"""The matched share from which a note is relevant where there is no similarity: 85 % and 5 % of the same questions."""
NEAR_BEST = 0.7
"""Notes that are much less relevant than the best one, as a share, are left out."""
NEAR = 0.6
"""`bearing` from which a note is shown as the nearest one where none is relevant. Of 14 questions in other words than
the fact's, 13 have it so and 7 have a relevant one; of 9 questions about other things none. Our choice.
"""
NEAREST = 2
SAID_SHARE = 0.5
"""Share of a question's words in an earlier message of the same conversation from which that is quoted. Our choice."""
SAID_MOST = 3
"""Most of those that are quoted: a list is often told in several. Our choice."""
QUOTES = 4
QUOTE_CAP = 360
"""Longest quote, in characters: four of them fit a phone's screen without scrolling."""

MOST_ITEMS = 12
"""Most entries of `MEMORY.md` that are quoted: a phone's screen. Our choice."""
ELSEWHERE = "The days' notes hold the rest: ask for something in them, or send `/memory` or `/history` with a word."
NOTHING = "I have nothing about that in memory."
UNCLEAR = "Nothing in memory clearly answers that. The nearest:"
REMINDER_HEAD = "A reminder:\n\n"
OFFER = "Shall I write that into your notes? Answer “yes”, or say “remember that …”."
_LONG_TEXT = 6
"""Words from which a text that memory knows something about is taken for news rather than for keywords."""

_PASTE = 1_000
"""Characters from which a message is a pasted text, whose own parts in memory are no answer to it. Our choice."""
_CUT = 0.05
"""Share of its words that a part of it may lack: the ends of a hit are cut. Our choice."""

_TIME = lazy_pattern(r"^(\d{1,2}:\d{2})\s+")
_SAID_AFTER = lazy_pattern(r"\n(?=\d{1,2}:\d{2}\s)")
"""Stands before a further message of a quote; without a paragraph of its own it would run on."""
_NUMBER = lazy_pattern(r"\d+")
_WORD = lazy_pattern(r"\w+")


class _ToolJson(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class QuotedHit(_ToolJson):
    """A passage, in the form that `memory_search` returns."""

    citation: str
    snippet: str
    date: datetime.date | None = None
    similarity: float = 0.0
    matched: float = 0.0
    holds: str = ""


class _NoteToolResult(_ToolJson):
    text: str = ""


class SearchToolResult(_ToolJson):
    """The result of `memory_search`."""

    hits: tuple[QuotedHit, ...] = ()
    mode: Literal["hybrid", "keyword"] = "hybrid"
    notice: str | None = None

    def bearing(self, hit: QuotedHit) -> float:
        """Return how relevant *hit* is to the question, independently of other hits; relevant from 1 on."""
        if self.mode == "keyword":
            return hit.matched / CLEAR_BY_WORDS
        return (hit.similarity + hit.matched / 4) / CLEAR


def say_found(result: str, question: str, said: Sequence[str] = (), *, may_be_noted: bool = False) -> str:
    """Return the answer to *question* from the JSON *result* of a search.

    *said*: the earlier messages of this conversation, oldest first: the newest ones are not in memory yet.
    *may_be_noted*: it is rather a statement, and notes can be written.
    """
    try:
        found = SearchToolResult.model_validate_json(result)
    except ValidationError:
        return f"I searched memory, but I cannot read what it returned: {result[:200]}"
    if len(question) > _PASTE:
        asked = frozenset(terms(question))
        found = found.model_copy(update={"hits": [hit for hit in found.hits if not _is_part(hit, asked)]})
    clear = _clear(found)
    is_news = may_be_noted and (
        question.endswith((".", "!")) or len(question.split()) >= _LONG_TEXT or _adds(question, clear)
    )
    is_news = is_news or (may_be_noted and not clear and not _is_look_up(question))
    near = clear or [hit for hit in found.hits if found.bearing(hit) >= NEAR][: 0 if is_news else NEAREST]
    parts = [_quote(hit, question) for hit in near]
    if not may_be_noted and (here := _said_about(question, said, found.hits if clear else near)):
        parts = [_in_this_conversation(here, question), *(parts if clear else ())]
    elif not clear and (near or not may_be_noted):
        parts = [UNCLEAR, *parts] if near else [NOTHING]
    if may_be_noted and (not clear or is_news):
        parts.append(OFFER)
    if remark := _remark(found):
        parts.append(remark)
    return "\n\n".join(parts)


def say_known(result: str) -> str:
    """Return the answer to "What do you know about me?" from the JSON *result* of reading `MEMORY.md`."""
    try:
        text = _NoteToolResult.model_validate_json(result).text
    except ValidationError:
        text = ""
    items = [line for line in text.splitlines() if line.startswith("- ")]
    if not items:
        return f"`MEMORY.md` has no entries yet. {ELSEWHERE}"
    more = f"\n> … and {len(items) - MOST_ITEMS} more" if len(items) > MOST_ITEMS else ""
    return f"`MEMORY.md` says:\n{as_quote(chr(10).join(items[:MOST_ITEMS]))}{more}\n\n{ELSEWHERE}"


def say_noted(text: str, receipt: str) -> str:
    """Return the confirmation that *text* was noted; *receipt* is the tool's result."""
    place = re.search(r"(?<![^\s`])[^\s`]+\.md(?:#L\d+(?:-L\d+)?)?", receipt)
    where = f"in `{place.group()}`" if place else f"({receipt})"
    return f"Noted {where}:\n\n{as_quote(text)}"


def say_own_words(said: Sequence[str]) -> str:
    """Return the answer to "What did I say?" from the messages *said*, oldest first."""
    stated = [text.strip() for text in said if is_statement(text)][-QUOTES:]
    if not stated:
        return "You have not told me anything in this conversation yet."
    return _in_this_conversation(stated, "")


def _in_this_conversation(said: Sequence[str], question: str) -> str:
    return "In this conversation you said:\n" + "\n".join(as_quote(excerpt(text, question)) for text in said)


def _said_about(question: str, said: Sequence[str], known: Sequence[QuotedHit]) -> list[str]:
    """Return the statements of *said* that hold most words of *question*, at most `SAID_MOST`, the newest ones.

    None if none holds `SAID_SHARE` of them, or one of *known* has the newest: memory then ranks it as the others.
    """
    asked = set(query_terms(question))
    stated = [text.strip() for text in said if is_statement(text) and not only_forgets(text)]
    shares = [len(asked.intersection(terms(text))) / max(len(asked), 1) for text in stated]
    most = max(shares, default=0.0)
    best = [text for text, share in zip(stated, shares, strict=True) if share == most >= SAID_SHARE][-SAID_MOST:]
    is_known = any(best[-1] in hit.snippet or _without_time(hit.snippet) in best[-1] for hit in known if best)
    return [] if is_known else list(dict.fromkeys(best))


def _is_look_up(text: str) -> bool:
    """Tell whether *text* is made of names and nouns alone, as people type what they look for."""
    return "," not in text and all(word.casefold() not in STOP_WORDS for word in _WORD.findall(text))


def _adds(text: str, known: Sequence[QuotedHit]) -> bool:
    """Tell whether *text* holds a number that is in none of *known*."""
    return not set(_NUMBER.findall(text)) <= {number for hit in known for number in _NUMBER.findall(hit.snippet)}


def _clear(found: SearchToolResult) -> Sequence[QuotedHit]:
    """Return the hits that answer, best first; the first one need only be near, as the ranking knows more of it."""
    best = max(map(found.bearing, found.hits), default=0.0)
    if best < 1.0:
        return []
    floor = max(1.0, best * NEAR_BEST)
    return [hit for place, hit in enumerate(found.hits) if found.bearing(hit) >= (floor if place else NEAR)][:QUOTES]


def _remark(found: SearchToolResult) -> str:
    if found.notice:
        return f"({found.notice})"
    return "(Searched by keywords only.)" if found.mode == "keyword" else ""


def _quote(hit: QuotedHit, question: str) -> str:
    text = hit.snippet.strip().removeprefix("- ")
    time = _TIME.match(text)
    text = _without_time(text)
    day = f"{hit.date:%A}, {hit.date.day} {hit.date:%B %Y}" if hit.date else ""
    moment = f"{day}, {time.group(1)}" if day and time else day
    heading = f"{moment} (`{hit.citation}`)" if moment else f"`{hit.citation}`"
    mark = f" ({hit.holds})" if hit.holds else ""
    quote = _SAID_AFTER.sub("\n\n", excerpt(text, question))
    return f"{heading}{mark}:\n{as_quote(quote)}"


def _is_part(hit: QuotedHit, asked: frozenset[str]) -> bool:
    """Tell whether *asked*, the words of a message, are nearly all that *hit* says: a long hit is cut."""
    held = set(terms(read_line(hit.snippet).text))
    return len(held - asked) <= _CUT * len(held)


def _without_time(snippet: str) -> str:
    return _TIME.sub("", snippet.strip().removeprefix("- "), count=1)


def as_reminder(text: str) -> str:
    """Return the reminder of a job in its own words, *text*."""
    return f"{REMINDER_HEAD}{as_quote(text.replace(REMINDER, '', 1))}"


def as_quote(text: str) -> str:
    """Return *text* as a quotation in Markdown."""
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())


def excerpt(text: str, question: str) -> str:
    """Return the part of *text*, at most `QUOTE_CAP` characters, that shares most words with *question*."""
    if len(text) <= QUOTE_CAP:
        return text
    asked = set(content_words(question))
    starts = [0, *(gap.end() for gap in re.finditer(r"(?<=[.!?…])\s+|\n+", text))]
    shared = [len(asked.intersection(content_words(text[start : start + QUOTE_CAP]))) for start in starts]
    best = max(range(len(starts)), key=lambda at: (shared[at], at if shared[at] else 0))
    start = starts[best]
    shown = text[start : start + QUOTE_CAP]
    if start + QUOTE_CAP < len(text):
        shown = " ".join([*shown.rsplit(None, 1)[:1], "…"])
    return f"… {shown}" if start else shown
