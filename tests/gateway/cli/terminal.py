"""A terminal in this process, whose commands meet gateways that remember."""

from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from gateway.cli import main
from gateway.home import Home
from tests.fakes.operator import FakeGateway, FakeOperator

ENVIRON = {"TZ": "Europe/Berlin"}


@dataclass
class Outcome:
    """What a command left behind."""

    status: int
    out: str
    err: str


class Terminal:
    """Runs commands in this process, on gateways that remember between them."""

    def __init__(self, home: Home, capsys: pytest.CaptureFixture[str]) -> None:
        self.home = home
        self.gateway = FakeGateway(FakeOperator(("main", "work")))
        self._capsys = capsys

    def __call__(self, *argv: str, environ: Mapping[str, str] = ENVIRON, home: bool = True) -> Outcome:
        where = ["--home", str(self.home.path)] if home else []
        status = main.run([*argv, *where], environ, "strandline", self.gateway)
        shown = self._capsys.readouterr()
        return Outcome(status, shown.out, shown.err)
