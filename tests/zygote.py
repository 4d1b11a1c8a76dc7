"""Forks programs for the tests from a process that has imported them, so that one starts in milliseconds.

A child is like one that was started: arguments, environment, folder, streams, signals and session are those asked for,
and the test is its parent. Whatever cannot be forked faithfully is started: other programs than ours, another setting
of the interpreter, descriptors to keep, functions to call before. Only Linux lets a process adopt the orphans of
another, so elsewhere everything is started.
"""

import atexit
import ctypes
import gc
import importlib
import io
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from inspect import signature
from pathlib import Path
from types import ModuleType
from typing import Any

import certifi

ROOT = Path(__file__).parents[1]
PROGRAMS = ("gateway", "workspaces.memory.index.worker", "tests.crash.nursery", "tests.fakes.", "tests.workspaces.")
"""The modules that may be forked, or how their names begin."""
MODEL = "workspaces.memory.index.embeddings.local"
PRELOADED = (
    "adapters.discord",
    "adapters.telegram",
    "anyio._backends._asyncio",
    "gateway.agent.models.openai",
    "gateway.app.app",
    "gateway.app.ownership",
    "gateway.channels.discord",
    "gateway.channels.telegram",
    "gateway.cli.main",
    "gateway.cli.up",
    "gateway.control.exposition",
    "gateway.control.front",
    "gateway.control.server",
    "gateway.observability.logs",
    "gateway.runtime.http_server",
    "httpcore2",
    "mcp.server.mcpserver",
    "mcp.server.stdio",
    "tests.fakes.botapi",
    "tests.fakes.openai_stub",
    "tokenizers",
    "truststore",
    "uvicorn.lifespan.off",
    "uvicorn.protocols.http.h11_impl",
    "workspaces.history.repository",
    "workspaces.memory.index.edge",
    MODEL,
    "workspaces.memory.index.request_handler",
    "workspaces.memory.value_history",
    *(f"gateway.commands.{file.stem}" for file in sorted((ROOT / "gateway/commands").glob("[a-z]*.py"))),
)
"""Whatever a program imports after it was forked, it imports each time: a gateway took 0.2 s for that."""
FORKED = "# forked\n"
"""Begins the text of a program that is given to `-c` and may be forked: it asks nothing of a fresh interpreter."""
AT_START = ("PYTHON", "LC_", "LANG", "MALLOC_", "COVERAGE_", "LD_")
"""How the names of variables begin that a process reads when it starts: a forked one has done so already."""
TAKEN_UP = {"PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"}
LONGEST = 100_000
"""Bytes of an order; a socket takes twice as many at once."""
UNUSUAL = {"preexec_fn": None, "pass_fds": (), "close_fds": True, "shell": False, "umask": -1}
UNUSUAL |= {"uid": None, "gid": None, "gids": None, "process_group": -1, "executable": None}
_PR_SET_CHILD_SUBREAPER = 36

START = subprocess.Popen._execute_child  # type: ignore[attr-defined]
PARAMETERS = signature(START)
_PIPES = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")

Order = dict[str, Any]


