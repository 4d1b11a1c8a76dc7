"""Tells whether an answer of ours that a message quotes may hold others' words: it may, unless we know where it is.

An answer may repeat a forward, a page or a group, and a notice a stranger's name or words; once their conversation has
ended, a quotation alone brings them back.
"""

from collections.abc import Iterable, Iterator

from gateway.agent.entries import COMMAND, ReplyEntry
from gateway.agent.receipts import parted
from gateway.agent.write_policy import is_from_outside
from gateway.transcripts.codec import Record
from workspaces.lazy_pattern import lazy_pattern

_WORD = lazy_pattern(r"[^\s!-/:-@\[-`{-~\u2010-\u205e\u2500-\u25ff\u2610-\u2612]+")
"""Whatever is no space, punctuation, or sign of a list or a table: platforms show Markdown without its marks."""


def may_hold_others(quoted: str, records: Iterable[Record], told: Iterable[str]) -> bool:
    """Return whether words of our bot, *quoted* in a message, may be others'; pure.

    They are not if they stand in one answer of the conversation in *records* before any words of others, or in one of
    the texts *told*, which hold none.
    """
    words = _words_of(parted(quoted)[0])
    return not any(words <= _words_of(text) for text in (*_own_answers(records), *told))


def _own_answers(records: Iterable[Record]) -> Iterator[str]:
    for record in records:
        if is_from_outside(record.entry):
            return
        if isinstance(record.entry, ReplyEntry) and record.entry.model != COMMAND:  # a command quotes any chat's notes
            yield record.entry.text


def _words_of(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))
