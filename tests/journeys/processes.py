"""The gateway and its loopback servers as separate processes, which outlive each other."""

import http.client
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gateway.home import Home
from tests.fakes.patience import PATIENCE_S
from tests.journeys.house import ENVIRON

ROOT = Path(__file__).parents[2]
START_TIMEOUT_S = 120.0
GATEWAY = ("-m", "gateway")
"""What Python is told to run."""


@contextmanager
def server(module: str, folder: Path, *arguments: str) -> Iterator[str]:
    """Run a fake server of `tests.fakes` while the block runs; yields its address."""
    port_file = folder / f"{module}.port"
    command = [sys.executable, "-m", f"tests.fakes.{module}", "--port", "0", "--port-file", str(port_file), *arguments]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline(), f"{module} did not start"
        yield f"http://127.0.0.1:{port_file.read_text().strip()}"
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE_S)


class Gateway:
    """`strandline up` on one home; it may be killed and started again."""

    def __init__(self, home: Home, log: Path, program: Sequence[str] = GATEWAY) -> None:
        """*program* is what Python is told to run."""
        self.home = home
        self.log = log
        self._program = program
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and return once it is ready."""
        self.launch()
        self.until(lambda probe: bool(probe["ready"]))

    def launch(self) -> None:
        """Start it, and wait for nothing."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, *self._program, "up", "--home", str(self.home.path)],
                cwd=ROOT,
                env={**os.environ, **ENVIRON},
                stdout=log,
                stderr=log,
            )

    def until(self, is_so: Callable[[Any], bool]) -> None:
        """Wait until what it says of its readiness is as wanted."""
        assert self.process is not None
        deadline = time.monotonic() + START_TIMEOUT_S
        while (probe := self._probe()) is None or not is_so(probe):
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.01)

    def kill(self) -> None:
        """End it as a power cut would."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(PATIENCE_S)

    def stop(self) -> int:
        """Ask it to end; return its exit status."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_S)

    def status(self) -> Any:
        """Return its state, as a command asks for it. Raises OSError while it has no control door."""
        return self.get("/control/status", b"{}")

    def get(self, path: str, body: bytes | None = None) -> Any:
        """Ask its control door. Raises OSError while there is none, as in a gateway that starts over."""
        if (control := self.home.control()) is None:
            raise ConnectionRefusedError("the gateway has no door now")
        headers = {"Authorization": f"Bearer {control.token}"}
        request = urllib.request.Request(control.address + path, data=body, headers=headers)
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            return json.load(answer)

    def _probe(self) -> Any:
        """Return what `/readyz` says, `None` while nobody says anything."""
        control = self.home.control()
        if control is None or self.process is None or control.pid != self.process.pid:
            return None
        try:
            return self.get("/readyz")
        except urllib.error.HTTPError as refusal:
            return json.load(refusal)
        except (OSError, http.client.HTTPException):
            return None


def post(url: str, body: dict[str, Any]) -> Any:
    """Send JSON to a fake server's control endpoint."""
    data = json.dumps(body).encode()
    request = urllib.request.Request(url, data=data, headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
        return json.load(answer)


def state(bot: str, timeout_s: float = PATIENCE_S, **wanted: int) -> Any:
    """Wait until the Bot API server counts so many, and return what it knows."""
    query = "&".join([*(f"{name}={number}" for name, number in wanted.items()), f"timeout_s={timeout_s:g}"])
    with urllib.request.urlopen(f"{bot}/control/state?{query}", timeout=timeout_s + 10) as answer:
        return json.load(answer)
