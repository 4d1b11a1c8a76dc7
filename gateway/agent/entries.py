"""This file holds the entries of a conversation, as the agent and the transcript know them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

NO_REPLY = "NO_REPLY"
"""A model that has nothing to say answers exactly this, in any case; it never reaches a chat."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture that came with a message: what lies in the workspace, for a model that sees."""

    path: str
    """In the workspace; its name begins with a digest of its content."""
    mime: str
    """As its content says, not as its sender did."""
    size: int
    """In bytes."""
    width: int
    """In pixels."""
    height: int


@dataclass(frozen=True, slots=True)
class UserEntry:
    """What a person said, or what started a turn that nobody asked for."""

    text: str
    at: datetime
    sender: str
    """The sender's display name, which the model sees before the text; empty in the owner's own chat."""
    message_id: str
    """The inbox's id of the message: leads from a memory back to its source."""
    from_outside: bool = False
    """It carries words of somebody else than the sender: a forward, a quotation."""
    joins: bool = False
    """It was said while another message waited or was answered, and the turn of that one answers both."""
    source: str = ""
    """Marks of which message of which chat it is, and of how that read: by them an edit is known."""
    is_ours: bool = False
    """Nobody said it: the gateway itself began the turn, with a job that is due or a helper's result."""
    pictures: tuple[Picture, ...] = ()
    """Described in the text; a model that sees is shown them in the turn that they came with."""


QUOTING = "(quoting "
"""Begins a message that carries a quotation, whose lines begin with `>`."""


def own_words(entry: UserEntry) -> str:
    """Return what the sender of *entry* said; without a quotation, and empty where all of it is somebody else's."""
    if not entry.from_outside:
        return entry.text.strip()
    if not entry.text.startswith(QUOTING):
        return ""
    lines = entry.text.splitlines()[1:]
    return "\n".join(line for line in lines if not line.startswith(">")).strip()


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's request to run a tool."""

    id: str
    """Unique in its conversation; the model port sees to it where a provider does not."""
    name: str
    arguments: str
    """JSON text, as the model wrote it; it may be invalid."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one model reply, as the provider counted; zero where it did not say."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    characters: int = 0
    """Of the request in which the provider counted `input_tokens`: what the next one costs is told from both."""


COMMAND = "strandline:command"
"""`ReplyEntry.model` of what a command does: no language model was asked, and none is shown that turn."""


HALTED = "strandline:halted"
"""`ReplyEntry.model` of what ends a turn that was stopped before its answer; it is sent to nobody."""


UNFINISHED = "strandline"
"""`ReplyEntry.model` of the sentence in which the gateway says why a turn has no answer of its own."""


@dataclass(frozen=True, slots=True)
class ReplyEntry:
    """One reply of a model: text, tool calls, or both."""

    text: str
    calls: tuple[ToolCall, ...]
    model: str
    usage: Usage


@dataclass(frozen=True, slots=True)
class CallStartEntry:
    """The journal's mark that a call was begun; never sent to a model."""

    call_id: str


@dataclass(frozen=True, slots=True)
class ResultEntry:
    """What a tool call returned."""

    call_id: str
    name: str
    text: str
    is_error: bool
    from_outside: bool = False
    """It holds what others than the owner wrote, or may have written."""


@dataclass(frozen=True, slots=True)
class UsedMemory:
    """A passage that a turn had before it when it answered."""

    citation: str
    how: Literal["search", "read", "recall"]
    """Found by the model's search, read by it, or brought up before it asked."""
    score: float = 0.0
    """As the search ranked it, and its parts, as in `Hit`; 0 for what was read."""
    relevance: float = 0.0
    similarity: float = 0.0
    keyword: float = 0.0


HOW_USED = {"search": "found by a search", "read": "read", "recall": "brought up unasked"}
"""`UsedMemory.how` in words."""


@dataclass(frozen=True, slots=True)
class UsedEntry:
    """The journal's note of memories that a turn used; kept for who asks why, and never sent to a model."""

    memories: tuple[UsedMemory, ...]


@dataclass(frozen=True, slots=True)
class LogSection:
    """What is said of a part of the conversation in the notes of one day."""

    path: str
    """In the workspace: the day's notes of the conversation's own audience."""
    text: str
    """Whole lines, as they are added."""
    before: int
    """How often the same text stood there already: with one more, this one is there."""


@dataclass(frozen=True, slots=True)
class LogEntry:
    """The journal's mark that what stands before it goes into the days' notes, by these sections."""

    sections: tuple[LogSection, ...]


@dataclass(frozen=True, slots=True)
class LoggedEntry:
    """The journal's mark that the sections of the last `LogEntry` are there."""


@dataclass(frozen=True, slots=True)
class EndEntry:
    """The journal's mark that the session has ended: the next message begins another one."""

    reason: str


@dataclass(frozen=True, slots=True)
class FlushEntry:
    """The receipt of notes that a model wrote before older text made way; each was read back."""

    citations: tuple[str, ...]
    """Where they stand, as `path#Ln`."""
    requests: int
    """How often the model was asked."""


@dataclass(frozen=True, slots=True)
class SummaryEntry:
    """What stands for the older part of a conversation in requests; the part itself stays in the transcript."""

    text: str
    kept_from: str
    """The first turn that is shown whole after it."""
    orders: tuple[str, ...]
    """What people said is always, never or not yet to be done, word for word."""
    from_outside: bool
    """What it was made of holds what others than the owner wrote, or may have written."""
    model: str
    """Who wrote it."""


@dataclass(frozen=True, slots=True)
class ForgottenEntry:
    """The journal's mark that these notes were to be forgotten: no note is made of them again."""

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EnclosedEntry:
    """The journal's note that a file goes out with the turn's answer; its content was copied before."""

    path: str
    """In the workspace."""
    key: str
    """Names the copy."""
    size: int
    """In bytes."""
    caption: str


Entry = UserEntry | ReplyEntry | CallStartEntry | ResultEntry
Mark = UsedEntry | LogEntry | LoggedEntry | EndEntry | FlushEntry | SummaryEntry | ForgottenEntry | EnclosedEntry
"""What the journal keeps beside the conversation; never sent to a model."""


def interrupted(call: ToolCall) -> ResultEntry:
    """Return the result of a *call* that was begun and whose outcome nobody knows: it is never run again."""
    return ResultEntry(
        call.id, call.name, "interrupted: it may or may not have happened; look before you repeat it", True
    )


def not_run(call: ToolCall) -> ResultEntry:
    """Return the result of a *call* that was never begun."""
    return ResultEntry(call.id, call.name, "not run: the turn ended before it", True)
