"""A process that writes notes: `python -m tests.workspaces.appending FOLDER LABEL COUNT`.

It starts when it reads a line from standard input, or when that is closed.
"""

import sys
from datetime import UTC, datetime
from pathlib import Path

from tests.workspaces.turns import AGENT, MAIN
from workspaces.files import Folder
from workspaces.notes import append_note
from workspaces.workspace import Workspace


def main(folder: str, label: str, count: str) -> None:
    workspace = Workspace(Folder(Path(folder)), AGENT)
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(int(count)):
        append_note(workspace, MAIN, f"{label} {number}", datetime(2026, 3, 1, 9, 30, tzinfo=UTC))


if __name__ == "__main__":
    main(*sys.argv[1:])
