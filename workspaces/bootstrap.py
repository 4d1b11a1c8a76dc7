"""Selection of the workspace files for a turn's prompt, their order and their limits."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from itertools import groupby
from pathlib import PurePosixPath

from msgspec import Struct

from workspaces.access import Access, may_read, may_show, rights
from workspaces.errors import NoSuchFileError, NotTextError, TooLargeError
from workspaces.file_slot import Identity
from workspaces.notes import day_path
from workspaces.prompt_limits import BootstrapRole, Limits
from workspaces.starting_files import is_blank
from workspaces.truncate import truncate, truncate_end
from workspaces.workspace import Workspace

_ORDER = ("AGENTS.md", "SOUL.md", "TOOLS.md", "IDENTITY.md", "USER.md", "HEARTBEAT.md", "BOOTSTRAP.md")
_MEMORY_NAMES = ("MEMORY.md", "memory.md")
"""The alias is used where the first name is missing, never in addition to it."""
OTHERS_HIDDEN = "[other people's words, not shown here"
"""Begins the notice in place of such lines."""
_ONECLAW_BORDER = "--- Your Memory ---"


@dataclass(frozen=True, slots=True)
class BootstrapFile:
    """A workspace file for the prompt."""

    name: str
    """Path in the workspace."""
    text: str
    part: BootstrapRole = BootstrapRole.FILE
    identity: Identity | None = None
    """The file on disk that the text was read from; `None` without one."""
    is_cut: bool = False
    is_house: bool = False
    """It holds text that stays on the owner's machines."""
    is_blank: bool = False
    """A form without an entry: a prompt names it and holds no text of it."""


class ShownExtent(Struct, frozen=True):
    """How much of a lasting file a prompt shows; lengths in characters."""

    name: str
    length: int
    shown: int

    @property
    def missing(self) -> int:
        """Number of characters left out; 0 if the file is shown whole."""
        return self.length - self.shown


OthersLines = Callable[[str], Sequence[int]]
"""Returns the lines of a text, from 1, that hold others' words."""


def no_lines(_: str) -> Sequence[int]:
    return ()


def bootstrap_files(
    workspace: Workspace, access: Access, today: date, limits: Limits, others_lines: OthersLines = no_lines
) -> list[BootstrapFile]:
    """Return the prompt's files for a turn, in order, within *limits*; *today* is the owner's day.

    The access filter is the last step of the selection, so that adding or renaming files cannot widen it, and precedes
    the cut, so that removed files take no room.
    """
    files = gather(workspace, access, today, limits)
    return choose(workspace, access, files, limits, others_lines=others_lines)


def choose(
    workspace: Workspace,
    access: Access,
    files: Sequence[BootstrapFile],
    limits: Limits,
    withheld: Collection[Identity] = (),
    others_lines: OthersLines = no_lines,
) -> list[BootstrapFile]:
    """Return those of *files* that the prompt of a turn with *access* may contain, within *limits*.

    A turn over private memory is shown no line with others' words unasked: it would act less freely all day. It is
    told which lines these are, and may read them.

    *withheld* are files on disk that were off limits before others changed the folder, whatever their present names.
    """
    hidden = hidden_files(workspace, access, files) | frozenset(withheld)
    shown = [_named_if_blank(each) for each in filter_for(access, files, hidden)]
    return fit([_without_others(each, others_lines) for each in shown] if rights(access).private else shown, limits)


def _named_if_blank(file: BootstrapFile) -> BootstrapFile:
    return replace(file, text="", is_blank=True) if file.text and is_blank(file.name, file.text) else file


def _without_others(file: BootstrapFile, others_lines: OthersLines) -> BootstrapFile:
    """Return *file* with a notice in place of each run of lines with others' words."""
    if not (others := {*others_lines(file.text)}):
        return file
    runs = groupby(enumerate(file.text.splitlines(), 1), key=lambda each: each[0] in others)
    lines: list[str] = []
    for is_others, run in runs:
        numbers, texts = zip(*run, strict=True)
        place = f"{file.name}#L{numbers[0]}-L{numbers[-1]}"
        lines += [f"{OTHERS_HIDDEN}; memory_get has them: {place}]"] if is_others else texts
    return replace(file, text="\n".join(lines) + "\n" * file.text.endswith("\n"))


def extents(workspace: Workspace, access: Access, today: date, limits: Limits) -> list[ShownExtent]:
    """Return how much of each lasting file a prompt shows; the days' notes, which change every day, are not among them.

    Raises WorkspaceError.
    """
    files = gather(workspace, access, today, limits)
    files = filter_for(access, files, hidden_files(workspace, access, files))
    shown = {file.name: file for file in _fit(files, limits)}
    return [
        ShownExtent(file.name, len(file.text), _shown_length(file, shown.get(file.name)))
        for file in files
        if file.part in (BootstrapRole.FILE, BootstrapRole.MEMORY)
    ]


def _shown_length(whole: BootstrapFile, fitted: BootstrapFile | None) -> int:
    if fitted is None:
        return 0
    return len(fitted.text) if fitted.is_cut else len(whole.text)


