"""A process that dies at every step of a write: `python -m tests.workspaces.crashing FOLDER`.

For k = 1, 2, 3 … a child of it writes `old.md` and dies by SIGKILL right before its k-th system call, until a child
completes. After each, one line on standard output has the files' content as JSON.
"""

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import ParamSpec, TypeVar

from workspaces.file_slot import digest_of
from workspaces.files import Folder

P = ParamSpec("P")
T = TypeVar("T")

STEPS = ("open", "write", "fsync", "fchmod", "replace", "unlink", "close", "mkdir", "ftruncate")
OLD, NEW, LINE = b"old\n" * 100, b"new\n" * 5000, "- a line\n"


def write(folder: Folder) -> None:
    folder.write(PurePosixPath("notes/old.md"), NEW, digest_of(OLD))
    folder.write(PurePosixPath("fresh/new.md"), NEW, expected=None)
    folder.append(PurePosixPath("notes/day.md"), LINE, "# day\n")
    folder.append(PurePosixPath("fresh/day.md"), LINE, "# day\n")


def die_before(step: int, folder: Folder) -> None:
    """Replace the calls of `os` by ones that count, in this process only, and write."""
    count = 0

    def counted(call: Callable[P, T]) -> Callable[P, T]:
        def counting(*args: P.args, **kwargs: P.kwargs) -> T:
            nonlocal count
            count += 1
            if count == step:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*args, **kwargs)

        return counting

    for name in STEPS:
        setattr(os, name, counted(getattr(os, name)))
    write(folder)


def holds(root: Path) -> dict[str, str]:
    return {str(path.relative_to(root)): path.read_text() for path in sorted(root.rglob("*")) if path.is_file()}


def main(home: str) -> None:
    for step in range(1, 1000):
        root = Path(home) / str(step)
        (root / "notes").mkdir(parents=True)
        (root / "notes/old.md").write_bytes(OLD)
        (root / "notes/day.md").write_text("# day\n- first")
        child = os.fork()
        if child == 0:
            die_before(step, Folder(root))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        left = len([name for name in holds(root) if ".strandline-" in name])
        swept = Folder(root).sweep()
        print(json.dumps({"left": left, "swept": swept, "files": holds(root)}), flush=True)
        if status == 0:
            return


if __name__ == "__main__":
    main(sys.argv[1])
