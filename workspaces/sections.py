"""Sections of `MEMORY.md`: an entry goes into one of them, and nothing else moves.

Sections are found by their headings, at any level; an owner's own sections and texts stay unchanged.
"""

from enum import StrEnum
from pathlib import PurePosixPath

from workspaces.access import Access
from workspaces.errors import NoSuchFileError
from workspaces.find_once import only_place
from workspaces.lazy_pattern import lazy_pattern
from workspaces.notes import NoteReceipt, list_item
from workspaces.workspace import TextFile, Workspace

_NAMES = (PurePosixPath("MEMORY.md"), PurePosixPath("memory.md"))
_BEGINNING = "# Memory\n"
_LINE = lazy_pattern(r"[^\n]*\n|[^\n]+")
_HEADING = lazy_pattern(r"\ufeff? {0,3}#{1,6}(?:[ \t]+(.*?))??(?:[ \t]+#+)?[ \t]*\r?\n?")
_RULE = lazy_pattern(r" {0,3}(=+|-+)[ \t]*\r?\n?")
_FENCE = lazy_pattern(r" {0,3}(```+|~~~+)")
_DATED = lazy_pattern(r" \(\d{4}-\d\d-\d\d\)")
"""The date that `dated` writes beside a relative day."""
_BARE_ITEM = lazy_pattern(r"[ \t]*+([-*+]|\d+[.)])?[ \t]*+")


class Category(StrEnum):
    """Category of an entry in long-term memory; each has a section of that name."""

    PROFILE = "profile"
    PREFERENCES = "preferences"
    INTERESTS = "interests"
    WORKFLOW = "workflow"
    PROJECTS = "projects"
    NOTES = "notes"


def save_memory(workspace: Workspace, access: Access, text: str, category: Category) -> NoteReceipt:
    """Add *text* as an entry of its section and return its location; the file and the section are created if missing.

    Raises ValueError for an empty text, NoSuchFileError when *access* may not write there, FileChangedError on a
    concurrent write.
    """
    current = _current(workspace, access)
    whole = current.whole if current is not None else _BEGINNING
    at, added = placed(whole, text, category)
    path = current.path if current is not None else _NAMES[0]
    written = workspace.write(path, whole[:at] + added + whole[at:], access, current)
    first = at + added.index("- ")
    return NoteReceipt(written.path, written.whole.count("\n", 0, first) + 1)


def update_memory(workspace: Workspace, access: Access, old: str, new: str | None) -> NoteReceipt:
    """Replace the only occurrence of *old* by *new*, or delete it, and return its location.

    Raises EditError, with the lines, when *old* occurs never or more than once; else as `save_memory` does.
    """
    current = _current(workspace, access)
    if current is None:
        raise _no_memory_error()
    at, end, put = replaced(current.whole, old, new)
    written = workspace.write(current.path, current.whole[:at] + put + current.whole[end:], access, current)
    return NoteReceipt(written.path, written.whole.count("\n", 0, at) + 1)


def memory_file(workspace: Workspace, access: Access) -> tuple[PurePosixPath, str | None]:
    """Return the path of the long-term memory and its text; `None` if the file does not exist yet."""
    current = _current(workspace, access)
    return (_NAMES[0], None) if current is None else (current.path, current.whole)


def saved(whole: str | None, entry: str, category: Category) -> str:
    """Return the result of `save_memory` on the text *whole*, without writing it; `None` stands for no file."""
    text = _BEGINNING if whole is None else whole
    at, added = placed(text, entry, category)
    return text[:at] + added + text[at:]


def updated(whole: str | None, old: str, new: str | None) -> str:
    """Return the result of `update_memory` on the text *whole*, without writing it."""
    if whole is None:
        raise _no_memory_error()
    at, end, put = replaced(whole, old, new)
    return whole[:at] + put + whole[end:]


