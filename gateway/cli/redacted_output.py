"""Standard output and error of a command, without known secrets."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import TextIO, cast

from workspaces.secrets import redact


@contextmanager
def redacted_output() -> Iterator[None]:
    """Take known secrets out of what is printed while the block runs."""
    out, err = cast("TextIO", _Redacted(sys.stdout)), cast("TextIO", _Redacted(sys.stderr))
    with redirect_stdout(out), redirect_stderr(err):
        yield


class _Redacted:
    """A stream that redacts each text that is written, and is the stream behind it in everything else."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        self._stream.write(redact(text))
        return len(text)

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)
