"""Starts the program: arguments and environment go in, an exit status comes out; nobody else reads them."""

import os
import shutil
import sys


def main() -> None:
    """Run one command and exit with its status."""
    from gateway.cli.main import run

    program = "strandline" if shutil.which("strandline") else sys.argv[0]
    if program.endswith("__main__.py"):
        program = f"{sys.executable} -m gateway"
    sys.exit(run(sys.argv[1:], dict(os.environ), program))


if __name__ == "__main__":
    main()
