"""Writes what an importer found into an agent's workspace and archive, and takes it back."""

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import TypeVar
from urllib.parse import quote

from msgspec import Struct
from pydantic import TypeAdapter, ValidationError

from gateway.agent.entries import EndEntry, Entry, Mark, ReplyEntry, Usage, UserEntry
from gateway.errors import StoreError, StrandlineError
from gateway.home import FILE_MODE, AgentHome
from gateway.importers.folders import NOTES
from gateway.importers.imported import ImportedConversation, ImportedSession
from gateway.stores.rows import TurnId
from gateway.transcripts.codec import Record, header, kind_of_entry, to_line
from gateway.transcripts.memory_source import IMPORTED
from workspaces.access import Access, SessionType
from workspaces.bulk import SYNCS_ALL, durable_at_the_end
from workspaces.errors import BadPathError, NoSuchFileError, NotTextError, TooLargeError, UnusableError
from workspaces.file_slot import digest_of
from workspaces.history.exposed_turns import ExposedTurns, exposed_place
from workspaces.history.history import History
from workspaces.history.messages import OWNERS_COMMANDS, Origin
from workspaces.memory.workspace_source import is_note
from workspaces.secrets import redact_bytes
from workspaces.starting_files import is_untouched
from workspaces.workspace import TextFile, Workspace

T = TypeVar("T")
PART = 1_000
"""Files that are made durable and recorded together; our choice: a second's work."""
_OWN, _OTHERS = Origin(OWNERS_COMMANDS), Origin(OWNERS_COMMANDS, others=True)
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
    left_out: list[str] = field(default_factory=list)
    """Files that could not be written, with the reason."""
    is_whole: bool = True
    """It ended. One that was cut short is continued by the next import of its kind, under its own name."""


class ImportPlan(Struct, frozen=True):
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


def has_import(home: AgentHome, name: str) -> bool:
    """Whether the agent of *home* has an import *name* that can be taken back."""
    receipt = home.root / "imports" / f"{name}.json"
    return receipt.is_file() and receipt.stat().st_size > 0


