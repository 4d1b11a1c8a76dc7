"""What stores and transcripts keep holds no known secret, and is otherwise as it was."""

from datetime import UTC, datetime

from adapters.channel import Address, ChatKind, InboundMessage, OverheardMessage, Quote, Sender
from gateway.agent.entries import LogEntry, LogSection, ReplyEntry, ToolCall, Usage
from gateway.stores.codec import MESSAGES, OUTGOING
from gateway.stores.rows import Outgoing, TurnId
from gateway.transcripts.codec import Record, in_line, to_line
from workspaces.secrets import REMOVED, guarding

KEY = 'canary-"of\\the-store'
AT = datetime(2026, 3, 1, tzinfo=UTC)
HERE = Address("telegram", "home", "7")


def test_a_stored_message_holds_no_secret() -> None:
    """Wherever it stood; every other field comes back, though one is called like a secret."""
    said = InboundMessage(
        HERE, "1", Sender("7", f"Ann {KEY}"), ChatKind.DIRECT, f"a {KEY}\ud83d b", True, AT, Quote("Bob", KEY)
    )
    with guarding([KEY, "is_for_us"]):
        stored = MESSAGES.encode(said)
    back = MESSAGES.decode(stored)
    assert (back.text, back.sender.name) == (f"a {REMOVED}\ufffd b", f"Ann {REMOVED}")
    assert back.quote == Quote("Bob", REMOVED)
    assert (back.address, back.id, back.kind, back.sent_at) == (said.address, said.id, said.kind, said.sent_at)


def test_a_stored_reply_holds_no_secret() -> None:
    """Its text is redacted before it waits in the outbox."""
    with guarding([KEY]):
        assert OUTGOING.decode(OUTGOING.encode(Outgoing(HERE, f"it is {KEY}"))).text == f"it is {REMOVED}"


def test_a_line_of_a_transcript_holds_no_secret() -> None:
    """In what a model says and calls, and in the marks of what goes into a day's notes."""
    reply = ReplyEntry(f"Key: {KEY}", (ToolCall("c", "read_file", f'{{"path": "{KEY[:7]}"}}'),), "m", Usage())
    log = LogEntry((LogSection("memory/2026-03-01.md", f"- {KEY}\n", 0),))
    with guarding([KEY]):
        lines = [to_line(Record(TurnId("t"), AT, entry)) for entry in (reply, log)]
    (one,), (two,) = (list(in_line(line)) for line in lines)
    assert isinstance(one, Record)
    assert isinstance(two, Record)
    assert one.entry == ReplyEntry(f"Key: {REMOVED}", reply.calls, "m", Usage())
    assert two.entry == LogEntry((LogSection("memory/2026-03-01.md", f"- {REMOVED}\n", 0),))


def test_what_was_overheard_is_kept_without_a_secret() -> None:
    """A group's words are context for later, the key among them is not."""
    said = InboundMessage(
        HERE, "1", Sender("7", "Ann"), ChatKind.GROUP, "hi", True, AT, heard=(OverheardMessage("Bob", KEY, AT),)
    )
    with guarding([KEY]):
        assert MESSAGES.decode(MESSAGES.encode(said)).heard == (OverheardMessage("Bob", REMOVED, AT),)
