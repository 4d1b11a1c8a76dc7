"""Removal of whole notes from the files that a turn may write."""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from workspaces.access import Access, may_write, scope_of
from workspaces.errors import BadPathError, EditError, NoSuchFileError, NotTextError, TooLargeError
from workspaces.lazy_pattern import lazy_pattern
from workspaces.memory.entry import Document, Entry
from workspaces.memory.exact_search import folded_text
from workspaces.memory.text.chunking import entries_of
from workspaces.memory.text.fingerprint import fingerprint
from workspaces.memory.workspace_source import is_note
from workspaces.redact import Redaction
from workspaces.revert import rewritten_line
from workspaces.workspace import Workspace

_LINE = lazy_pattern(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class NotePassage:
    path: PurePosixPath
    first_line: int
    """From 1; both ends are included."""
    last_line: int
    text: str
    mark: str
    """`#` and eight hex digits of its place and text: identifies it even when lines above are added or removed."""
    is_part: bool
    """It shares a line with another one, as parts of long prose do."""
    section: str = field(default="", compare=False)
    """The headings above it, joined by " > "."""

    @property
    def citation(self) -> str:
        """Location, as `path#Lx-Ly`."""
        return f"{self.path}#L{self.first_line}-L{self.last_line}"


def forgettable(workspace: Workspace, access: Access) -> list[PurePosixPath]:
    """Return the note files that *access* may write, in descending order of name."""
    if access.agent != workspace.agent:
        return []
    paths = (found.path for found in workspace.folder.walk() if is_note(found.path))
    return sorted((path for path in paths if may_write(access, path)), reverse=True)


def notes_in(workspace: Workspace, access: Access, path: PurePosixPath) -> list[NotePassage]:
    """Return the notes of one file, in order; none if it is gone or not text."""
    try:
        whole = workspace.read(path, access).whole
    except (NoSuchFileError, BadPathError, NotTextError, TooLargeError):
        return []
    return notes_of(path, whole)


def notes_of(path: PurePosixPath, whole: str) -> list[NotePassage]:
    """Return the notes of the file at *path* with the text *whole*, in order."""
    entries = entries_of(Document(str(path), scope_of(path), whole.removeprefix(_BOM), None, ""))
    lines = Counter(line for entry in entries for line in _lines_of(entry))
    seen: Counter[str] = Counter()
    notes = []
    for entry in entries:
        facts = f"{path}\0{entry.text}\0{seen[entry.text]}"
        seen[entry.text] += 1
        mark = f"#{hashlib.sha256(facts.encode()).hexdigest()[:8]}"
        is_part = any(lines[line] > 1 for line in _lines_of(entry))
        notes.append(NotePassage(path, entry.start_line, entry.end_line, entry.text, mark, is_part, entry.section))
    return notes


def marked_in(texts: Iterable[tuple[PurePosixPath, str]], marks: Collection[str]) -> dict[str, NotePassage]:
    """Return, by mark, the notes with one of *marks* in *texts* of files; no more of these are read than it takes."""
    found: dict[str, NotePassage] = {}
    for path, whole in texts:
        found |= {note.mark: note for note in notes_of(path, whole) if note.mark in marks}
        if len(found) == len(set(marks)):
            break
    return found


def author_of(note: NotePassage, texts: Iterable[tuple[str, str | None]]) -> str | None:
    """Return the author of the oldest of *texts*, newest first, from which on all have *note*; `None` if unknown."""
    author, lines, count = None, "", 0
    for whole, wrote in texts:
        if not lines or f"\n{whole}\n".count(lines) < count:  # to read the notes of every version takes long
            found = next((each for each in notes_of(note.path, whole) if each.mark == note.mark), None)
            if found is None:
                break
            every = whole.split("\n")
            lines = "\n".join(["", *every[found.first_line - 1 : found.last_line], ""])
            count = "\n".join(["", *every[: found.last_line], ""]).count(lines)
        author = wrote
    return author


def fingerprints(workspace: Workspace, access: Access) -> frozenset[str]:
    """Return those of all notes that *access* may write."""
    paths = forgettable(workspace, access)
    return frozenset(fingerprint(note.text) for path in paths for note in notes_in(workspace, access, path))


def take_out(workspace: Workspace, access: Access, redaction: Redaction) -> int:
    """Remove passages from every note file that *access* may write; return the number of changed files.

    Raises the errors of `Workspace.write`.
    """
    count = 0
    for path in forgettable(workspace, access):
        try:
            file = workspace.read(path, access)
        except (NoSuchFileError, BadPathError, NotTextError, TooLargeError):
            continue
        if redaction.is_in(file.whole):
            workspace.write(path, redaction.out_of(file.whole), access, file)
            count += 1
    return count


def holding(notes: Iterable[NotePassage], words: str) -> list[NotePassage]:
    """Return those of *notes* that contain each of the *words*, in any case and order; none without a word."""
    wanted = folded_text(words).split()
    return [note for note in notes if wanted and all(word in folded_text(note.text) for word in wanted)]


def forget(workspace: Workspace, access: Access, notes: Collection[NotePassage]) -> None:
    """Remove *notes* from their files; each file is written once.

    Raises EditError for a note that is a part of a longer passage or no longer there, the errors of `Workspace.write`,
    and NoSuchFileError where *access* may not write.
    """
    for part in (note for note in notes if note.is_part):
        raise EditError(f"{part.citation} is part of a longer passage; edit the file to remove it")
    for path in dict.fromkeys(note.path for note in notes):
        here = [note for note in notes if note.path == path]
        file = workspace.read(path, access)
        if not {*here} <= {*notes_of(path, file.whole)}:
            raise EditError(f"{path} changed in between; nothing more was removed, so check again")
        workspace.write(path, without_notes(file.whole, here), access, file)


def without_notes(whole: str, notes: Iterable[NotePassage]) -> str:
    """Return *whole* without the lines of *notes*; of the blank lines around one, those above it stay."""
    mark = _BOM if whole.startswith(_BOM) else ""
    lines = _LINE.findall(whole.removeprefix(_BOM))
    for note in sorted(notes, key=lambda note: -note.first_line):
        first, end = note.first_line - 1, note.last_line
        while _is_blank(lines, first - 1) and end < len(lines) and _is_blank(lines, end):
            end += 1
        del lines[first:end]
    return mark + "".join(lines)


def reworded(whole: str, note: NotePassage, words: str) -> str:
    """Return *whole* with *words* in place of *note*; a list item stays one, with its time. ValueError: no words."""
    mark = _BOM if whole.startswith(_BOM) else ""
    lines = _LINE.findall(whole.removeprefix(_BOM))
    lines[note.first_line - 1 : note.last_line] = [rewritten_line(lines[note.first_line - 1], words)]
    return mark + "".join(lines)


def _is_blank(lines: Sequence[str], place: int) -> bool:
    return place < 0 or not lines[place].strip()


def _lines_of(entry: Entry) -> range:
    return range(entry.start_line, entry.end_line + 1)
