"""A home that a doctor looks at."""

import json
from pathlib import Path

import pytest

from gateway.cli import main
from gateway.control.finding import Level
from gateway.home import Home
from tests.fakes.operator import FakeGateway, FakeOperator


class Patient:
    """A home that a doctor looks at."""

    def __init__(self, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.home = Home(path)
        self.gateway = FakeGateway(FakeOperator())
        self._capsys = capsys

    def run(self, *argv: str, environ: dict[str, str] | None = None) -> tuple[int, str]:
        status = main.run([*argv, "--home", str(self.home.path)], environ or {}, "strandline", self.gateway)
        return status, self._capsys.readouterr().out

    def findings(self, environ: dict[str, str] | None = None, *options: str) -> tuple[int, dict[str, tuple[str, str]]]:
        """Return the exit status, and the worst level with its detail by check."""
        status, out = self.run("doctor", "--json", *options, environ=environ)
        worst: dict[str, tuple[str, str]] = {}
        order = list(Level)
        for found in json.loads(out)["findings"]:
            before = worst.get(found["check"], ("ok", ""))
            if order.index(Level(found["level"])) >= order.index(Level(before[0])):
                worst[found["check"]] = (found["level"], found["detail"] + " → " + found["mend"])
        return status, worst