def gather(workspace: Workspace, access: Access, today: date, limits: Limits) -> list[BootstrapFile]:
    """Read all prompt files that *access* may read, whole and in order, without empty ones.

    A private turn may read more than its prompt contains: the filter decides.
    """
    files = [read_file(workspace, name, BootstrapRole.FILE, access) for name in _ORDER]
    files.append(
        next(filter(None, (read_file(workspace, name, BootstrapRole.MEMORY, access) for name in _MEMORY_NAMES)), None)
    )
    if limits.daily_notes_in_prompt:
        files.append(read_file(workspace, str(day_path(access, today)), BootstrapRole.TODAY, access))
        files.append(
            read_file(workspace, str(day_path(access, today - timedelta(days=1))), BootstrapRole.YESTERDAY, access)
        )
    return [file for file in files if file is not None and file.text.strip()]


def filter_for(access: Access, files: Sequence[BootstrapFile], hidden: Collection[Identity]) -> list[BootstrapFile]:
    """Return those of *files* that the prompt may contain: permitted by name, and not *hidden* by identity."""
    return [
        file
        for file in files
        if may_show(access, PurePosixPath(file.name)) and (file.identity is None or file.identity not in hidden)
    ]


def hidden_files(workspace: Workspace, access: Access, files: Sequence[BootstrapFile]) -> frozenset[Identity]:
    """Return the files on disk withheld from *access*, whatever their names in the prompt.

    A file has one name. If each of *files* was read under its own name, none can be another: nothing is hidden then,
    and the workspace is not walked.
    """
    if rights(access).private or all(_is_itself(workspace, access, file) for file in files):
        return frozenset()
    return withheld_files(workspace, access)


def withheld_files(workspace: Workspace, access: Access) -> frozenset[Identity]:
    """Return the files on disk that *access* may not read, by walking the workspace."""
    return frozenset(found.identity for found in workspace.folder.walk() if not may_read(access, found.path))


def _is_itself(workspace: Workspace, access: Access, file: BootstrapFile) -> bool:
    return file.identity is None or workspace.identity(file.name, access) == file.identity


def fit(files: Sequence[BootstrapFile], limits: Limits) -> list[BootstrapFile]:
    """Return *files* cut to *limits*, in order: each takes the room left after the later ones' reserves.

    If the reserves exceed the total, earlier files are served first; a file without any room is dropped. Blank forms
    need none.
    """
    fitted = _fit(files, limits)
    return _in_one_block(fitted) if limits.is_oneclaw else fitted


def _fit(files: Sequence[BootstrapFile], limits: Limits) -> list[BootstrapFile]:
    reserves = [min(len(file.text), limits.of(file.part), limits.reserved(file.part)) for file in files]
    left, later = limits.total_chars, sum(reserves)
    fitted = []
    for file, reserve in zip(files, reserves, strict=True):
        later -= reserve
        file = _cut_file(file, min(limits.of(file.part), max(left - later, min(reserve, left))), limits)
        left -= len(file.text)
        fitted.append(file)
    return [file for file in fitted if file.text or file.is_blank]


def _cut_file(file: BootstrapFile, size: int, limits: Limits) -> BootstrapFile:
    if len(file.text) <= size:
        return file
    text = truncate_end(file.text, size) if limits.is_oneclaw else truncate(file.text, size, file.name)
    return replace(file, text=text, is_cut=True)


def _in_one_block(files: Sequence[BootstrapFile]) -> list[BootstrapFile]:
    """Put memory and daily notes into one block; without any of them there is no block."""
    memory = [file for file in files if file.part is not BootstrapRole.FILE and not file.is_blank]
    others = [file for file in files if file not in memory]
    if not memory:
        return others
    sections = "\n\n".join(f"{file.name}\n{file.text.strip()}" for file in memory)
    text = f"{_ONECLAW_BORDER}\n{sections}\n{_ONECLAW_BORDER}"
    is_cut, is_house = any(file.is_cut for file in memory), any(file.is_house for file in memory)
    return [*others, BootstrapFile("Memory", text, BootstrapRole.MEMORY, is_cut=is_cut, is_house=is_house)]


def read_file(workspace: Workspace, name: str, part: BootstrapRole, access: Access) -> BootstrapFile | None:
    """Read a file for the prompt; an unreadable one is replaced by a line that reports it.

    A name that leads to no readable file is reported only to turns that may know of all files.
    """
    try:
        file = workspace.read(name, access)
    except NoSuchFileError:
        obstacle = workspace.obstacle(name, access) if rights(access).private else None
        return BootstrapFile(name, f"[left out: {obstacle.why}]", part) if obstacle is not None else None
    except (NotTextError, TooLargeError) as exc:
        is_house = workspace.house.hold(PurePosixPath(name))
        return BootstrapFile(name, f"[not shown: {exc}]", part, is_house=is_house)
    return BootstrapFile(name, file.whole.removeprefix("\ufeff"), part, file.identity, is_house=file.is_house)