class ImportTarget(Struct, frozen=True):
    """The agent that an import is for; its lock is held."""

    home: AgentHome
    workspace: Workspace
    owner: Access
    source: str
    """Name of the importer."""
    is_own: bool = False
    """The notes hold the owner's own words."""

    @property
    def _receipts(self) -> Path:
        return self.home.root / "imports"

    def _receipt_file(self, name: str) -> Path:
        return self._receipts / f"{name}.json"

    def plan(self, found: ImportedConversation) -> ImportPlan:
        """Return the news in *found*; a file whose place another one has gets a place beside it."""
        files: dict[str, str] = {}
        replaced: dict[str, str] = {}
        left_out = [*found.left_out]
        for path, text in found.notes.items():
            try:
                found_place = self._place_for(path, text)
            except (BadPathError, NotTextError, TooLargeError) as exc:
                left_out.append(str(exc))
                continue
            if found_place is None:
                left_out.append(f"{path}: another one is here")
                continue
            place, there = found_place
            if there != text:
                files[place] = text
            if there not in {None, text}:
                replaced[place] = str(there)
        sessions = {_file_name(self.source, session): session for session in found.sessions}
        fresh = {name: session for name, session in sessions.items() if not (self.home.archive / name).exists()}
        known = len(found.notes) + len(found.sessions) - len(files) - len(fresh) - len(left_out) + len(found.left_out)
        return ImportPlan(files, replaced, fresh, known, tuple(left_out))

    def _place_for(self, path: str, text: str) -> tuple[str, str | None] | None:
        """Return the place for a note, with the text that it would replace; `None` if each is taken by another one."""
        for place in (path, *_beside(path, self.source)):
            there = self._text(place)
            if there is None or there == text or is_untouched(place, there):
                return place, there
        return None

    def write(self, plan: ImportPlan, step: Step = lambda: None) -> ImportReceipt:
        """Write *plan* in parts, each durable and recorded before the next; the receipt is on disk before all of them.

        Return the receipt. Raises StoreError for a disk that is full or fails.
        """
        history = self._history()
        receipt = self._receipt(plan, history)
        try:
            return self._write_all(plan, receipt, history, step)
        except (OSError, UnusableError) as exc:
            fault = f"{exc.filename} cannot be written: {exc.strerror}" if isinstance(exc, OSError) else str(exc)
            words = f"strandline import --undo {receipt.id} --agent {self.workspace.agent}"
            undo = f", or take it back: {words}" if self._receipt_file(receipt.id).exists() else ""
            remedy = f"Make room or mend the cause, then import the same again: it goes on{undo}"
            raise StoreError(f"{fault}. {remedy}") from exc

    def _write_all(self, plan: ImportPlan, receipt: ImportReceipt, history: History, step: Step) -> ImportReceipt:
        self._keep(receipt)
        origin = _OWN if self.is_own else _OTHERS
        with ExposedTurns(exposed_place(self.home.history)).during(receipt.id, origin):
            left_out = self._write_files(plan, history, origin, step)
        self._archive(plan.sessions, step)
        done = replace(receipt, is_whole=True, left_out=left_out)
        self._keep(done)
        return done

    def _write_files(self, plan: ImportPlan, history: History, origin: Origin, step: Step) -> list[str]:
        """Write and record the files; return a line for each that is refused."""
        fresh = {path: text for path, text in plan.files.items() if path not in plan.replaced}
        for path in plan.replaced:
            self.workspace.write(path, plan.files[path], self.owner, self._present(path))
            step()
        left_out: list[str] = []
        recorded = [*plan.replaced]
        for part in _parts(fresh):
            left_out += self._add(part)
            paths = [*recorded, *part]
            _record(history, paths, f"import: {self.source}, {len(paths):,} files", origin)
            recorded = []
            for _ in part:
                step()
        _record(history, recorded, f"import: {self.source}, {len(recorded):,} files", origin)
        return left_out

    def unfinished(self) -> ImportReceipt | None:
        """Return the receipt of an import of this kind that was cut short."""
        for file in sorted(self._receipts.glob(f"{self.source}-*.json")):
            with suppress(OSError, ValidationError):
                receipt = _RECEIPT.validate_json(file.read_bytes())
                if not receipt.is_whole:
                    return receipt
        return None

    def _receipt(self, plan: ImportPlan, history: History) -> ImportReceipt:
        numbers = (file.stem.rpartition("-")[2] for file in self._receipts.glob("*.json"))
        latest = max((int(number) for number in numbers if number.isdecimal()), default=0)
        earlier = self.unfinished() or ImportReceipt(f"{self.source}-{latest + 1}")
        if earlier.files:  # what it wrote last may not be recorded yet, and must not count as the owner's own words
            _record(history, [*earlier.files], f"import: {self.source}, continued", _OTHERS)
        return ImportReceipt(
            earlier.id,
            {**earlier.files, **{path: _file_digest(text) for path, text in plan.files.items()}},
            {**plan.replaced, **earlier.replaced},
            list(dict.fromkeys([*earlier.sessions, *plan.sessions])),
            is_whole=False,
        )

    def refuse_full(self, plan: ImportPlan) -> None:
        """Raise StrandlineError if the quota has no room for *plan*."""
        most = self.workspace.caps.quotas.workspace_files
        if (wanted := self.workspace.count_files(self.owner) + len(plan.files) - len(plan.replaced)) > most:
            raise StrandlineError(
                f"{len(plan.files):,} files are more than limits.workspace_files allows ({most:,}); "
                f"raise it: strandline config set limits.workspace_files {wanted + 1_000}"
            )
        names = self.workspace.caps.names
        for folder, number in Counter(PurePosixPath(path).parent for path in plan.files).most_common(1):
            if number > names:
                raise StrandlineError(
                    f"{number:,} notes would lie in {folder}, and a folder holds {names:,}: "
                    "spread them over several folders, and import them again"
                )

    def _keep(self, receipt: ImportReceipt) -> None:
        _write(self._receipt_file(receipt.id), _RECEIPT.dump_json(receipt))

    def _add(self, files: Mapping[str, str]) -> Iterator[str]:
        """Create *files*; yield a line for each that is refused."""
        content = {PurePosixPath(path): text.encode("utf-8", "surrogatepass") for path, text in files.items()}
        for refused in self.workspace.add_all(content, self.owner).values():
            yield str(refused)

    def _archive(self, sessions: Mapping[str, ImportedSession], step: Step) -> None:
        for part in _parts(sessions):
            with durable_at_the_end():
                for name, session in part.items():
                    _write(self.home.archive / name, b"".join(_lines(session, self.source)), is_durable=not SYNCS_ALL)
                    step()

    def receipt(self, name: str) -> ImportReceipt:
        """Return the receipt of the import *name*. Raises StrandlineError if there is none."""
        try:
            return _RECEIPT.validate_json(self._receipt_file(name).read_bytes())
        except (OSError, ValidationError) as exc:
            files = (each for each in self._receipts.glob("*.json") if each.stat().st_size)
            known = ", ".join(sorted(each.stem for each in files)) or "none"
            raise StrandlineError(f"there is no import {name}; those that can be taken back: {known}") from exc

    def take_back(self, receipt: ImportReceipt, step: Step = lambda: None) -> tuple[str, ...]:
        """Remove what an import wrote; return the paths that were changed since, which stay.

        Its receipt stays too, without content: no other import gets its name.
        """
        kept: list[str] = []
        for path, text in receipt.replaced.items():
            present = self._present(path)
            if present is not None and present.digest == receipt.files[path]:
                self.workspace.write(path, text, self.owner, present)
            elif present is not None and present.text != text:
                kept.append(path)
        fresh = {path: digest for path, digest in receipt.files.items() if path not in receipt.replaced}
        for part in _parts(fresh):
            kept += self._remove(part, is_whole=receipt.is_whole)
            for _ in part:
                step()
        for name in receipt.sessions:
            for file in (self.home.archive / name, _part_of(self.home.archive / name)):
                file.unlink(missing_ok=True)
            step()
        _record(self._history(), [*receipt.files], f"import: take back {receipt.id}", _OWN)
        _part_of(self._receipt_file(receipt.id)).unlink(missing_ok=True)
        os.truncate(self._receipt_file(receipt.id), 0)
        return tuple(kept)

    def _remove(self, digests: Mapping[str, str], *, is_whole: bool) -> list[str]:
        """Remove files that are as they were written; return the others. After a power cut a file may be empty."""
        changed = [str(path) for path in self.workspace.remove_all(digests, self.owner)]
        if is_whole:
            return changed
        found = {path: self._present(path) for path in changed}
        empty = {path: file.digest for path, file in found.items() if file and not file.text.strip("\0")}
        self.workspace.remove_all(empty, self.owner)
        return [path for path in changed if path not in empty]

    def _history(self) -> History:
        """Open the history, which reads every text of its newest commit: once an import."""
        return History.open(self.home.history, self.workspace, lambda: datetime.now(UTC))

    def _present(self, path: str) -> TextFile | None:
        try:
            return self.workspace.read(PurePosixPath(path), self.owner)
        except NoSuchFileError:
            return None

    def _text(self, path: str) -> str | None:
        present = self._present(path)
        return None if present is None else present.text


