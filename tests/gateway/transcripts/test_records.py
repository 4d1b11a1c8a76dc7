"""The records of one conversation, found without going through all of them."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from gateway.agent.entries import EndEntry, Entry, LoggedEntry, Mark, ReplyEntry, Usage, UserEntry
from gateway.stores.rows import InboxId, TurnId
from gateway.transcripts.codec import Record
from gateway.transcripts.records import Records

AT = datetime(2026, 11, 22, 9, tzinfo=UTC)
ENTRIES: list[Entry | Mark] = [
    UserEntry("hello", AT, "", "1"),
    UserEntry("and", AT, "", "2", joins=True),
    ReplyEntry("yes", (), "m", Usage()),
    LoggedEntry(),
    EndEntry("new"),
]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(ENTRIES)), max_size=30), st.integers(0, 30))
def test_what_is_found_is_what_a_look_through_all_finds(lines: list[tuple[str, Entry | Mark]], at_first: int) -> None:
    """Turns, also those that come back after another one; the latest of each kind; who joined."""
    every = [Record(TurnId(turn), AT, entry) for turn, entry in lines]
    records = Records(every[:at_first])
    records.extend(every[at_first:])
    assert (list(records), len(records), list(reversed(records))) == (every, len(every), every[::-1])
    for turn in map(TurnId, "abcd"):
        assert records.of(turn) == [each for each in every if each.turn_id == turn]
        assert records.knows(turn) == bool(records.of(turn))
    for kind in map(type, ENTRIES):
        assert records.latest(kind) == next((each for each in every[::-1] if type(each.entry) is kind), None)
    assert records.has_joined(InboxId(2)) == any(each.entry == ENTRIES[1] for each in every)
    assert not records.has_joined(InboxId(1))
