"""The gateway's client of the memory worker: starts the process with the first request, and sends requests.

The worker ends by itself when nothing was asked for long, and the next request starts another.

It imports neither numpy nor the engine: heavy libraries are loaded in the worker only.

    UnusableError
    └── MemoryUnavailableError      the worker cannot do the request now; the message says why
        └── WorkerDiedError         it ended before it answered
"""

import asyncio
import hashlib
import itertools
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from msgspec import structs

from workspaces.errors import UnusableError
from workspaces.memory.index.embeddings.choose import Choice
from workspaces.memory.index.embeddings.settings import HostedEmbedding
from workspaces.memory.index.settings import GENTLE, VERSION, Blend, Cut, Decay, QdrantServer, Reranking, settings_frame
from workspaces.memory.wire import Decoder, Frame, WireError, encode
from workspaces.secrets import redact_all

DEADLINE_S = 10.0
"""Timeout of a request without a sign of life."""
START_S = 60.0
"""The same before the worker's first answer: it loads its model in a second, on a small or busy machine in many."""
GRACE_S = 5.0
"""Time for a worker to flush and end."""


class MemoryUnavailableError(UnusableError):
    """Memory cannot be searched or indexed now."""

    told_to_others = "the notes cannot be searched now"


_DEATHS: Mapping[int | None, str] = {
    -signal.SIGBUS: "the disk that holds the index is full, or fails",
    -signal.SIGKILL: "it was killed, perhaps by the system for lack of memory",
}
"""What a signal that ended the worker means; it maps files of the index, which a full disk cannot hold."""


class WorkerDiedError(MemoryUnavailableError):
    """The worker ended before it answered."""


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    embedder: Choice = "local"
    """`none`: keywords only; `hosted`: the first of `hosted`; `auto`: the local one where it loads, else that."""
    hosted: Sequence[HostedEmbedding] = ()
    qdrant: QdrantServer | None = None
    """`None`: the engine inside the worker."""
    qdrant_key: str = field(default="", repr=False)
    reranking: Reranking | None = None
    rerank_key: str = field(default="", repr=False)
    chunking: Cut = "entries"
    decay: Decay = GENTLE
    blend: Blend | None = None
    threads: int = 2
    """CPU cores for the embedding model."""
    deadline_s: float = DEADLINE_S
    start_s: float = START_S

    @property
    def command(self) -> Sequence[str]:
        """Command line of the worker; contains nothing private, as process lists are public."""
        return (sys.executable, "-m", "workspaces.memory.index.worker")

    @property
    def init(self) -> Frame:
        """The first frame: keys reach the worker only through the pipe."""
        return {
            "op": "init",
            "embedder": self.embedder,
            "threads": self.threads,
            "hosted": [asdict(each) for each in self.hosted],
            "qdrant": settings_frame(QdrantServer, self.qdrant),
            "qdrant_key": self.qdrant_key,
            "rerank": settings_frame(Reranking, self.reranking),
            "rerank_key": self.rerank_key,
            "chunking": self.chunking,
            "decay": structs.asdict(self.decay),
            "blend": structs.asdict(self.blend) if self.blend else None,
        }

    @property
    def layout(self) -> str:
        """Digest of the settings that an index depends on; with other ones it may have to be built anew."""
        hosted = [(each.provider, each.model, each.dimension, each.may_leave) for each in self.hosted]
        server = (self.qdrant.url, self.qdrant.prefix) if self.qdrant else None
        facts = repr((VERSION, self.embedder, hosted, server, self.chunking))
        return hashlib.blake2b(facts.encode(), digest_size=16).hexdigest()


