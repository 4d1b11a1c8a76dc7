"""A process that commits: `python -m tests.workspaces.history.committing HOME LABEL COUNT`.

It starts when it reads a line from standard input.
"""

import sys
from pathlib import Path

from tests.workspaces.history.home import Home
from workspaces.history import Origin


def main(root: str, label: str, count: str) -> None:
    home = Home(Path(root))
    history = home.open()
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(int(count)):
        path = home.put(f"notes/{label}.md", f"{label} {number}\n")
        assert history.record([path], None, Origin(label, str(number)))


if __name__ == "__main__":
    main(*sys.argv[1:])
