"""Errors of the file system, in terms of a workspace."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath

from workspaces.errors import BadPathError, FileBusyError, FileChangedError, NoSuchFileError, WorkspaceUnusableError
from workspaces.file_slot import ABSENT


def no_such_file(path: PurePosixPath) -> NoSuchFileError:
    """Return the error shared by missing and withheld files."""
    return NoSuchFileError(f"{path}: there is no such file, or this conversation may not read it")


@contextmanager
def translated_errors(path: PurePosixPath, *, writing: bool = False) -> Iterator[None]:
    """Translate system errors into ours."""
    try:
        yield
    except BlockingIOError as exc:
        error = FileChangedError if writing else FileBusyError
        raise error(f"{path} is being changed all the time; try again") from exc
    except OSError as exc:
        if exc.errno not in ABSENT:
            verb = "written" if writing else "reached"
            raise WorkspaceUnusableError(f"{path} cannot be {verb}: {exc.strerror}") from exc
        if writing:
            raise BadPathError(f"{path}: something that is not a folder is in the way") from exc
        raise no_such_file(path) from exc
