"""What is kept of how conversations were written down."""

from collections.abc import Sequence
from dataclasses import replace

from gateway.agent.entries import Entry, ReplyEntry, Usage
from gateway.agent.models.prefix_cache import KEPT_S, PrefixCache, settled_count
from tests.gateway.agent.models.test_messages import user

HI = ReplyEntry("hi", (), "m", Usage())


class Writing:
    """Writes ten bytes an entry, and remembers how many it wrote at each request."""

    def __init__(self) -> None:
        self.written: list[int] = []

    def __call__(self, entries: Sequence[Entry]) -> bytes:
        self.written.append(len(entries))
        return b"0123456789" * len(entries)


def test_only_what_is_new_is_written() -> None:
    """Also where its entries are other objects that say the same."""
    write, prefix_cache = Writing(), PrefixCache()
    history: list[Entry] = [user("one"), HI, user("two"), HI]
    assert len(prefix_cache.written(history[:2], write)) == 20
    assert len(prefix_cache.written([replace(entry) for entry in history], write)) == 40
    assert write.written == [2, 2]


def test_what_has_changed_is_written_anew() -> None:
    """A result that made way, a turn that was taken back."""
    write, prefix_cache = Writing(), PrefixCache()
    history: list[Entry] = [user("one"), HI, user("two"), HI]
    prefix_cache.written(history, write)
    prefix_cache.written([history[0], replace(HI, text="ho"), *history[2:]], write)
    prefix_cache.written(history[:2], write)
    assert write.written == [4, 4, 2]


def test_a_bound_holds_and_who_talked_last_stays() -> None:
    """What is larger than all may be is not kept at all."""
    write, prefix_cache = Writing(), PrefixCache(most_bytes=40)
    a, b, c = (list[Entry]((user(text), HI)) for text in "abc")
    too_long: list[Entry] = [user("d"), HI, HI, HI, HI]
    for history in (a, b, a, c, a, b, too_long, too_long):
        prefix_cache.written(history, write)
    assert write.written == [2, 2, 0, 2, 0, 2, 5, 5]


def test_who_has_said_nothing_for_a_while_is_let_go() -> None:
    """As soon as anybody else talks; who goes on talking stays."""
    moment = 0.0
    write, prefix_cache = Writing(), PrefixCache(clock=lambda: moment)
    a, b = (list[Entry]((user(text), HI)) for text in "ab")
    for history, at in ((a, 0.0), (b, 1.0), (b, KEPT_S), (b, KEPT_S + 1), (b, 2 * KEPT_S), (a, 2 * KEPT_S)):
        moment = at
        prefix_cache.written(history, write)
    assert write.written == [2, 2, 0, 0, 0, 2]


def test_the_last_reply_is_not_settled() -> None:
    """Results of its calls may still come; nothing before it changes."""
    history: list[Entry] = [user("one"), HI, user("two"), HI, user("three"), user("four"), HI]
    assert [settled_count(history[:end]) for end in range(8)] == [0, 0, 1, 1, 3, 3, 3, 6]
    assert settled_count([HI, HI]) == 1
