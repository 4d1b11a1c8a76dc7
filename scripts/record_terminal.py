"""`python -m scripts.record_terminal`: record a real conversation in a terminal, with a restart, as docs/chat.svg.

A new home, the built-in responder, one gateway before and one after the restart. What the program writes is fed to a
terminal emulator; each change of its screen becomes a frame of an animation that runs without a script.
"""

import os
import pty
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path

import pyte

PICTURE = Path(__file__).parent.parent / "docs" / "chat.svg"
COLUMNS, LINES = 84, 24
CHARACTER_S, PAUSE_S, END_S = 0.045, 1.6, 4.0
"""Seconds a typed character, after an answer, and of the last frame."""
QUIET_S, PATIENCE_S = 0.7, 60.0
WIDE, HIGH, MARGIN = 8.4, 18, 14
FOREGROUND, BACKGROUND, TYPED = "#d8dee9", "#1f2430", "#8fd6b4"
BEFORE = (
    "Remember that the staging database moved to port 5433.",
    "my sister Jana's birthday is on 14 March",
    "yes",
    "/new",
)
AFTER = ("which port does the staging database use?", "when is janas birthday?")

Frame = tuple[float, tuple[str, ...]]


class Recording:
    """The frames of a screen, with the second at which each begins in the animation."""

    def __init__(self) -> None:
        self._screen = pyte.HistoryScreen(COLUMNS, LINES, history=1000)
        self._stream = pyte.Stream(self._screen)
        self.answers = list[str]()
        """What the terminal says by itself, such as where its cursor stands."""
        setattr(self._screen, "write_process_input", self.answers.append)  # noqa: B010  the library's own way
        self.at = 0.0
        self.frames: list[Frame] = []

    def feed(self, output: str, seconds: float) -> None:
        """Show *output* now; it takes *seconds*."""
        self._stream.feed(output)
        lines = tuple(line.rstrip() for line in self._screen.display)
        if not self.frames or self.frames[-1][1] != lines:
            self.frames.append((self.at, lines))
        self.at += seconds


@contextmanager
def gateway(home: Path) -> Iterator[None]:
    """Run a gateway on *home* while the block runs."""
    with subprocess.Popen(
        _program("up", home), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        next(line for line in process.stdout if "stop" in line)
        yield
        process.terminate()


def chat(home: Path, recording: Recording, said: tuple[str, ...]) -> None:
    """Hold one conversation in a terminal."""
    recording.feed("$ strandline chat\r\n", 1.0)
    ours, theirs = pty.openpty()
    environ = os.environ | {"TERM": "xterm", "COLUMNS": str(COLUMNS), "LINES": str(LINES), "TZ": "UTC"}
    with subprocess.Popen(
        _program("chat", home), stdin=theirs, stdout=theirs, stderr=theirs, env=environ, start_new_session=True
    ) as process:
        _show(recording, ours, 0.5)
        for text in said:
            for character in text:
                os.write(ours, character.encode())
                _show(recording, ours, CHARACTER_S, 0.02)
            os.write(ours, b"\r")
            _show(recording, ours, PAUSE_S)
        os.write(ours, b"\x04")
        _show(recording, ours, 0.5, 0.5)
        process.terminate()
    os.close(theirs)
    os.close(ours)


def _program(command: str, home: Path) -> list[str]:
    return [sys.executable, "-m", "gateway", command, "--home", str(home)]


def _show(recording: Recording, terminal: int, seconds: float, quiet_s: float = QUIET_S) -> None:
    """Record what is written now; a question to the terminal is answered, and what follows is shown too."""
    recording.feed(_read(terminal, quiet_s), seconds)
    while recording.answers:
        os.write(terminal, "".join(recording.answers).encode())
        recording.answers.clear()
        recording.feed(_read(terminal, 0.3), 0)


def _read(terminal: int, quiet_s: float = QUIET_S) -> str:
    """Return what is written until nothing more comes; without a short *quiet_s*, something must come first."""
    found, end = b"", time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if select.select([terminal], [], [], quiet_s)[0]:
            found += os.read(terminal, 65_536)
        elif found or quiet_s < QUIET_S:
            break
    return found.decode("utf-8", "replace")


def drawn(frames: list[Frame], end: float) -> str:
    """Return an SVG that shows one frame after the other; each distinct line is written once."""
    lines = list(dict.fromkeys(line for _, shown in frames for line in shown if line))
    width, height = round(COLUMNS * WIDE + 2 * MARGIN), LINES * HIGH + 2 * MARGIN
    steps = " ".join(
        f"{100 * at / end:.3f}%{{transform:translateX({-index * width}px)}}" for index, (at, _) in enumerate(frames)
    )
    symbols = "".join(
        f'<text id="l{number}" xml:space="preserve"{_colour(line)}>{escape(line)}</text>'
        for number, line in enumerate(lines)
    )
    pictures = "".join(
        f'<g transform="translate({index * width})">'
        + "".join(
            f'<use href="#l{lines.index(line)}" x="{MARGIN}" y="{MARGIN + HIGH * (row + 1) - 5}"/>'
            for row, line in enumerate(shown)
            if line
        )
        + "</g>"
        for index, (_, shown) in enumerate(frames)
    )
    style = (
        f"text{{font:14px ui-monospace,Menlo,Consolas,monospace;fill:{FOREGROUND}}}"
        f".film{{animation:film {end:.1f}s step-end infinite}}@keyframes film{{{steps}}}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
        f"<title>A conversation in a terminal, with a restart</title><style>{style}</style><defs>{symbols}</defs>"
        f'<rect width="100%" height="100%" rx="8" fill="{BACKGROUND}"/><g class="film">{pictures}</g></svg>\n'
    )


def _colour(line: str) -> str:
    return f' style="fill:{TYPED}"' if line.startswith((">", "$")) else ""


def main() -> None:
    """Record, and write the picture."""
    folder = Path(tempfile.mkdtemp())
    recording = Recording()
    try:
        for said in (BEFORE, AFTER):
            with gateway(folder / "home"):
                chat(folder / "home", recording, said)
            if said is BEFORE:
                recording.feed("# the machine is started again\r\n", 2.0)
    finally:
        shutil.rmtree(folder)
    PICTURE.write_text(drawn(recording.frames, recording.at + END_S), "utf-8")
    print(f"{PICTURE.name}: {len(recording.frames)} frames, {recording.at:.0f} s, {PICTURE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
