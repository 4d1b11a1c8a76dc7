"""The origin of a memory as a wire type."""

from gateway.agent.entries import ReplyEntry, UserEntry
from gateway.control.wire import MemorySource, OriginStep
from gateway.transcripts.provenance import MemoryOrigin, NoteChange
from gateway.transcripts.writer import Record


def memory_source(origin: MemoryOrigin) -> MemorySource:
    """Return *origin* for the wire."""
    return MemorySource(origin.citation, origin.text, tuple(map(_step, origin.steps)))


def _step(step: NoteChange | Record) -> OriginStep:
    if isinstance(step, Record):
        message = step.entry.message_id if isinstance(step.entry, UserEntry) else None
        return OriginStep(None, step.at, "said in this conversation", None, message, _text(step))
    origin = step.commit.origin
    return OriginStep(
        revision=step.commit.id,
        at=step.commit.at,
        subject=step.commit.subject,
        session=origin.session if origin else None,
        message=origin.message if origin else None,
        said=_text(step.said) if step.said else "",
    )


def _text(said: Record) -> str:
    return said.entry.text if isinstance(said.entry, UserEntry | ReplyEntry) else ""
