"""Guard for writes of a turn's tools to protected files: a write passes, or it waits for the owner."""

import json
from collections.abc import Callable, Iterable
from pathlib import PurePosixPath
from typing import ParamSpec, Protocol, TypeVar

from msgspec import Struct

from gateway.agent.dictation import rephrases
from gateway.agent.entries import Entry, ToolCall
from gateway.agent.house import is_any_house
from gateway.agent.tools.tool import ActedResult, done
from gateway.agent.write_policy import (
    ApprovalReason,
    is_from_outside,
    reason_to_ask,
    reason_to_ask_for_job,
    reason_to_ask_for_outgoing,
)
from gateway.errors import ToolError
from workspaces.access import Access, SessionType, may_know, rights
from workspaces.history import Act
from workspaces.house import Make, projected, tagged, tagged_file, unmarks
from workspaces.memory.text.facts import folded

P = ParamSpec("P")
T = TypeVar("T")


class ProjectedFile(Struct, frozen=True):
    """A file as it will be once every change that waits for it is approved."""

    text: str | None
    """The whole file; `None` if there will be none."""
    waiting: int | None = None
    """The number of the newest change that waits for the file."""


CALLS = PurePosixPath("/call")
"""Stands before the name of a tool in place of a file's path: no file of a workspace begins with a slash."""


class ApprovalSink(Protocol):
    """Store of the changes that wait for the owner, for one turn of one agent."""

    async def standing(self, path: PurePosixPath, present: str | None) -> ProjectedFile:
        """Return the file at *path*, whose text is *present*, with its waiting changes applied."""

    async def propose(self, path: PurePosixPath, before: str | None, after: str | None, reason: ApprovalReason) -> int:
        """Store the change, notify the owner once, and return its number.

        Raises ToolError when too many wait already, and WorkspaceError for changes that are never stored.
        """


