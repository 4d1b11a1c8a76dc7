"""What a command prints."""

import sys

import pytest

from gateway.cli.redacted_output import redacted_output
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