class WorkerClient:
    """One worker process, started with the first request and restarted after its death; closed as a context manager."""

    def __init__(self, settings: WorkerSettings) -> None:
        self.settings = settings
        self._process: _Process | None = None
        self._starting = asyncio.Lock()
        self.starts = 0
        """Number of starts of a worker; more than 1 means that one died, or ended after long disuse."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def pid(self) -> int | None:
        """The running worker's process id."""
        return self._process.pid if self._process and self._process.is_alive else None

    @property
    def is_running(self) -> bool:
        """Whether a worker runs and has answered; otherwise the next request waits for its start, about a second."""
        return self._process is not None and self._process.is_alive and self._process.has_begun

    async def call(self, op: str, folder: Path, arguments: Mapping[str, object]) -> Frame:
        """Return the worker's answer; no known secret is sent to it.

        A request interrupted by the worker's death is sent once more, since all can be repeated.

        Raises MemoryUnavailableError when it fails, dies twice, or shows no sign of life in time.
        """
        request = {"op": op, "folder": str(folder), **redact_all(dict(arguments))}
        try:
            return await (await self._running()).ask(request, self.settings)
        except WorkerDiedError:
            return await (await self._running()).ask(request, self.settings)

    async def wake(self, folder: Path | None = None) -> None:
        """Start the worker, unless it runs, and wait for nothing. Raises MemoryUnavailableError.

        One that starts rehearses a search of the index in *folder*: the first one finds it open.
        """
        starts, process = self.starts, await self._running()
        if folder is not None and self.starts > starts:
            process.order({"op": "rehearse", "folder": str(folder)})

    async def close(self) -> None:
        """Let the worker flush and end; it is killed after a grace period."""
        if self._process is not None:
            await self._process.close()

    async def _running(self) -> "_Process":
        async with self._starting:
            if self._process is None or not self._process.is_alive:
                self._process = await self._start()
            return self._process

    async def _start(self) -> "_Process":
        process = _Process()
        # A bare environment: no secret reaches the child. One thread only, so that BLAS starts no others.
        environment = {"PYTHONPATH": os.pathsep.join(sys.path), "OPENBLAS_NUM_THREADS": "1"}
        try:
            await asyncio.get_running_loop().subprocess_exec(
                lambda: process, *self.settings.command, stderr=None, env=environment
            )
        except OSError as exc:
            raise MemoryUnavailableError(f"the memory worker cannot be started: {exc}") from exc
        self.starts += 1
        process.tell(self.settings.init)
        return process


class _Process(asyncio.SubprocessProtocol):
    """A running worker and its open requests."""

    def __init__(self) -> None:
        self._decoder = Decoder()
        self._waiting: dict[int, asyncio.Queue[Frame]] = {}
        self._numbers = itertools.count(1)
        self._ended = asyncio.Event()
        self._transport: asyncio.SubprocessTransport | None = None
        self.has_begun = False
        """It has answered at least once."""

    @property
    def is_alive(self) -> bool:
        return self._transport is not None and not self._ended.is_set()

    @property
    def pid(self) -> int | None:
        return self._transport.get_pid() if self._transport else None

    async def ask(self, request: Frame, settings: WorkerSettings) -> Frame:
        number = next(self._numbers)
        deadline_s = settings.deadline_s if self.has_begun else settings.start_s
        replies = self._waiting[number] = asyncio.Queue()
        try:
            self._send({"id": number, **request})
            while True:
                async with asyncio.timeout(deadline_s):
                    reply = await replies.get()
                if "busy" not in reply:
                    return _result(reply)
                deadline_s = settings.deadline_s
        except TimeoutError as exc:
            raise MemoryUnavailableError(f"memory did not answer within {deadline_s:g} seconds") from exc
        finally:
            self._waiting.pop(number, None)

    def order(self, request: Frame) -> None:
        """Send a request whose answer nobody waits for."""
        self._send({"id": next(self._numbers), **request})

    def tell(self, frame: Frame) -> None:
        """Send a message without an answer."""
        if self.is_alive:
            self._stdin.write(encode(frame))

    async def close(self) -> None:
        if not self.is_alive or self._transport is None:
            return
        self._stdin.close()
        try:
            async with asyncio.timeout(GRACE_S):
                await self._ended.wait()
        except TimeoutError:
            self._transport.kill()
            await self._ended.wait()

    @property
    def _stdin(self) -> asyncio.WriteTransport:
        assert self._transport is not None  # noqa: S101 — `connection_made` comes before every use
        stdin = self._transport.get_pipe_transport(0)
        assert isinstance(stdin, asyncio.WriteTransport)  # noqa: S101 — asyncio types all pipes as one
        return stdin

    def _send(self, frame: Frame) -> None:
        if not self.is_alive:
            raise WorkerDiedError("the memory worker ended")
        self._stdin.write(encode(frame))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)  # noqa: S101 — what subprocess_exec makes
        self._transport = transport

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        try:
            for frame in self._decoder.feed(data):
                self.has_begun = True
                if (replies := self._waiting.get(frame["id"])) is not None:
                    replies.put_nowait(frame)
        except WireError:
            assert self._transport is not None  # noqa: S101 — data comes after the connection
            self._transport.kill()

    def process_exited(self) -> None:
        self._ended.set()
        status = self._transport.get_returncode() if self._transport is not None else None
        if self._transport is not None:
            self._transport.close()
        for replies in self._waiting.values():
            replies.put_nowait({"died": status})


def _result(reply: Frame) -> Frame:
    if "died" in reply:
        why = _DEATHS.get(reply["died"], "")
        raise WorkerDiedError(f"the memory worker ended before it answered{why and f': {why}'}")
    if "failed" in reply:
        raise MemoryUnavailableError(f"memory failed: {reply['failed']}")
    done: Frame = reply["done"]
    return done
