"""Standard output and error of a command: without known secrets and, on a terminal, without control characters."""

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TextIO, cast

from gateway.errors import StrandlineError
from gateway.runtime.escape import visible
from workspaces.secrets import redact


@contextmanager
def redacted_output() -> Iterator[None]:
    """Redact known secrets from printed text while the block runs, and escape characters that control a terminal.

    Files and pipes get every character as it is; one that their encoding lacks becomes its number, such as `\\u2192`.
    Printing to standard output raises StrandlineError where it cannot be written, and BrokenPipeError where its reader
    is gone; lines that standard error cannot take are lost.
    """
    out, err = cast("TextIO", _Redacted(sys.stdout)), cast("TextIO", _Redacted(sys.stderr, is_optional=True))
    with redirect_stdout(out), redirect_stderr(err):
        yield


def styled_output() -> TextIO:
    """Return standard output for text with its own styles: it escapes nothing, so the caller does (`visible`)."""
    out: object = sys.stdout
    return cast("TextIO", out.styled()) if isinstance(out, _Redacted) else sys.stdout


class _Redacted:
    """A stream that redacts each text that is written, and is the stream behind it in everything else."""

    def __init__(self, stream: TextIO, *, escapes: bool = True, is_optional: bool = False) -> None:
        self._stream = stream
        self._escapes = escapes
        self._is_optional = is_optional

    def styled(self) -> "_Redacted":
        """Return the stream without its escapes."""
        return _Redacted(self._stream, escapes=False)

    def write(self, text: str) -> int:
        if not isinstance(text, str):  # whether a stream takes bytes is found out by trying
            raise TypeError("this stream takes text")
        safe = redact(text)
        shown = visible(safe) if self._escapes and self._stream.isatty() else safe
        with self._reported():
            try:
                self._stream.write(shown)
            except UnicodeEncodeError as exc:
                self._stream.write(shown.encode(exc.encoding, "backslashreplace").decode(exc.encoding))
        return len(text)

    def flush(self) -> None:
        with self._reported():
            self._stream.flush()

    @contextmanager
    def _reported(self) -> Iterator[None]:
        try:
            yield
        except OSError as exc:
            _discard(self._stream)
            if self._is_optional:
                return
            if isinstance(exc, BrokenPipeError):
                raise
            raise StrandlineError(f"the output cannot be written: {exc.strerror}") from exc

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


def _discard(stream: TextIO) -> None:
    """Let *stream* write to nowhere from now on, with its buffer, which Python flushes when it ends."""
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), stream.fileno())
