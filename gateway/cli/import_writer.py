"""Writes what an importer found into an agent's workspace and archive, and takes it back."""

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from pydantic import TypeAdapter, ValidationError

from gateway.agent.entries import EndEntry, Entry, Mark, ReplyEntry, Usage, UserEntry
from gateway.errors import StrandlineError
from gateway.home import FILE_MODE, AgentHome
from gateway.importers.folders import NOTES
from gateway.importers.imported import ImportedConversation, ImportedSession
from gateway.stores.rows import TurnId
from gateway.transcripts.codec import Record, header, kind_of_entry, to_line
from workspaces.access import Access, SessionType
from workspaces.errors import NoSuchFileError
from workspaces.history.history import History
from workspaces.history.messages import OWNERS_COMMANDS, Origin
from workspaces.workspace import TextFile, Workspace, template

Step = Callable[[], None]
"""Called after each file and conversation that was written."""


@dataclass(frozen=True, slots=True)
class ImportReceipt:
    """What one import wrote: enough to take it back."""

    id: str
    files: dict[str, str] = field(default_factory=dict)
    """Digest of each new file's text by its path in the workspace."""
    replaced: dict[str, str] = field(default_factory=dict)
    """Earlier text of each file that was as this program had made it, by its path."""
    sessions: list[str] = field(default_factory=list)
    """File names of conversations in the archive."""


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """What an import would write; nothing is overwritten but files that are as this program made them."""

    files: Mapping[str, str]
    """New text by path."""
    replaced: Mapping[str, str]
    """Present text by path, of those of `files` that exist."""
    sessions: Mapping[str, ImportedSession]
    """By file name in the archive."""
    known: int
    """Number of files and conversations that are here already."""
    left_out: tuple[str, ...]

    @property
    def messages(self) -> int:
        return sum(len(session.messages) for session in self.sessions.values())


@dataclass(frozen=True, slots=True)
class ImportTarget:
    """The agent that an import is for; its lock is held."""

    home: AgentHome
    workspace: Workspace
    owner: Access
    source: str
    """Name of the importer."""

    @property
    def _receipts(self) -> Path:
        return self.home.root / "imports"

    def plan(self, found: ImportedConversation) -> ImportPlan:
        """Return what is new in *found*; a file whose place another one has gets a place beside it."""
        files: dict[str, str] = {}
        replaced: dict[str, str] = {}
        left_out = [*found.left_out]
        for path, text in found.notes.items():
            places = [path, *_beside(path, self.source)]
            place = next((each for each in places if self._text(each) in {None, text, _template_of(each)}), None)
            if place is None:
                left_out.append(f"{path}: another one is here")
            elif (there := self._text(place)) != text:
                files[place] = text
                replaced |= {} if there is None else {place: there}
        sessions = {_file_name(self.source, session): session for session in found.sessions}
        fresh = {name: session for name, session in sessions.items() if not (self.home.archive / name).exists()}
        known = len(found.notes) + len(found.sessions) - len(files) - len(fresh) - len(left_out) + len(found.left_out)
        return ImportPlan(files, replaced, fresh, known, tuple(left_out))

    def write(self, plan: ImportPlan, now: datetime, step: Step = lambda: None) -> ImportReceipt:
        """Write *plan* and record it as one change; return the receipt, which is on disk before anything else."""
        number = 1 + sum(1 for _ in self._receipts.glob("*.json")) if self._receipts.is_dir() else 1
        receipt = ImportReceipt(
            f"{self.source}-{number}",
            {path: _digest(text) for path, text in plan.files.items()},
            dict(plan.replaced),
            [*plan.sessions],
        )
        self._receipts.mkdir(mode=0o700, exist_ok=True)
        _write(self._receipts / f"{receipt.id}.json", _RECEIPT.dump_json(receipt))
        for path, text in plan.files.items():
            self.workspace.write(path, text, self.owner, self._present(path))
            step()
        self.home.archive.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name, session in plan.sessions.items():
            _write(self.home.archive / name, b"".join(_lines(session, self.source)))
            step()
        self._record([*plan.files], f"import: {self.source}, {len(plan.files)} files", is_others=True)
        return receipt

    def take_back(self, name: str) -> tuple[str, ...]:
        """Remove what the import *name* wrote; return the paths that were changed since, which stay.

        Raises StrandlineError if there is no such import.
        """
        file = self._receipts / f"{name}.json"
        try:
            receipt = _RECEIPT.validate_json(file.read_bytes())
        except (OSError, ValidationError) as exc:
            known = ", ".join(sorted(each.stem for each in self._receipts.glob("*.json"))) or "none"
            raise StrandlineError(f"there is no import {name}; those that can be taken back: {known}") from exc
        kept: list[str] = []
        for path, digest in receipt.files.items():
            present = self._present(path)
            if present is None:
                continue
            if _digest(present.text) != digest:
                kept.append(path)
            elif path in receipt.replaced:
                self.workspace.write(path, receipt.replaced[path], self.owner, present)
            else:
                self.workspace.delete(path, self.owner, present)
        for name in receipt.sessions:
            (self.home.archive / name).unlink(missing_ok=True)
        self._record([*receipt.files], f"import: take back {name}", is_others=False)
        file.unlink()
        return tuple(kept)

    def _record(self, paths: Sequence[str], subject: str, *, is_others: bool) -> None:
        """Commit *paths*; imported lines count as others' words until the owner has looked through them."""
        history = History.open(self.home.history, self.workspace, lambda: datetime.now(UTC))
        history.record([PurePosixPath(path) for path in paths], subject, Origin(OWNERS_COMMANDS, others=is_others))

    def _present(self, path: str) -> TextFile | None:
        try:
            return self.workspace.read(PurePosixPath(path), self.owner)
        except NoSuchFileError:
            return None

    def _text(self, path: str) -> str | None:
        present = self._present(path)
        return None if present is None else present.text


