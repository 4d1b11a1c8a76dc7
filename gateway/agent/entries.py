"""Entries of a conversation, shared by the agent and the transcript."""

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, Literal

NO_REPLY = "NO_REPLY"
"""The exact answer of a model that has nothing to say, in any letter case; it never reaches a chat."""


CHARACTERS_A_TOKEN = 3
"""Low on purpose: English has about 4, code and other scripts fewer; an overestimate wastes little."""
TOKENS_A_TILE = 256
_TILE, _LONGEST_SIDE = 512, 2_048
"""In pixels."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture that came with a message: a file in the workspace, for a model that accepts images."""

    path: str
    """Path in the workspace; the file name begins with a digest of the content."""
    mime: str
    """Detected from the content, not taken from the sender."""
    size: int
    """In bytes."""
    width: int
    """In pixels."""
    height: int

    @property
    def tokens(self) -> int:
        """Return a cautious estimate: 256 for each tile of 512 pixels, and 256 more.

        So Cohere counts (docs.cohere.com, Image Inputs). OpenAI's count for GPT-4o is less, 170 a tile and 85, after
        the picture was fitted into 2,048 pixels (platform.openai.com, Images and vision); that is done here too.
        """
        shrunk = min(1.0, _LONGEST_SIDE / max(self.width, self.height))
        across, down = (max(1, -int(-side * shrunk // _TILE)) for side in (self.width, self.height))
        return TOKENS_A_TILE * (across * down + 1)


@dataclass(frozen=True, slots=True, weakref_slot=True)
class UserEntry:
    """A message from a person, or the text that started an unprompted turn."""

    text: str
    at: datetime
    sender: str
    """The sender's display name, which the model sees before the text; empty in the owner's own chat."""
    message_id: str
    """The inbox's id of the message; it leads from a memory back to its source."""
    from_outside: bool = False
    """The text holds words of somebody other than the sender: a forward or a quotation."""
    joins: bool = False
    """The message arrived while another one waited or was being answered, and the turn of that one answers both."""
    source: str = ""
    """Identifies the message, its chat and its text at the time; used to recognise edits."""
    is_ours: bool = False
    """No person wrote it: the gateway began the turn, with a due job or a subagent's result."""
    pictures: tuple[Picture, ...] = ()
    """Described in the text; its model was shown them in the turn in which they arrived."""
    is_house: bool = False
    """It stays on the owner's machines, as its chat or its text says."""
    mark: str = ""
    """By which the turn that answers it can be taken back; empty in journals of earlier versions."""

    @property
    def characters(self) -> int:
        """Return how many characters a model is shown, pictures reckoned by their tokens."""
        pictures = sum(each.tokens for each in self.pictures) if self.pictures else 0
        return len(self.text) + CHARACTERS_A_TOKEN * pictures


@dataclass(frozen=True, slots=True, weakref_slot=True)
class TurnNoteEntry:
    """The gateway's note to the model on one turn: the day, facts about the chat, memories. Nobody said it.

    It stands before the turn's message in every later request too, so that each begins with all of the one before.
    """

    text: str
    outside: str | None = None
    """The same for a model that runs elsewhere; `None` if nothing of it stays on the owner's machines."""
    from_outside: bool = False
    """It holds, or may hold, words of somebody other than the owner."""

    @property
    def is_house(self) -> bool:
        """Whether some of it stays on the owner's machines."""
        return self.outside is not None

    @property
    def characters(self) -> int:
        """Return how many characters a model is shown."""
        return len(self.text)


def said_text(entry: object) -> str:
    """Return the text of a message or a reply; empty for any other entry."""
    return entry.text if isinstance(entry, UserEntry | ReplyEntry) else ""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's request to run a tool."""

    id: str
    """Unique in its conversation; the model port ensures this where a provider does not."""
    name: str
    arguments: str
    """JSON text, as the model wrote it; it may be invalid."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one model reply, as counted by the provider; zero where it reported none."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    characters: int = 0
    """Length of the request for which the provider counted `input_tokens`; used to predict the next request's cost."""


COMMAND = "strandline:command"
"""`ReplyEntry.model` of a command's reply: no language model was asked, and none is shown that turn."""


OFFLINE = "offline"
"""Name, in the settings and in `ReplyEntry.model`, of the responder that is no language model."""

HALTED = "strandline:halted"
"""`ReplyEntry.model` of the entry that ends a turn stopped before its answer; it is never sent."""


UNFINISHED = "strandline"
"""`ReplyEntry.model` of the gateway's explanation for a turn without an answer of its own."""


@dataclass(frozen=True, slots=True, weakref_slot=True)
class ReplyEntry:
    """One reply of a model: text, tool calls, or both."""

    text: str
    calls: tuple[ToolCall, ...]
    model: str
    usage: Usage
    is_house: bool = False
    """It stays on the owner's machines: its model had read text that does."""
    own: str | None = None
    """The part of the text that goes beyond the notes and messages that its model was shown; `None`: all of it.

    The rest is no evidence: it stands in those.
    """

    @property
    def characters(self) -> int:
        """Return how many characters a model is shown."""
        return len(self.text) + sum(len(call.name) + len(call.arguments) for call in self.calls)


def own_answer(entry: ReplyEntry) -> str:
    """Return the part of *entry* that repeats no note and no message; empty if it only quotes."""
    return entry.text if entry.own is None else entry.own


@dataclass(frozen=True, slots=True, weakref_slot=True)
class CallStartEntry:
    """The journal's mark that a call has started; never sent to a model."""

    is_house: ClassVar[bool] = False
    characters: ClassVar[int] = 0
    call_id: str


ToolActKind = Literal[
    "noted",
    "kept",
    "corrected",
    "deleted",
    "wrote",
    "removed",
    "scheduled",
    "cancelled",
    "sends",
    "notifies",
    "started",
    "stopped",
    "waits",
    "used",
    "unsure",
]
"""Kinds of acts; `gateway/agent/receipts.py` has their words."""


@dataclass(frozen=True, slots=True)
class ToolAct:
    """Something that a tool call did, as the tool itself recorded it; never taken from a model's words."""

    kind: ToolActKind
    object: str = ""
    """A line of a note (`path#Ln`), a file's path, a job, the number of a waiting change, or a tool's name."""
    line: str = ""
    """The text of a note that was there already; the person cannot tell otherwise which one it is."""


@dataclass(frozen=True, slots=True, weakref_slot=True)
class ResultEntry:
    """The result of a tool call."""

    call_id: str
    name: str
    text: str
    is_error: bool
    from_outside: bool = False
    """The result holds, or may hold, text by somebody other than the owner."""
    acts: tuple[ToolAct, ...] = ()
    """What the call did; hooks that rewrite the text leave it as it is."""
    is_house: bool = False
    """It stays on the owner's machines: it holds, or may hold, text that does."""

    @property
    def characters(self) -> int:
        """Return how many characters a model is shown."""
        return len(self.text)


@dataclass(frozen=True, slots=True)
class UsedMemory:
    """A passage that was available to a turn when it answered."""

    citation: str
    how: Literal["search", "read", "recall"]
    """Found by the model's search, read by it, or recalled automatically before the model was asked."""
    score: float = 0.0
    """How well it fits, 0 to 1, and the parts, as in `Hit`; 0 for a passage that was read."""
    similarity: float = 0.0
    keyword: float = 0.0
    fingerprint: str | None = None
    """Hash of its words, by which the check-up finds it wherever it stands (`workspaces.memory.text.fingerprint`).

    Empty after a purge of it; `None` for a passage that was read, whose text is in the result, and in older records.
    """


HOW_USED = {"search": "found by a search", "read": "read", "recall": "brought up unasked"}
"""`UsedMemory.how` in words."""


@dataclass(frozen=True, slots=True)
class UsedEntry:
    """The journal's record of the memories that a turn used; kept to trace answers, never sent to a model."""

    memories: tuple[UsedMemory, ...]


@dataclass(frozen=True, slots=True)
class LogSection:
    """The note on a part of the conversation, for one day."""

    path: str
    """Path in the workspace: the daily notes of the conversation's own audience."""
    text: str
    """Whole lines, as they are added."""
    before: int
    """Earlier occurrences of the same text in the file; one more means that this section was written."""


@dataclass(frozen=True, slots=True)
class LogEntry:
    """The journal's mark that the entries before it go into the daily notes, as these sections."""

    sections: tuple[LogSection, ...]


@dataclass(frozen=True, slots=True)
class LoggedEntry:
    """The journal's mark that the sections of the last `LogEntry` have been written."""


@dataclass(frozen=True, slots=True)
class EndEntry:
    """The journal's mark that the session has ended; the next message begins a new one."""

    reason: str


@dataclass(frozen=True, slots=True)
class FlushEntry:
    """The receipt for notes that a model wrote before older text was dropped; each was read back."""

    citations: tuple[str, ...]
    """Their locations, as `path#Ln`."""
    requests: int
    """Number of requests to the model."""


@dataclass(frozen=True, slots=True)
class RecallEntry:
    """The receipt of a search for the facts that were stated since the last one: identifiers, names, numbers, dates."""

    asked: int
    """Facts that were searched for."""
    found: int
    """Those that came back, in the end."""
    noted: tuple[str, ...]
    """Locations of notes, as `path#Ln`, with facts that had not come back before."""
    unasked: int
    """Further facts, for which there was no time."""
    took_ms: int

    def __str__(self) -> str:
        """Return it in words, such as `41 of 41 facts findable`."""
        noted = f", {len(self.noted)} of them noted word for word" if self.noted else ""
        unasked = f"; {self.unasked} more were not looked for" if self.unasked else ""
        return f"{self.found} of {self.asked} facts findable{noted}{unasked}"


SUMMARY = "[Summary by the gateway of what was said before]"
"""The line above a summary in a request."""


@dataclass(frozen=True, slots=True)
class SummaryEntry:
    """The summary that replaces the older part of a conversation in requests; the transcript keeps that part."""

    text: str
    kept_from: str
    """The first turn after it that is shown whole."""
    orders: tuple[str, ...]
    """Standing orders, word for word: things that people asked always, never or later to be done."""
    from_outside: bool
    """The summarised text holds, or may hold, words of somebody other than the owner."""
    model: str
    is_house: bool = False
    """It stays on the owner's machines, as some of the summarised text does."""


@dataclass(frozen=True, slots=True)
class ForgottenEntry:
    """The journal's mark that these notes were to be forgotten; they are never written again."""

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EnclosedEntry:
    """The journal's record that a file goes out with the turn's answer; its content was copied before."""

    path: str
    """In the workspace."""
    key: str
    """Identifies the copy."""
    size: int
    """In bytes."""
    caption: str


Entry = UserEntry | TurnNoteEntry | ReplyEntry | CallStartEntry | ResultEntry
Mark = (
    UsedEntry
    | LogEntry
    | LoggedEntry
    | EndEntry
    | FlushEntry
    | RecallEntry
    | SummaryEntry
    | ForgottenEntry
    | EnclosedEntry
)
"""Journal entries beside the conversation; never sent to a model."""


def interrupted_result(call: ToolCall) -> ResultEntry:
    """Return the result of a *call* that started and has no known outcome; such a call is never run again."""
    return ResultEntry(
        call.id, call.name, "interrupted: it may or may not have happened; look before you repeat it", True
    )


def is_interrupted(result: ResultEntry) -> bool:
    """Return whether *result* is that of a call without a known outcome."""
    return result == interrupted_result(ToolCall(result.call_id, result.name, ""))


def not_run(call: ToolCall) -> ResultEntry:
    """Return the result of a *call* that never started."""
    return ResultEntry(call.id, call.name, "not run: the turn ended before it", True)
