"""`make bench-check`: costs that do not depend on the machine, compared with those accepted last.

A message in the owner's own chat is counted in a gateway in this process: flushes to disk, hand-overs between threads,
files opened, our own functions entered. A rise beyond its tolerance fails; `--accept` writes the counts
to `bench/counts.json`.
"""

import argparse
import asyncio
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any
from unittest.mock import patch

from bench.lived import Around, small_home
from bench.messages import SAYINGS, by_telegram
from gateway.home import Home
from tests.fakes.botapi import BotApi
from tests.fakes.openai_stub import OpenAIStub
from tests.fakes.provider_stub import instant
from tests.journeys.house import ENVIRON, OWNER, running
from tests.journeys.processes import ROOT, Gateway

ACCEPTED = Path(__file__).with_name("counts.json")
WARM, COUNTED = 8, 16
"""Messages before, and those counted, whose median is taken: a commit of the history may fall into one of them."""


@dataclass(frozen=True, slots=True)
class Kind:
    """How far a count may rise above the accepted one."""

    share: float
    least: float = 0.0

    def is_risen(self, value: float, accepted: float) -> bool:
        """Tell whether *value* is more than is tolerated."""
        return value > accepted + max(self.share * accepted, self.least)


KINDS: Mapping[str, Kind] = {
    "modules": Kind(0.05, 3),
    "request": Kind(0.03),
    "tools": Kind(0),
    "flushes": Kind(0, 0.5),
    "hand-overs": Kind(0.05, 6),  # fewer where what comes together shares one, which a busy machine decides
    "opened": Kind(0.05, 1),
    "functions": Kind(0.08),
}
"""By the first word of a count's name. Modules differ by a few between versions of Python, whose own are left out."""


def risen(counts: Mapping[str, float], accepted: Mapping[str, float]) -> list[str]:
    """Return a line for each of *counts* that rose, or that was never accepted."""
    lines = []
    for name, value in counts.items():
        before = accepted.get(name)
        if before is None:
            lines.append(f"{name}: {value:g}, never accepted")
        elif KINDS[name.split()[0].rstrip(",")].is_risen(value, before):
            lines.append(f"{name}: {value:g}, accepted {before:g}")
    return lines


async def count(folder: Path) -> dict[str, float]:
    """Return every count."""
    async with BotApi() as bot, OpenAIStub(instant) as model:
        made = await asyncio.to_thread(small_home, folder / "home", Around(bot.url, model.url))
        counts = await _modules(made.home, bot)
        model.bodies.clear()
        counts |= await _message(made.home, bot)
        first = model.bodies[0]
    size = len(json.dumps(first, separators=(",", ":"), ensure_ascii=False).encode())
    return counts | {"request, first of the owner's chat, bytes": size, "tools in it": len(first["tools"])}


# --- modules


_PROGRAM = ("-X", "importtime", "-m", "gateway")


async def _modules(home: Home, bot: BotApi) -> dict[str, float]:
    """Count the modules that commands and a gateway import, Python's own left out."""
    counts: dict[str, float] = {"modules, --help": imported(await asyncio.to_thread(_output, "--help", home=home))}
    gateway, polls = Gateway(home, home.path.with_suffix(".imports"), _PROGRAM), len(bot.calls("getUpdates"))
    await asyncio.to_thread(gateway.start)
    try:
        await bot.wait_for_polls(polls + 1)
        counts["modules, status"] = imported(await asyncio.to_thread(_output, "status", home=home))
        await by_telegram(bot, OWNER, SAYINGS[0])
    finally:
        await asyncio.to_thread(gateway.stop)
    return counts | {"modules, up and a message": imported(gateway.log.read_text("utf-8"))}


def _output(*words: str, home: Home) -> str:
    command = [sys.executable, *_PROGRAM, *words, "--home", str(home.path)]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | ENVIRON, check=True, capture_output=True, text=True)
    return done.stderr


def imported(log: str) -> int:
    """Return the number of modules in the output of `-X importtime` that are not Python's own."""
    lines = (line.split("|") for line in log.splitlines() if line.startswith("import time:"))
    names = {columns[2].strip() for columns in lines if len(columns) == 3} - {"imported package"}
    return sum(name.partition(".")[0] not in sys.stdlib_module_names for name in names)


# --- a message


