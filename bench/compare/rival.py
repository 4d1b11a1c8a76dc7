"""A gateway that is compared: how it is installed, started and spoken to by its OpenAI-compatible API."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from tests.fakes.provider_stub import Call

TOKEN = "a-token-of-the-comparison-0123456789"


@dataclass(frozen=True, slots=True)
class Around:
    """What surrounds a home: the model, the port to serve, and the notes that its owner has."""

    model_url: str
    port: int
    notes: Mapping[str, str]
    """Daily notes by file name."""


@dataclass(frozen=True, slots=True)
class Start:
    """How a gateway of one home is started."""

    command: Sequence[str]
    environ: Mapping[str, str] = field(default_factory=dict)

    def launch(self, home: Path, log: Path) -> "subprocess.Popen[bytes]":
        """Start it in a session of its own, with nothing of this environment but the path."""
        environ = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", **self.environ}
        with log.open("ab") as out:
            return subprocess.Popen(
                self.command, cwd=home, env=environ, stdin=subprocess.DEVNULL, stdout=out, stderr=out
            )


@dataclass(frozen=True, slots=True)
class Request:
    """One message over HTTP."""

    model: str
    headers: Mapping[str, str] = field(default_factory=dict)
    fields: Mapping[str, str] = field(default_factory=dict)


class Rival(Protocol):
    """One gateway; every method is pure but `install` and `prepare`."""

    name: str
    notes: str
    """Where its notes lie, in words; empty if it has no place for them."""

    ends: str
    """What ends a conversation; empty where each name is a conversation of its own."""

    def install(self, folder: Path) -> None:
        """Install it into *folder* from its registry."""

    def installed(self, folder: Path) -> Path:
        """Return the folder whose size counts."""

    def version(self, folder: Path) -> str:
        """Return the version that is installed; empty without one."""

    def prepare(self, folder: Path, home: Path, around: Around) -> Start:
        """Write a new home."""

    def request(self, chat: str) -> Request:
        """Return how the conversation *chat* is named."""

    def search(self, question: str) -> Call:
        """Return the tool call by which its model would look for *question*."""

    def remember(self, text: str) -> Call:
        """Return the tool call by which its model would note *text*."""


BEARER = {"Authorization": f"Bearer {TOKEN}"}


def pip_install(folder: Path, *packages: str) -> None:
    """Install *packages* into an environment of their own."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "-q", "--disable-pip-version-check", "install", *packages], check=True)


def pip_version(folder: Path, package: str) -> str:
    """Return the version of *package* in the environment *folder*."""
    found = sorted(folder.glob(f"lib/python*/site-packages/{package}-*.dist-info"))
    return found[0].name.removeprefix(f"{package}-").removesuffix(".dist-info") if found else ""
