"""The memory worker: the one child process with the embedding model and all open collections.

Started as `python -m workspaces.memory.index.worker`, it reads requests from stdin and answers on stdout until stdin
ends, which happens when the gateway ends, in any way, or until nothing was asked for ten minutes. The first frame is
`init`: the embedder, with the provider's key, which is sent nowhere else. What serves the requests (`loop.py`) is
imported while the model loads, for which the first search of a gateway waits.
"""

import logging
import os
import queue
import signal
import threading
import time
from collections.abc import Iterator
from importlib import import_module
from typing import BinaryIO

from workspaces.memory.index.embeddings.choose import configured_embedder
from workspaces.memory.wire import Decoder, Frame, WireError, encode
from workspaces.memory_trim import LARGE_ARRAY_BYTES, avoid_holes

READ_SIZE = 1 << 16

_log = logging.getLogger(__name__)


def frames(stream: BinaryIO) -> Iterator[Frame]:
    """Yield the frames of *stream* until it ends or becomes invalid."""
    decoder = Decoder()
    while data := os.read(stream.fileno(), READ_SIZE):
        yield from decoder.feed(data)


def main() -> None:
    """Serve the gateway on stdin and stdout until it closes them; Ctrl-C at its terminal is left to the gateway."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    stdin, stdout = os.fdopen(os.dup(0), "rb", 0), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # a library's output must not mix with the frames
    avoid_holes(LARGE_ARRAY_BYTES)
    requests: queue.SimpleQueue[Frame | None] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(stdin, requests), daemon=True).start()
    init = requests.get()
    if init is None:
        return
    chosen = configured_embedder(init, meanwhile=lambda: import_module("workspaces.memory.index.loop"))
    from workspaces.memory.index.loop import Loop
    from workspaces.memory.index.request_handler import open_handler

    handler = open_handler(init, chosen)
    try:
        Loop(handler, lambda frame: _write(stdout, frame), time.monotonic).run(requests)
    except BrokenPipeError:
        _log.warning("the gateway is gone")
    finally:
        handler.close()


def _read(stdin: BinaryIO, requests: "queue.SimpleQueue[Frame | None]") -> None:
    try:
        for frame in frames(stdin):
            requests.put(frame)
    except WireError:
        _log.exception("the gateway's stream is out of step")
    requests.put(None)


def _write(stdout: BinaryIO, frame: Frame) -> None:
    stdout.write(encode(frame))
    stdout.flush()


if __name__ == "__main__":
    main()