class Probe:
    """Counts what this process does while it is looked at."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Count while the block runs; before a gateway opens, so that its threads are followed."""
        loop, own = type(asyncio.get_running_loop()), threading.get_ident()
        with ExitStack() as stack:
            for owner, method, name in (
                (os, "fsync", "flushes"),
                (os, "fdatasync", "flushes"),
                (ThreadPoolExecutor, "submit", "hand-overs"),
            ):
                stack.enter_context(patch.object(owner, method, self._counted(name, getattr(owner, method))))
            stack.enter_context(patch.object(loop, "call_soon_threadsafe", self._handed_back(loop, own)))
            stack.enter_context(patch.object(sqlite3, "connect", self._connected))
            threading.setprofile(self._entered)
            sys.setprofile(self._entered)
            stack.callback(threading.setprofile, None)
            stack.callback(sys.setprofile, None)
            yield

    def _counted(self, name: str, function: Any) -> Any:
        def count(*given: Any, **named: Any) -> Any:
            self.counts[name] += 1
            return function(*given, **named)

        return count

    def _handed_back(self, loop: type[asyncio.AbstractEventLoop], own: int) -> Any:
        """Return `call_soon_threadsafe` of *loop*, counted for results of threads.

        The loop's thread *own* calls it too, for one that was there at once; otherwise it wakes itself, as the fake of
        Telegram does for each call.
        """
        call_soon: Any = loop.call_soon_threadsafe

        def count(*given: Any, **named: Any) -> Any:
            caller = sys._getframe(1).f_globals.get("__name__")
            self.counts["hand-overs"] += threading.get_ident() != own or caller == "asyncio.futures"
            return call_soon(*given, **named)

        return count

    def heard(self, event: str, _: tuple[object, ...]) -> None:
        """Count opened files, as an audit hook."""
        self.counts["opened"] += event == "open"

    def _connected(self, *given: Any, **named: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = _connect(*given, **named)
        connection.set_trace_callback(self._statement)
        return connection

    def _statement(self, sql: str) -> None:
        self.counts["flushes"] += sql.startswith("COMMIT")

    def _entered(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(_OURS) and not code.co_name.startswith("<"):
            self.counts["functions"] += 1


_connect = sqlite3.connect
_OURS = tuple(f"{ROOT}/{folder}/" for folder in ("adapters", "gateway", "workspaces"))


async def _message(home: Home, bot: BotApi) -> dict[str, float]:
    """Count a message in the owner's own chat."""
    probe = Probe()
    sys.addaudithook(probe.heard)  # for good: an audit hook cannot be removed
    with probe.installed():
        async with running(home):
            await bot.wait_for_polls(1)
            seen = [await counted(probe, bot, SAYINGS[number % len(SAYINGS)]) for number in range(WARM + COUNTED)]
    names = ("flushes", "hand-overs", "opened", "functions")
    return {f"{name}, a message": statistics.median(each[name] for each in seen[WARM:]) for name in names}


async def counted(probe: Probe, bot: BotApi, text: str) -> Counter[str]:
    """Write *text* as the owner; return what was counted until its answer was sent and everything rested again."""
    before = probe.counts.copy()
    await by_telegram(bot, OWNER, text)
    await until_quiet(probe)
    after = probe.counts.copy()
    after.subtract(before)
    return after


async def until_quiet(probe: Probe) -> None:
    """Wait until nothing was done for a moment: the receipt of an answer is written after the platform has it."""
    before = -1
    while before != (now := probe.counts["functions"]):
        before = now
        await asyncio.sleep(0.1)


def main() -> None:
    """Print the counts; exit with 1 if one rose beyond its tolerance."""
    parser = argparse.ArgumentParser(prog="bench.counts")
    parser.add_argument("--accept", action="store_true", help=f"write them to bench/{ACCEPTED.name}")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        counts = asyncio.run(count(Path(name)))
    accepted = json.loads(ACCEPTED.read_text("utf-8")) if ACCEPTED.exists() else {}
    for each, value in counts.items():
        print(f"{each:44} {value:8g}   accepted {accepted.get(each, 'never')}")
    if given.accept:
        ACCEPTED.write_text(json.dumps(counts, indent=1) + "\n", "utf-8")
    elif faults := risen(counts, accepted):
        print(
            "\nRisen beyond their tolerance; `python -m bench.counts --accept` accepts what is meant:",
            *faults,
            sep="\n",
        )
        sys.exit(1)


if __name__ == "__main__":
    main()
