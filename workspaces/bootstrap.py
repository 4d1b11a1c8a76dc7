"""This file chooses the workspace files that go into a turn's prompt: which, in which order, cut to which lengths."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from enum import StrEnum
from pathlib import PurePosixPath

from workspaces.access import Access, may_read, may_show, rights
from workspaces.errors import NoSuchFileError, NotTextError, TooLargeError
from workspaces.files import Identity
from workspaces.notes import day_path
from workspaces.truncate import cut, cut_end
from workspaces.workspace import Workspace

_ORDER = ("AGENTS.md", "SOUL.md", "TOOLS.md", "IDENTITY.md", "USER.md", "HEARTBEAT.md", "BOOTSTRAP.md")
_MEMORY_NAMES = ("MEMORY.md", "memory.md")
"""The alias counts where the name is missing, never beside it."""
_ONECLAW_BORDER = "--- Your Memory ---"


class Part(StrEnum):
    """What a bootstrap file is to the limits."""

    FILE = "file"
    MEMORY = "memory"
    TODAY = "today"
    YESTERDAY = "yesterday"


@dataclass(frozen=True, slots=True)
class Limits:
    """Lengths in characters. The defaults of files, total and days are the reference systems'; the shares are ours."""

    file_chars: int = 20_000
    total_chars: int = 24_000
    today_chars: int = 4_000
    yesterday_chars: int = 2_000
    memory_share_chars: int = 8_000
    """What the files before `MEMORY.md` leave to it, if it is that long; the days' notes keep their whole length."""
    file_share_chars: int = 500
    """What every other file is left by those before it: a long `AGENTS.md` does not push out who the agent is."""
    daily_notes: bool = True
    """Today's and yesterday's notes go into the prompt."""
    oneclaw: bool = False
    """The OneClaw look: the end is cut off, and memory stands in one block between markers."""

    def of(self, part: Part) -> int:
        """Return the longest text that *part* may be."""
        match part:
            case Part.TODAY:
                return self.today_chars
            case Part.YESTERDAY:
                return self.yesterday_chars
            case Part.FILE | Part.MEMORY:
                return self.file_chars

    def reserved(self, part: Part) -> int:
        """Return what earlier files must leave to *part*."""
        match part:
            case Part.FILE:
                return self.file_share_chars
            case Part.MEMORY:
                return self.memory_share_chars
            case Part.TODAY | Part.YESTERDAY:
                return self.of(part)


ONECLAW = Limits(file_chars=4_000, today_chars=4_000, yesterday_chars=2_000, oneclaw=True)
"""The preset with OneClaw's numbers."""


@dataclass(frozen=True, slots=True)
class BootstrapFile:
    """A workspace file that goes into the prompt."""

    name: str
    """Its path in the workspace."""
    text: str
    part: Part = Part.FILE
    identity: Identity | None = None
    """Which file on disk the text was read from; `None` when it comes from no file."""
    is_cut: bool = False


def bootstrap_files(workspace: Workspace, access: Access, today: date, limits: Limits) -> list[BootstrapFile]:
    """Return what the prompt of a turn shows, in order, within *limits*; *today* is the owner's day.

    The filter comes last of all that chooses, so that nothing that adds or renames files can widen what is shown, and
    before the cut, so that what is left out takes no room either.
    """
    files = gather(workspace, access, today, limits)
    return choose(workspace, access, files, limits)


def choose(
    workspace: Workspace,
    access: Access,
    files: Sequence[BootstrapFile],
    limits: Limits,
    withheld: Collection[Identity] = (),
) -> list[BootstrapFile]:
    """Return those of *files* that a turn with *access* may show, within *limits*.

    *withheld* are files on disk that were not for it before others touched the folder, whatever they are called now.
    """
    hidden = hidden_files(workspace, access, files) | frozenset(withheld)
    return fit(filter_for(access, files, hidden), limits)