class WriteGuard:
    """Decides about the writes of one turn, by its access and by the text that its model has seen."""

    def __init__(
        self, access: Access, seen: Iterable[Entry], approval_sink: ApprovalSink, dictated: Iterable[str] = ()
    ) -> None:
        """*seen* holds the entries in the turn's request: the same after a crash, as they come from the journal.

        *dictated* are the texts that the owner, in the turn's own messages, orders to be noted.
        """
        self._access = access
        texts = {_plain(text): text for text in dictated if _plain(text)}
        self._dictated = texts if rights(access).private else dict[str, str]()
        self._writes_dictated = False
        self._is_exposed = self._is_house = self._is_withholding = False
        self._approval_sink = approval_sink
        self.hears(*seen)

    def hears(self, *entries: Entry) -> None:
        """Record the *entries* that the model sees from now on."""
        self._is_exposed = self._is_exposed or any(map(is_from_outside, entries))
        if may_know(self._access.reader, is_house=True):  # elsewhere they are withheld
            self._is_house = self._is_house or is_any_house(entries)

    @property
    def has_read_others(self) -> bool:
        """Whether lines that the turn writes hold others' words: its model has seen such, or others talk to it."""
        return (self._is_exposed and not self._writes_dictated) or not rights(self._access).private

    def in_owners_words(self, text: str) -> str:
        """Return *text*, which the turn's model wrote for a note, or the owner's sentence that it rephrases.

        Only after others' words: a model that has read such may choose no words for the owner.
        """
        if not self._is_exposed or self.is_dictated(text):
            return text
        return next((own for own in self._dictated.values() if rephrases(text, own)), text)

    def is_dictated(self, text: str) -> bool:
        """Return whether the owner, in the turn's own messages, orders to note *text*, word for word."""
        return _plain(text) in self._dictated

    def as_dictated(self, text: str, write: Callable[P, T]) -> Callable[P, T]:
        """Return *write*, a write of *text* alone, so that the lines it adds are the owner's if they dictated it.

        Word for word: a model that has read others' words may not choose a part. It runs on the thread that writes.
        """
        if not self.is_dictated(text):
            return write

        def written(*args: P.args, **kwargs: P.kwargs) -> T:
            self._writes_dictated = True
            try:
                return write(*args, **kwargs)
            finally:
                self._writes_dictated = False

        return written

    def reads_others(self) -> None:
        """Record that the model sees others' words from now on, in no entry of its own."""
        self._is_exposed = True

    @property
    def has_read_house(self) -> bool:
        """Whether the model has seen text that stays on the owner's machines: so does what the turn writes."""
        return self._is_house

    def reads_house(self) -> None:
        """Record that the model sees text that stays on the owner's machines, in no entry of its own."""
        self._is_house = True

    @property
    def is_withholding(self) -> bool:
        """Whether the model asked for text that it may not know, as it runs elsewhere."""
        return self._is_withholding

    def withholds(self) -> None:
        """Record that the model asked for such text; it is not told."""
        self._is_withholding = True

    def marked(self, text: str) -> str:
        """Return *text*, which the turn's model wrote for a note, with the mark `house` if it has to carry it."""
        return tagged(text) if self._is_house else text

    def marked_file(self, path: PurePosixPath, content: str) -> str:
        """Return *content* for the file at *path*, with the mark of a whole file if it has to carry it.

        Raises ToolError for a file that cannot.
        """
        if not self._is_house:
            return content
        if path.suffix != ".md":
            raise ToolError(f"{path}: you have read text marked house; write it into a Markdown file, which can be so")
        return tagged_file(content)

    def reason(self, path: PurePosixPath, act: Act = Act.WRITE) -> ApprovalReason | None:
        """Return why this write has to wait; `None` if it may be tried at once."""
        return reason_to_ask(self._access, path, act, is_exposed=self._is_exposed)

    def reason_to_unmark(self, before: str | None, after: str | None) -> ApprovalReason | None:
        """Return why a change has to wait that takes the mark `house` from a line; `None` if it takes none.

        Raises ToolError in a conversation that never asks the owner.
        """
        if before is None or after is None or not unmarks(before, after):
            return None
        if not rights(self._access).private:
            raise ToolError("this takes the mark house from a line that stays; only the owner can do that")
        return ApprovalReason.UNMARKED

    def reason_for_job(self, *, is_asked: bool) -> ApprovalReason | None:
        """Return why a job has to wait; *is_asked*: a message of the owner began the turn."""
        return reason_to_ask_for_job(is_asked=is_asked, is_exposed=self._is_exposed)

    def may_send(self) -> bool:
        """Return whether text may leave the turn other than by its answer, without the owner's approval."""
        return reason_to_ask_for_outgoing(self._access, is_exposed=self._is_exposed) is None

    async def ask_to_call(self, call: ToolCall) -> ActedResult | None:
        """Store *call*, by which text would leave, for the owner's decision; `None` if it may be made at once.

        Raises ToolError in a subagent, whose parent can make the call.
        """
        reason = reason_to_ask_for_outgoing(self._access, is_exposed=self._is_exposed)
        if reason is None:
            return None
        if self._access.session_type is SessionType.SUBAGENT:  # it works alone, and nobody would see what was asked
            raise ToolError(f"{call.name} may pass on what your task says; name in your result what you need it for")
        number = await self._approval_sink.propose(CALLS / call.name, None, _shown_arguments(call), reason)
        said = (
            f"Nothing is done yet: this call waits for your owner's approval as #{number}, because {reason.in_words}. "
            "They have been notified; continue without it."
        )
        return done(said, "waits", f"#{number}")

    async def ask(self, change: "WantedChange", reason: ApprovalReason) -> ActedResult:
        """Store *change* for the owner's decision and return the text for the model."""
        path, standing = change.path, await self._approval_sink.standing(change.path, change.present)
        after = projected(standing.text, change.make, self._access.reader)
        if after == standing.text:
            where = "it is" if standing.waiting is None else f"change #{standing.waiting} makes it, which waits"
            raise ToolError(f"{path}: the text would be exactly as {where}; nothing was written")
        number = await self._approval_sink.propose(path, standing.text, after, reason)
        said = (
            f"Nothing is written yet: this change to {path} waits for your owner's approval as #{number}, because "
            f"{reason.in_words}. They have been notified; continue without it."
        )
        return done(said, "waits", f"#{number}")


def _plain(text: str) -> str:
    return folded(text).strip(" .!。！")


def _shown_arguments(call: ToolCall) -> str:
    """Return the arguments of *call* as its owner reads them: one a line, the shortest first, as they are understood.

    So no argument is written in escapes, nor stands behind a long one, behind spaces or under a name that is there
    twice.
    """
    try:
        given = json.loads(call.arguments or "{}")
        shown = dict(sorted(given.items(), key=lambda each: len(str(each[1])))) if isinstance(given, dict) else given
        return json.dumps(shown, ensure_ascii=False, indent=1, allow_nan=False)
    except (ValueError, RecursionError):
        return call.arguments


class WantedChange(Struct, frozen=True):
    """A change of one file that a tool was asked for."""

    path: PurePosixPath
    present: str | None
    """The file's text now; `None` if there is no file."""
    make: Make