def _record(history: History, paths: Sequence[str], subject: str, origin: Origin) -> None:
    """Commit *paths*, notes as changes of *origin*; a persona or a skill is what the owner wants their agent to be."""
    places = [PurePosixPath(path) for path in paths]
    for whose, is_of_notes in ((origin, True), (_OWN, False)):
        if part := [place for place in places if is_note(place) is is_of_notes]:
            history.record(part, subject, whose)


def _beside(path: str, source: str) -> Iterator[str]:
    """Yield the places of a note whose own place is taken: a day's note beside the day's, any other among imports."""
    place = PurePosixPath(path)
    if place.parts[0] == "memory":
        yield str(place.with_name(f"{place.stem}-{source}{place.suffix}"))
    elif place.name == "MEMORY.md":
        yield str(NOTES / source / place)


def _file_name(source: str, session: ImportedSession) -> str:
    """Return the name of an ended conversation's file: its end, whose microseconds tell conversations apart."""
    last = session.messages[-1].at.astimezone(UTC)
    mark = int(_digest(f"{source}\0{session.id}")[:12], 16) % 1_000_000
    return f"{quote(SessionType.MAIN)}.{last.replace(microsecond=mark):%Y%m%dT%H%M%S%fZ}.jsonl"


def _lines(session: ImportedSession, source: str) -> Iterator[bytes]:
    """Yield the conversation as a transcript: the owner's words are theirs, the other program's are not."""
    turn = f"import-{_digest(session.id)[:12]}"
    first, last = session.messages[0].at, session.messages[-1].at
    title = f"{IMPORTED}{source}" + (f": {session.title}" if session.title else "")
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


def _parts(whole: Mapping[str, T]) -> Iterator[dict[str, T]]:
    names = iter(whole)
    while part := list(islice(names, PART)):
        yield {name: whole[name] for name in part}


def _part_of(file: Path) -> Path:
    """Return the file that holds *file* until it is whole."""
    return file.with_name(f".{file.name}.part")


def _write(file: Path, content: bytes, *, is_durable: bool = True) -> None:
    """Write *file*, whole or not at all. Raises OSError, which names it."""
    fresh = _part_of(file)
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh.unlink(missing_ok=True)
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE), "wb") as out:
            out.write(content)
            out.flush()
            if is_durable:
                os.fsync(out.fileno())
        fresh.replace(file)
    except OSError as exc:
        fresh.unlink(missing_ok=True)
        raise OSError(exc.errno, exc.strerror, str(file)) from exc


def _file_digest(text: str) -> str:
    """Return the digest of a file of *text* on disk, where known secrets are not written."""
    return digest_of(redact_bytes(text.encode("utf-8", "surrogatepass")))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


_RECEIPT = TypeAdapter(ImportReceipt)