def gather(workspace: Workspace, access: Access, today: date, limits: Limits) -> list[BootstrapFile]:
    """Read what *access* may read of the files that prompts are made of, whole and in order, without empty ones.

    A private turn may read more than its prompt shows: the filter decides.
    """
    files = [read_file(workspace, name, Part.FILE, access) for name in _ORDER]
    files.append(next(filter(None, (read_file(workspace, name, Part.MEMORY, access) for name in _MEMORY_NAMES)), None))
    if limits.daily_notes:
        files.append(read_file(workspace, str(day_path(access, today)), Part.TODAY, access))
        files.append(read_file(workspace, str(day_path(access, today - timedelta(days=1))), Part.YESTERDAY, access))
    return [file for file in files if file is not None and file.text.strip()]


def filter_for(access: Access, files: Sequence[BootstrapFile], hidden: Collection[Identity]) -> list[BootstrapFile]:
    """Return those of *files* that a turn with *access* may show: by name, and by identity, none that is *hidden*."""
    return [
        file
        for file in files
        if may_show(access, PurePosixPath(file.name)) and (file.identity is None or file.identity not in hidden)
    ]


def hidden_files(workspace: Workspace, access: Access, files: Sequence[BootstrapFile]) -> frozenset[Identity]:
    """Return which files on disk are not for *access*, whatever they are called when they are shown.

    A file has one name. Where all *files* are what stands under their own names, none can be another: nothing is
    hidden then, and the workspace is not walked.
    """
    if rights(access).private or all(_is_itself(workspace, access, file) for file in files):
        return frozenset()
    return withheld_files(workspace, access)


def withheld_files(workspace: Workspace, access: Access) -> frozenset[Identity]:
    """Return which files on disk *access* may not read, by walking the workspace."""
    return frozenset(found.identity for found in workspace.folder.walk() if not may_read(access, found.path))


def _is_itself(workspace: Workspace, access: Access, file: BootstrapFile) -> bool:
    return file.identity is None or workspace.identity(file.name, access) == file.identity


def fit(files: Sequence[BootstrapFile], limits: Limits) -> list[BootstrapFile]:
    """Return *files* cut to *limits*, in order: each takes what the reserves of the later ones leave it.

    Where the reserves alone are more than the total, the earlier files are served; one without any room is dropped.
    """
    reserves = [min(len(file.text), limits.of(file.part), limits.reserved(file.part)) for file in files]
    left, later = limits.total_chars, sum(reserves)
    fitted = []
    for file, reserve in zip(files, reserves, strict=True):
        later -= reserve
        file = _cut_file(file, min(limits.of(file.part), max(left - later, min(reserve, left))), limits)
        left -= len(file.text)
        fitted.append(file)
    fitted = [file for file in fitted if file.text]
    return _in_one_block(fitted) if limits.oneclaw else fitted


def _cut_file(file: BootstrapFile, size: int, limits: Limits) -> BootstrapFile:
    if len(file.text) <= size:
        return file
    text = cut_end(file.text, size) if limits.oneclaw else cut(file.text, size, file.name)
    return replace(file, text=text, is_cut=True)


def _in_one_block(files: Sequence[BootstrapFile]) -> list[BootstrapFile]:
    """Put memory and days' notes into one block; without any of them there is no block."""
    memory = [file for file in files if file.part is not Part.FILE]
    others = [file for file in files if file.part is Part.FILE]
    if not memory:
        return others
    sections = "\n\n".join(f"{file.name}\n{file.text.strip()}" for file in memory)
    text = f"{_ONECLAW_BORDER}\n{sections}\n{_ONECLAW_BORDER}"
    return [*others, BootstrapFile("Memory", text, Part.MEMORY, is_cut=any(file.is_cut for file in memory))]


def read_file(workspace: Workspace, name: str, part: Part, access: Access) -> BootstrapFile | None:
    """Read a file for the prompt; one that is there and is no readable text says so in its place.

    A name that is left out says so to those alone who may know of all files.
    """
    try:
        file = workspace.read(name, access)
    except NoSuchFileError:
        obstacle = workspace.obstacle(name, access) if rights(access).private else None
        return BootstrapFile(name, f"[left out: {obstacle.why}]", part) if obstacle is not None else None
    except (NotTextError, TooLargeError) as exc:
        return BootstrapFile(name, f"[not shown: {exc}]", part)
    return BootstrapFile(name, file.whole.removeprefix("\ufeff"), part, file.identity)