class Zygote:
    """The process that forks, and the way to it."""

    def __init__(self, ours: socket.socket, environ: Mapping[str, str], end: Callable[[], object]) -> None:
        """It was started with *environ*, takes orders by the other end of *ours*, and is ended by *end*."""
        self._ours, self._environ, self._end = ours, environ, end
        self._lock = threading.Lock()
        self.is_ready = False
        """Whether it can fork, as far as is known."""

    @classmethod
    def started(cls, program: str = __name__, words: Sequence[str] | None = None) -> "Zygote":
        """Start one: *program* imports what *words* name, and calls `main`."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        environ = {name: value for name, value in os.environ.items() if name not in TAKEN_UP}
        environ["OPENBLAS_NUM_THREADS"] = "1"
        words = PRELOADED if words is None else words
        command = [sys.executable, "-m", program, str(theirs.fileno()), *words]
        with theirs:
            process = subprocess.Popen(command, cwd=ROOT, env=environ, pass_fds=[theirs.fileno()])

        def end() -> None:
            process.kill()
            process.wait()

        return cls(ours, environ, end)

    def wait(self) -> bool:
        """Wait until it can fork; return whether it can."""
        with suppress(OSError):
            self.is_ready = self._ours.recv(16) == b"ready"
        return self.is_ready

    def start(self, popen: Any, call: Mapping[str, Any], order: Order) -> bool:
        """Start what *popen* was called for; return `False` while nobody can fork it."""
        pipes = (call["p2cread"], call["c2pwrite"], call["errwrite"])
        pid = self.fork(order, [number if asked < 0 else asked for number, asked in enumerate(pipes)])
        if pid is not None:
            popen.pid, popen._child_created = pid, True
            popen._close_pipe_fds(*(call[name] for name in _PIPES))
        return pid is not None

    def fork(self, order: Order, streams: Sequence[int]) -> int | None:
        """Return the id of this process's new child, `None` while nobody can fork it."""
        request = json.dumps(order).encode()
        if len(request) > LONGEST or not self.fits(order["environ"]):
            return None
        with self._lock, suppress(OSError, ValueError):  # it has ended, or is not ready
            if not self.is_ready:
                self.is_ready = self._ours.recv(16, socket.MSG_DONTWAIT) == b"ready"
            if self.is_ready:
                with _adopting():
                    socket.send_fds(self._ours, [request], list(streams))
                    pid = int(self._ours.recv(16))
                    self._ours.recv(16)  # the child's first parent has ended
                return pid
        return None

    def fits(self, environ: Mapping[str, str]) -> bool:
        """Tell whether an interpreter started with *environ* would be like the one that is forked."""
        names = {name for name in (*environ, *self._environ) if name.startswith(AT_START)} - TAKEN_UP
        return all(environ.get(name, self._environ.get(name)) == self._environ.get(name) for name in names)

    def close(self) -> None:
        """End it; its children live on."""
        self._ours.close()
        self._end()


@contextmanager
def _adopting() -> Iterator[None]:
    """Adopt orphans of descendants; at other times they are left to the system, as tests expect."""
    prctl = ctypes.CDLL(None).prctl
    prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


@contextmanager
def forked_programs(*, all_of_them: bool = False) -> Iterator[None]:
    """Fork our programs wherever the block starts them; the first ones are started, until the zygote is ready.

    With *all_of_them*, the block begins when it is.
    """
    zygotes = [Zygote.started()] if all_of_them else []
    for zygote in zygotes:
        zygote.wait()

    def execute(popen: Any, *given: Any) -> None:
        call = PARAMETERS.bind(popen, *given).arguments
        order = _order(call)
        if order and not zygotes:
            zygotes.append(Zygote.started())
        if not order or not zygotes[0].start(popen, call, order):
            START(popen, *given)

    with starting_by(execute):
        yield
    for zygote in zygotes:
        zygote.close()


@contextmanager
def started_programs() -> Iterator[None]:
    """Fork nothing while the block runs."""
    with starting_by(START):
        yield


@contextmanager
def starting_by(execute: Callable[..., None]) -> Iterator[None]:
    """Let *execute* start the processes of the block; it is called as `Popen._execute_child` is."""
    before = subprocess.Popen._execute_child  # type: ignore[attr-defined]
    subprocess.Popen._execute_child = execute  # type: ignore[attr-defined]
    try:
        yield
    finally:
        subprocess.Popen._execute_child = before  # type: ignore[attr-defined]


def _order(call: Mapping[str, Any]) -> Order | None:
    """Return what the zygote has to know of a start, `None` where it may not be forked."""
    if any(call.get(name, usual) != usual for name, usual in UNUSUAL.items()) or isinstance(call["args"], (str, bytes)):
        return None
    argv = [os.fsdecode(word) for word in call["args"]]
    begins: Mapping[str, str | tuple[str, ...]] = {"-m": PROGRAMS, "-c": FORKED}
    if argv[:1] != [sys.executable] or len(argv) < 3 or not argv[2].startswith(begins.get(argv[1], ())):
        return None
    environ = {os.fsdecode(name): os.fsdecode(value) for name, value in (call["env"] or os.environ).items()}
    folder = Path(call["cwd"] or ".").absolute()
    places = [str(folder), *filter(None, environ.get("PYTHONPATH", "").split(os.pathsep))]
    if not folder.is_dir() or any(Path(place, "gateway").is_dir() and place != str(ROOT) for place in places):
        return None  # the second is a copy of the program
    order = {"argv": argv, "environ": environ, "cwd": str(folder), "path": places, "session": call["start_new_session"]}
    return order | {"ignores_interrupts": signal.getsignal(signal.SIGINT) is signal.SIG_IGN}


