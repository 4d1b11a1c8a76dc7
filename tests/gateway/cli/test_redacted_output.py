"""The printed output of a command."""

import errno
import io
import os
import sys
from pathlib import Path

import pytest

from gateway.cli.redacted_output import redacted_output
from gateway.cli.up import announce
from gateway.errors import StrandlineError
from workspaces.secrets import REMOVED, guarding


def test_nothing_that_is_printed_holds_a_secret(capsys: pytest.CaptureFixture[str]) -> None:
    """On both outputs, while the block runs; whoever asks what the output is hears it of the real one."""
    real = sys.stdout
    with guarding(["canary-of-commands"]), redacted_output():
        print("a canary-of-commands", "b", flush=True)
        print("c canary-of-commands", file=sys.stderr)
        assert (sys.stdout.isatty(), sys.stdout.encoding) == (real.isatty(), real.encoding)
    print("canary-of-commands")
    shown = capsys.readouterr()
    assert shown.out == f"a {REMOVED} b\ncanary-of-commands\n"
    assert shown.err == f"c {REMOVED}\n"


def test_it_takes_text_and_no_bytes() -> None:
    """A library that tries whether a stream takes bytes, as the one behind our prompts does, is told."""
    with redacted_output(), pytest.raises(TypeError, match="takes text"):
        sys.stdout.write(b"")  # type: ignore[arg-type]


def full_disk() -> io.TextIOWrapper:
    """Return a stream on a disk without room."""
    return Path("/dev/full").open("w", encoding="utf-8")


def test_a_full_disk_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """The text in the buffer fails no second time when Python flushes it at its end."""
    monkeypatch.setattr(sys, "stdout", out := full_disk())
    with redacted_output(), pytest.raises(StrandlineError, match=os.strerror(errno.ENOSPC)):
        print("lost", flush=True)
    out.close()


def test_a_full_disk_loses_warnings_alone(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Standard error without room stops no command."""
    monkeypatch.setattr(sys, "stderr", err := full_disk())
    with redacted_output():
        print("a warning", file=sys.stderr, flush=True)
        print("the answer")
    err.close()
    assert capsys.readouterr().out == "the answer\n"


def test_a_full_disk_stops_no_gateway(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its lines, such as that of changed settings, are lost."""
    monkeypatch.setattr(sys, "stdout", out := full_disk())
    with redacted_output():
        announce("Taken up: the changed settings.")
    out.close()


def test_characters_that_an_encoding_lacks_become_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal of Latin-1 or ASCII shows a note in any language."""
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written := io.BytesIO(), encoding="ascii"))
    with redacted_output():
        print("café →", flush=True)
    assert written.getvalue() == b"caf\\xe9 \\u2192\n"
