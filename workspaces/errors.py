"""This file draws the error tree of a workspace.

WorkspaceError
├── NoSuchFileError     absent or not for this turn: the two are told in the same words
├── BadPathError        not a path inside the workspace
├── FileChangedError    the file is not what the caller last read; nothing was written
├── EditError           no match, or more than one; nothing was written
├── TooLargeError       over a size cap or a quota
├── NotTextError        binary or not UTF-8
├── NoSuchRevisionError  absent, ambiguous or not for this turn: told in the same words
└── UnusableError       something does not work; why, is for the owner
    ├── WorkspaceUnusableError  the folder itself cannot be used (missing, read-only, disk full)
    ├── HistoryUnusableError  the history cannot be read or written; the files are as they were
    └── MemoryUnavailableError  the index cannot answer now (`workspaces/memory/client.py`)
"""


class WorkspaceError(Exception):
    """A workspace operation was refused or failed; the message is fit for a model or an operator."""


class NoSuchFileError(WorkspaceError):
    """There is no such file for this turn."""


class BadPathError(WorkspaceError):
    """The path does not name a place inside the workspace."""


class FileChangedError(WorkspaceError):
    """The file changed since it was read; `current` is what stands there now, `None` if it is gone."""

    def __init__(self, message: str, current: bytes | None = None) -> None:
        super().__init__(message)
        self.current = current


class EditError(WorkspaceError):
    """The text to replace was found never, or more than once."""


class TooLargeError(WorkspaceError):
    """A size cap or a quota would be passed."""


class NotTextError(WorkspaceError):
    """The file is not UTF-8 text."""


class NoSuchRevisionError(WorkspaceError):
    """There is no such revision for this turn."""


class UnusableError(WorkspaceError):
    """Something does not work now. The message is the owner's alone: it may name folders of the machine."""

    told_to_others = "this cannot be done now"
    """What everybody else is told, whatever the trouble is."""


class WorkspaceUnusableError(UnusableError):
    """The workspace cannot be read or written at all."""

    told_to_others = "the files cannot be used now"


class HistoryUnusableError(UnusableError):
    """The history of the workspace cannot be read or written now."""

    told_to_others = "the history cannot be read now"