def main(number: int, preloaded: Sequence[str]) -> None:
    """Fork for each order that comes by the socket *number*; a child runs its program and ends."""
    place = sys.path[1:]
    for module in preloaded:
        importlib.import_module(module)
    assert len(list(Path("/proc/self/task").iterdir())) == 1, "a thread would not be forked"
    if MODEL in preloaded:
        load_model()
    bundled = certifi.where
    certifi.where = lambda: os.environ.get("SSL_CERT_FILE") or bundled()  # as `tests/conftest.py` has it
    gc.collect()
    gc.freeze()
    orders = socket.socket(fileno=number)
    orders.send(b"ready")
    _fork_for(orders, place)


def load_model() -> None:
    """Load the bundled model, for memory workers to come; onnxruntime's thread only waits, and no child misses it."""
    local = importlib.import_module(MODEL)
    for name in ("check_files", "Network", "WordPieces"):
        setattr(local, name, cache(getattr(local, name)))
    local.LocalEmbedder()


def _fork_for(orders: socket.socket, place: Sequence[str]) -> None:
    """Fork for each of *orders* until nobody can give one any more; a child runs its program and ends."""
    with orders:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C at the terminal of the tests
        while True:
            request, streams, _, _ = socket.recv_fds(orders, LONGEST, 3)
            if not request:
                return
            if not (between := os.fork()):
                between = os.getpid()
                if child := os.fork():
                    orders.send(str(child).encode())
                    os._exit(0)
                break
            os.waitpid(between, 0)
            for stream in streams:
                os.close(stream)
            orders.send(b"yours")
    while os.getppid() == between:
        time.sleep(0.001)
    _become(json.loads(request), streams, place)


def fork_own_programs(files: Sequence[int] = (), place: Sequence[str] = ()) -> None:
    """Let this process, forked a moment ago, fork the programs that it will start; *files* are its alone."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if not os.fork():
        ours.close()
        for each in files:
            os.close(each)
        _fork_for(theirs, place or sys.path[1:])
        os._exit(0)
    theirs.close()
    own = Zygote(ours, dict(os.environ), lambda: None)
    own.is_ready = True

    def execute(popen: Any, *given: Any) -> None:
        call = PARAMETERS.bind(popen, *given).arguments
        order = _order(call)
        if not order or not own.start(popen, call, order):
            START(popen, *given)

    subprocess.Popen._execute_child = execute  # type: ignore[attr-defined]


def _become(order: Order, streams: Sequence[int], place: Sequence[str]) -> None:
    """Run the program of *order* in this process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN if order["ignores_interrupts"] else signal.default_int_handler)
    if order["session"]:
        os.setsid()
    if order["argv"][1:3] == ["-m", "gateway"]:
        fork_own_programs(streams, place)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["environ"])
    if not os.environ.keys() & {"LC_ALL", "LC_CTYPE", "LANG"}:
        os.environ["LC_CTYPE"] = "C.UTF-8"  # as PEP 538 has it
    time.tzset()
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    sys.orig_argv = order["argv"]
    sys.argv = order["argv"][2:]
    sys.path[:] = [*order["path"], *(each for each in place if each not in order["path"][1:])]
    _renew_streams(is_unbuffered=bool(os.environ.get("PYTHONUNBUFFERED")))
    try:
        _run(*order["argv"][1:3])
    except SystemExit as exit_:
        if exit_.code is not None and not isinstance(exit_.code, int):
            raise
        _end(exit_.code or 0)
    _end(0)


def _run(how: str, program: str) -> None:
    if how == "-m":
        runpy.run_module(program, run_name="__main__", alter_sys=True)
    else:
        sys.argv[0], sys.path[0] = how, ""
        sys.modules["__main__"] = module = ModuleType("__main__")
        exec(program, vars(module))


def _end(status: int) -> None:
    """End as an interpreter does, but for freeing every object: all that was imported would be copied for it."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(status)


def _renew_streams(*, is_unbuffered: bool) -> None:
    """Make the standard streams fit what they lead to now."""
    sys.stdin.reconfigure(write_through=is_unbuffered)  # type: ignore[union-attr]
    for number, name in ((1, "stdout"), (2, "stderr")):
        stream = getattr(sys, name)
        if is_unbuffered:
            raw = io.FileIO(number, "wb", closefd=False)
            raw.name = f"<{name}>"
            stream = io.TextIOWrapper(raw, stream.encoding, stream.errors, write_through=True)
            setattr(sys, name, stream)
        stream.reconfigure(line_buffering=stream.isatty() or (name == "stderr" and not is_unbuffered))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
