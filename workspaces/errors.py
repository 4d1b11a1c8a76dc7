"""Errors of a workspace.

WorkspaceError
├── NoSuchFileError     absent or withheld from this turn, with the same message
├── BadPathError        not a path inside the workspace
├── FileChangedError    the file is not the version that the caller last read; nothing was written
├── EditError           no match, or more than one; nothing was written
├── TooLargeError       over a size cap or a quota
├── NotTextError        binary or not UTF-8
├── NoSuchRevisionError  absent, ambiguous or withheld, with the same message
└── UnusableError       something does not work; the reason is for the owner only
    ├── WorkspaceUnusableError  the folder itself cannot be used (missing, read-only, disk full)
    │   └── NotDurableError  a file was changed, and the disk did not confirm that the change will last
    ├── HistoryUnusableError  the history cannot be read or written; the files are as they were
    └── MemoryUnavailableError  the index cannot answer now (`workspaces/memory/client.py`)
"""

from collections.abc import Sequence


class WorkspaceError(Exception):
    """A workspace operation was refused or failed; the message is fit for a model or an operator."""


class NoSuchFileError(WorkspaceError):
    """No such file for this turn."""


class FileBusyError(NoSuchFileError):
    """The file is there, but changed at every look; whoever can do without it takes it for missing."""


class BadPathError(WorkspaceError):
    """The path is outside the workspace or malformed."""


class FileChangedError(WorkspaceError):
    """The file changed since it was read; `current` is its present version, `None` if it is gone."""

    def __init__(self, message: str, current: bytes | None = None) -> None:
        super().__init__(message)
        self.current = current


class EditError(WorkspaceError):
    """The text to replace does not occur, or occurs more than once; `shown` holds the lines that the message quotes."""

    def __init__(self, message: str, shown: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.shown = tuple(shown)


class TooLargeError(WorkspaceError):
    """A size cap or a quota would be exceeded."""


class NotTextError(WorkspaceError):
    """The file is not UTF-8 text."""


class NoSuchRevisionError(WorkspaceError):
    """No such revision for this turn."""


class UnusableError(WorkspaceError):
    """Something does not work now. The message is for the owner only: it may name folders of the machine."""

    told_to_others = "this cannot be done now"
    """Message for everybody else, whatever the cause."""


class WorkspaceUnusableError(UnusableError):
    """The workspace cannot be read or written at all."""

    told_to_others = "the files cannot be used now"


class NotDurableError(WorkspaceUnusableError):
    """The change of a file shows, but the disk failed before it confirmed that it will last."""

    told_to_others = "the file was changed, but the change may not last"


class HistoryUnusableError(UnusableError):
    """The history of the workspace cannot be read or written now."""

    told_to_others = "the history cannot be read now"