def _beside(path: str, source: str) -> Iterator[str]:
    """Yield the places of a note whose own place is taken: a day's note beside the day's, any other among imports."""
    place = PurePosixPath(path)
    if place.parts[0] == "memory":
        yield str(place.with_name(f"{place.stem}-{source}{place.suffix}"))
    elif place.name == "MEMORY.md":
        yield str(NOTES / source / place)


def _template_of(path: str) -> str:
    try:
        return template(path) if "/" not in path else "\0"
    except OSError:
        return "\0"


def _file_name(source: str, session: ImportedSession) -> str:
    """Return the name of an ended conversation's file: its end, whose microseconds tell conversations apart."""
    last = session.messages[-1].at.astimezone(UTC)
    mark = int(_digest(f"{source}\0{session.id}")[:12], 16) % 1_000_000
    return f"{quote(SessionType.MAIN)}.{last.replace(microsecond=mark):%Y%m%dT%H%M%S%fZ}.jsonl"


def _lines(session: ImportedSession, source: str) -> Iterator[bytes]:
    """Yield the conversation as a transcript: the owner's words are theirs, the other program's are not."""
    turn = f"import-{_digest(session.id)[:12]}"
    first, last = session.messages[0].at, session.messages[-1].at
    title = f"This conversation was imported from {source}: {session.title or session.id}"
    yield header(SessionType.MAIN, first)
    yield _line(f"{turn}-0", first, UserEntry(title, first, "", "", from_outside=True, is_ours=True))
    for number, message in enumerate(session.messages, 1):
        entry: Entry = UserEntry(message.text, message.at, "", "")
        if not message.is_owners:
            entry = ReplyEntry(message.text, (), f"import:{source}", Usage())
        yield _line(f"{turn}-{number}", message.at, entry)
    yield _line(turn, last, EndEntry("import"))


def _line(turn: str, at: datetime, entry: Entry | Mark) -> bytes:
    return to_line(Record(TurnId(turn), at.astimezone(UTC), entry, kind_of_entry(entry)))


def _write(file: Path, content: bytes) -> None:
    fresh = file.with_name(f".{file.name}.part")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE), "wb") as out:
        out.write(content)
        out.flush()
        os.fsync(out.fileno())
    fresh.replace(file)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


_RECEIPT = TypeAdapter(ImportReceipt)
