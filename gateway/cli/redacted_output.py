"""Standard output and error of a command: without known secrets and, on a terminal, without control characters."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import TextIO, cast

from gateway.runtime.escape import visible
from workspaces.secrets import redact


@contextmanager
def redacted_output() -> Iterator[None]:
    """Redact known secrets from printed text while the block runs, and escape characters that control a terminal.

    Files and pipes get every character as it is.
    """
    out, err = cast("TextIO", _Redacted(sys.stdout)), cast("TextIO", _Redacted(sys.stderr))
    with redirect_stdout(out), redirect_stderr(err):
        yield


def styled_output() -> TextIO:
    """Return standard output for text with its own styles: it escapes nothing, so the caller does (`visible`)."""
    out: object = sys.stdout
    return cast("TextIO", out.styled()) if isinstance(out, _Redacted) else sys.stdout


class _Redacted:
    """A stream that redacts each text that is written, and is the stream behind it in everything else."""

    def __init__(self, stream: TextIO, *, escapes: bool = True) -> None:
        self._stream = stream
        self._escapes = escapes

    def styled(self) -> "_Redacted":
        """Return the stream without its escapes."""
        return _Redacted(self._stream, escapes=False)

    def write(self, text: str) -> int:
        if not isinstance(text, str):  # whether a stream takes bytes is found out by trying
            raise TypeError("this stream takes text")
        safe = redact(text)
        self._stream.write(visible(safe) if self._escapes and self._stream.isatty() else safe)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)
