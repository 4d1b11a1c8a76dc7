"""A preloaded process that forks gateways, so that one starts in milliseconds.

`python -m tests.crash.nursery` reads a JSON line for each child, prints the child's process id and, when it has ended,
its exit status: negative for the signal that ended it. The children's logs go to `<home>.log`.
"""

import asyncio
import gc
import importlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from gateway.home import Home
from tests.crash.faults import Fault, Steps
from tests.crash.running import running
from tests.fakes.patience import PATIENCE_S
from tests.zygote import PRELOADED, fork_own_programs

ROOT = Path(__file__).parents[2]
WARDS = 2
"""Processes that fork gateways for one test."""


@dataclass(frozen=True, slots=True)
class Life:
    """What one child lives through."""

    home: str
    fault: Fault = Fault.NONE
    at: int = 0


async def live(life: Life) -> None:
    """Run until SIGTERM comes, or the fault."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    async with running(Home(Path(life.home)), Steps(life.fault, life.at), stop):
        await stop.wait()


def main() -> None:
    """Fork a child for each line of standard input; no child has to import anything."""
    for module in PRELOADED:
        importlib.import_module(module)
    gc.freeze()
    for line in sys.stdin:
        given = json.loads(line)
        life = Life(given["home"], Fault(given["fault"]), given["at"])
        child = os.fork()
        if not child:
            fork_own_programs()
            log = os.open(f"{life.home}.log", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            os.dup2(log, 1)
            os.dup2(log, 2)
            asyncio.run(live(life))
            os._exit(0)
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


class Child:
    """A gateway that was forked."""

    def __init__(self, pid: int, said: asyncio.StreamReader) -> None:
        self._pid = pid
        self._status = asyncio.ensure_future(said.readline())

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal, unless it has ended: its end may not have been heard of yet."""
        if not self._status.done():
            with suppress(ProcessLookupError):
                os.kill(self._pid, number)

    def kill(self) -> None:
        """End it as a power cut would."""
        self.signal(signal.SIGKILL)

    async def ended(self, timeout_s: float = PATIENCE_S) -> int:
        """Return its exit status. Raises TimeoutError."""
        async with asyncio.timeout(timeout_s):
            return int(await asyncio.shield(self._status))


class Nursery:
    """Forks one gateway after the other."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._orders = process.stdin
        self._said = process.stdout

    async def fork(self, life: Life) -> Child:
        """Start a gateway; the one before has ended."""
        self._orders.write(json.dumps(asdict(life)).encode() + b"\n")
        return Child(int(await self._said.readline()), self._said)


@asynccontextmanager
async def nursery() -> AsyncIterator[Nursery]:
    """Give a process that forks gateways."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.crash.nursery", cwd=ROOT, stdin=-1, stdout=-1, start_new_session=True
    )
    try:
        yield Nursery(process)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


if __name__ == "__main__":
    main()
