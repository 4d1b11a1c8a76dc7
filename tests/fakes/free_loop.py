"""A watch for code of ours that blocks its event loop: files, sockets, sleeps, waits for locks."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE
from pathlib import Path
from types import FrameType
from typing import Literal

from blockbuster import BlockBuster, BlockBusterFunction

ROOT = Path(__file__).parent.parent.parent
OURS = tuple(f"{ROOT / name}/" for name in ("adapters", "gateway", "workspaces"))
TESTS = tuple(f"{ROOT / name}/" for name in ("bench", "strandline/testing", "tests"))
RUNNERS = tuple(f"{ROOT}/tests/{name}.py" for name in ("collected", "worker", "zygote"))
"""They stand below every test of a process that was forked."""
COMMANDS = f"{ROOT}/gateway/cli/"
LIBRARIES = {each.full_name: each.can_block_functions for each in BlockBuster().functions.values()}
_ASYNC = CO_COROUTINE | CO_ASYNC_GENERATOR

DELIBERATE = {
    ("gateway/app/app.py", "open"): "a gateway that starts or ends serves nobody yet, or no more",
    ("gateway/app/resources.py", "open_resources"): "the same",
    ("gateway/app/agents.py", "open_agents"): "the same",
    ("gateway/cli/up.py", "serve"): "the same",
    ("gateway/cluster/membership.py", "_join"): "the same",
    ("gateway/cluster/membership.py", "_took"): "the same, and again for an agent that has become free",
    ("gateway/cluster/own_state.py", "open_own_state"): "the same",
    ("gateway/app/trial.py", "opened_copy"): "a command tries a copy: nothing else runs on its loop",
    ("gateway/app/replay.py", "replay"): "the same",
    ("gateway/app/drill.py", "drill"): "the same",
    ("gateway/app/replay.py", "_planned"): "the same",
    ("gateway/settings/zone.py", "load_zone"): "a time zone is a small file, read once",
    ("gateway/control/remote.py", "reach_gateway"): "called by commands: nothing else runs on their loop",
    ("gateway/plugins.py", "_registered"): "read once, with the configuration; a test may be without one",
    ("gateway/stores/redis/link.py", "script"): "a script is read once",
    ("<frozen importlib._bootstrap>", "_find_and_load"): "the first use of a library imports it, long ones on a thread",
    ("logging/__init__.py", "emit"): "a line of the log",
    ("workspaces/memory/index/endpoint.py", "_open"): "a client is built once, and reads the certificates",
    ("tests/zygote.py", "execute"): "stands in for the start of a process",
    ("redis/utils.py", "get_lib_version"): "the library reads its own version for each connection",
    ("structlog/_native.py", "exception"): "a traceback shows lines of source code; defects are rare",
}
"""Functions within which blocking is allowed, by the end of the file's path and their name, with the reason."""


@contextmanager
def free_loop() -> Iterator[None]:
    """Raise AssertionError at the end, with the places, if coroutines or callbacks of ours blocked their loop.

    A test may block its own loop, and so may a command that is not the gateway: nothing else runs there.
    """
    found: dict[str, None] = {}
    guard = BlockBuster()
    for function in guard.functions.values():
        function.can_block_predicate = partial(_may_block, function, function.can_block_predicate, found)
    guard.activate()
    try:
        yield
    finally:
        guard.deactivate()
    assert not found, f"the event loop was blocked: {'; '.join(found)}"


def _may_block(
    function: BlockBusterFunction,
    before: Callable[..., bool],
    found: dict[str, None],
    *args: object,
    **kwargs: object,
) -> bool:
    """Note a call that blocks; it may do so, as an error would be caught in some places and change what is tested."""
    if not before(*args, **kwargs) and (place := _offence(sys._getframe(2), function)):
        found[f"{function.full_name} in {place}"] = None
    return True


def _offence(frame: FrameType | None, function: BlockBusterFunction) -> str:
    """Return the calls of ours from the blocking one outwards; empty if a test or a deliberate function is to blame."""
    calls: list[str] = []
    blamed = is_coroutine = False
    while frame is not None:
        code = frame.f_code
        if _may(code.co_filename, code.co_name, function.full_name):
            return ""
        if not is_coroutine and (whose := _whose(code.co_filename)):
            calls.append(f"{code.co_filename.removeprefix(f'{ROOT}/')}:{frame.f_lineno} {code.co_name}")
            blamed, is_coroutine = whose == "ours", bool(code.co_flags & _ASYNC)
        frame = frame.f_back
    return " < ".join(calls) if blamed else ""


@cache  # each of these is asked millions of times about some thousand functions
def _whose(file: str) -> Literal["ours", "tests", ""]:
    return "ours" if file.startswith(OURS) else "tests" if file.startswith(TESTS) and file not in RUNNERS else ""


@cache
def _may(file: str, name: str, blocking: str) -> bool:
    """Tell whether *blocking* may be called within the function *name*: by our list, or by blockbuster's own."""
    is_command = file.startswith(COMMANDS) and not file.endswith("/up.py")
    is_deliberate = any(file.endswith(end) and name == each for end, each in DELIBERATE)
    return (
        is_command or is_deliberate or any(file.endswith(end) and name in names for end, names in LIBRARIES[blocking])
    )