def placed(whole: str, entry: str, category: Category) -> tuple[int, str]:
    """Return the position and the text to insert into *whole* so that *entry* is the last item of its section.

    A missing section is added at the end. Raises ValueError for an empty entry.
    """
    end = _line_end(whole)
    item = list_item(entry)
    lines = _LINE.findall(whole)
    headings = _headings(lines)
    found = next((line for line, title in headings.items() if title.casefold() == category), None)
    if found is None:
        at, added = len(whole), f"## {category.title()}\n\n{item}"
        gap = "" if not whole.strip("\ufeff") else "\n" * (2 - _ends_blank(lines))
        return at, (gap + added).replace("\n", end)
    below = next((line for line in headings if line > found), len(lines))
    last = max((line for line in range(found, below) if line == found or lines[line].strip()), default=found)
    added = f"\n{item}" if last == found else item
    if last + 1 < len(lines) and lines[last + 1].strip():
        added += "\n"
    if not lines[last].endswith("\n"):
        added = f"\n{added}"
    return sum(map(len, lines[: last + 1])), added.replace("\n", end)


def replaced(whole: str, old: str, new: str | None) -> tuple[int, int, str]:
    """Return the range of *whole* to replace and its replacement, so that *old* becomes *new*.

    The date beside a relative day at its end goes with it where *new* ends with another: "tomorrow (2026-03-05)".
    Without *new* it is deleted, with its line if that holds nothing else. Raises EditError unless *old* occurs once,
    and ValueError for an empty *new*.
    """
    end = _line_end(whole)
    old = old.strip().replace("\r\n", "\n").replace("\n", end)
    at = only_place(whole, old, "the long-term memory")
    if new is not None:
        put = list_item(new).removeprefix("- ").removesuffix("\n").replace("\n", end)
        outdated = _DATED.match(whole, at + len(old)) if _DATED.fullmatch(put, max(put.rfind(" ("), 0)) else None
        return at, outdated.end() if outdated else at + len(old), put
    start = whole.rfind("\n", 0, at) + 1
    stop = whole.find("\n", at + len(old)) + 1 or len(whole)
    is_alone = _BARE_ITEM.fullmatch(whole[start:at].lstrip("\ufeff")) and not whole[at + len(old) : stop].strip()
    if not is_alone:
        return at, at + len(old), ""
    return start + whole.startswith("\ufeff", start), stop, ""


def _no_memory_error() -> NoSuchFileError:
    return NoSuchFileError("there is no long-term memory yet; save_memory begins it")


def _current(workspace: Workspace, access: Access) -> TextFile | None:
    for name in _NAMES:
        try:
            return workspace.read(name, access)
        except NoSuchFileError:
            continue
    return None


def _headings(lines: list[str]) -> dict[int, str]:
    """Return the headings by line number, from 0; text in a closed code fence does not count."""
    fenced = _code_lines(lines)
    found = {}
    for number, line in enumerate(lines):
        if number in fenced:
            continue
        if heading := _HEADING.fullmatch(line):
            found[number] = heading[1] or ""
        elif number + 1 < len(lines) and line.strip() and _RULE.fullmatch(lines[number + 1]):
            found[number] = ""  # underlined: it ends a section, and is none of ours
    return found


def _code_lines(lines: list[str]) -> set[int]:
    fenced: set[int] = set()
    opened: tuple[int, str] | None = None
    for number, line in enumerate(lines):
        fence = _FENCE.match(line)
        if fence and opened is None:
            opened = number, fence[1]
        elif opened is not None and line.strip().startswith(opened[1]) and not line.strip().strip(opened[1][0]):
            fenced.update(range(opened[0], number + 1))
            opened = None
    return fenced


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text and text.count("\r\n") == text.count("\n") else "\n"


def _ends_blank(lines: list[str]) -> int:
    """Return how many of the two line endings that separate a section from the text above are present."""
    if not lines[-1].endswith("\n"):
        return 0
    return 1 if lines[-1].strip() else 2
