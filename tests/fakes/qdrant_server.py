"""Real Qdrant nodes: those that `QDRANT_URL` names, or processes of the program `qdrant`, if that is installed.

`QDRANT_URL` may name the nodes of a cluster, with commas between; `QDRANT_API_KEY` holds their key. `QDRANT_PROGRAM`
names a program that is not on the path. Where there is neither, the tests that need one are skipped, and say so.
"""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

from tests.fakes.fault_proxy import FaultProxy
from tests.fakes.patience import PATIENCE_S
from tests.fakes.redis_server import free_port
from workspaces.memory.index.settings import QdrantServer


def program() -> str | None:
    """Return the server's program, `None` if it is not installed."""
    return shutil.which(os.environ.get("QDRANT_PROGRAM", "qdrant"))


@dataclass(frozen=True, slots=True)
class Real:
    """The settings of a real server, and its key."""

    server: QdrantServer
    key: str = ""


class Node:
    """One node with its own data in *folder*; *options* are settings in the environment's form."""

    def __init__(self, folder: Path, *arguments: str, **options: str) -> None:
        self.port = free_port()
        self.folder = folder
        self.links: list[FaultProxy] = []
        """The ways to the nodes of its cluster, its own first."""
        self.scheme = "https" if "QDRANT__SERVICE__ENABLE_TLS" in options else "http"
        self._options = {
            "QDRANT__SERVICE__HOST": "127.0.0.1",
            "QDRANT__SERVICE__HTTP_PORT": str(self.port),
            "QDRANT__SERVICE__GRPC_PORT": str(free_port()),
            "QDRANT__TELEMETRY_DISABLED": "true",
            "QDRANT__LOG_LEVEL": "WARN",
            "QDRANT__STORAGE__WAL__WAL_CAPACITY_MB": "1",
            **options,
        }
        self._arguments = arguments
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it and return once it answers."""
        environment = {"PATH": os.environ.get("PATH", ""), **self._options}
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [str(program()), *self._arguments], cwd=self.folder, env=environment, stdout=log, stderr=log
            )
        until = time.monotonic() + PATIENCE_S
        while not self.is_ready():
            if self._process.poll() is not None or time.monotonic() > until:
                raise AssertionError((self.folder / "log").read_text("utf-8", "replace"))
            time.sleep(0.05)

    def is_ready(self) -> bool:
        """Tell whether it answers, and is in step with its cluster."""
        try:
            return httpx2.get(f"{self.url}/readyz", timeout=1, verify=False, trust_env=False).status_code == 200
        except httpx2.HTTPError:
            return False

    def signal(self, number: signal.Signals) -> None:
        """Pause or resume it."""
        assert self._process is not None
        self._process.send_signal(number)

    def cut_off(self) -> None:
        """Let nothing pass between it and the others of its cluster; clients still reach it."""
        own, *others = self.links
        own.is_cut = lambda _: True
        for each in others:
            each.is_cut = self._has_connection_from

    def mend(self) -> None:
        """Let everything pass again, late but whole."""
        for each in self.links:
            each.is_cut = lambda _: False

    def _has_connection_from(self, port: int) -> bool:
        """Tell whether the connection from the loopback *port* is one of its own."""
        assert self._process is not None
        lines = (line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:])
        inodes = {f"socket:[{fields[9]}]" for fields in lines if int(fields[1].rpartition(":")[2], 16) == port}
        for each in Path(f"/proc/{self._process.pid}/fd").iterdir():
            with suppress(OSError):
                if str(each.readlink()) in inodes:
                    return True
        return False

    def stop(self) -> int:
        """Ask it to end; return its exit status."""
        self.signal(signal.SIGTERM)
        assert self._process is not None
        return self._process.wait(PATIENCE_S)

    def kill(self) -> None:
        """Kill it, as in a power failure."""
        assert self._process is not None
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGKILL)
        self._process.wait(PATIENCE_S)


@contextmanager
def node(parent: Path | None = None, /, **options: str) -> Iterator[Node]:
    """Run one node, its data below *parent*, while the block runs; the test is skipped without the program."""
    _needs_program()
    with tempfile.TemporaryDirectory(prefix="strandline-qdrant-", dir=parent) as folder:
        started = Node(Path(folder), **options)
        started.start()
        try:
            yield started
        finally:
            started.kill()


@contextmanager
def cluster(size: int = 3) -> Iterator[list[Node]]:
    """Run a cluster while the block runs; the test is skipped without the program."""
    _needs_program()
    nodes: list[Node] = []
    with ExitStack() as stack:
        ports = [free_port() for _ in range(size)]
        links = [stack.enter_context(FaultProxy(port)) for port in ports]
        for port, link in zip(ports, links, strict=True):
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="strandline-qdrant-")))
            joins = ("--bootstrap", f"http://127.0.0.1:{links[0].port}") if nodes else ()
            options = {"QDRANT__CLUSTER__ENABLED": "true", "QDRANT__CLUSTER__P2P__PORT": str(port)}
            nodes.append(Node(folder, "--uri", f"http://127.0.0.1:{link.port}", *joins, **options))
            nodes[-1].links = [link, *(each for each in links if each is not link)]
            nodes[-1].start()
            stack.callback(nodes[-1].kill)
        yield nodes


def clustered(nodes: list[Node]) -> QdrantServer:
    """Return the settings of a gateway on *nodes*: two copies of each point, both confirmed if both are there."""
    first, *rest = (each.url for each in nodes)
    return QdrantServer(first, 10, other_urls=tuple(rest), replication_factor=2, write_consistency_factor=1)


@contextmanager
def real_server() -> Iterator[Real]:
    """Find or run a server while the block runs; the test is skipped if there is none."""
    url, *rest = os.environ.get("QDRANT_URL", "").split(",")
    if url:
        replicas = 2 if rest else None
        server = QdrantServer(url, 5, other_urls=tuple(rest), replication_factor=replicas)
        yield Real(server, os.environ.get("QDRANT_API_KEY", ""))
        return
    with node() as started:
        yield Real(QdrantServer(started.url, 5))


@pytest.fixture(scope="module")
def real() -> Iterator[Real]:
    with real_server() as found:
        yield found


def _needs_program() -> None:
    if program() is None:
        pytest.skip("no Qdrant server: QDRANT_URL is not set, and the program qdrant is not installed")
