"""Cost of hooks in a turn: without one, with a function, and with a program."""

import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from bench.figures import Figure, at_most
from gateway.hooks import EVENTS, MESSAGE_SENDING, Hook, Hooks
from gateway.hooks.programs import HookProgram

RUNS = 5
TURNS = 10_000
CALLS = 50


async def run() -> list[Figure]:
    """Return the figures of this bench."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "program"
        program.write_text("#!/bin/sh\ncat > /dev/null\n", "utf-8")
        program.chmod(0o700)
        hooked = HookProgram(program, MESSAGE_SENDING.name, MESSAGE_SENDING.deadline_s)
        return [
            Figure(
                "hooks: all events asked for, with no hook", [_unasked() for _ in range(RUNS)], "µs a turn", at_most(20)
            ),
            Figure("hooks: one function", [await _told(_nothing) for _ in range(RUNS)], "ms a call"),
            Figure("hooks: one program", [await _told(hooked) for _ in range(RUNS)], "ms a call"),
        ]


def _nothing(_: object) -> None:
    """Change nothing."""


def _unasked() -> float:
    hooks = Hooks()
    start = time.perf_counter()
    for _ in range(TURNS):
        for event in EVENTS:
            hooks.handles(event)
    return (time.perf_counter() - start) / TURNS * 1e6


async def _told(handler: Callable[..., object]) -> float:
    hooks, sample = Hooks([Hook(MESSAGE_SENDING.name, "bench", handler)]), MESSAGE_SENDING.sample
    if sample is None:
        raise ValueError("the event has no sample")
    return await _timed(lambda: hooks.tell(MESSAGE_SENDING, sample))


async def _timed(call: Callable[[], Awaitable[object]]) -> float:
    start = time.perf_counter()
    for _ in range(CALLS):
        await call()
    return (time.perf_counter() - start) / CALLS * 1e3
