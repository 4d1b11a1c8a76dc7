import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gateway.control.server import control_app
from gateway.home import ControlFile, Home
from gateway.runtime.http_server import serving
from tests.fakes.operator import FakeOperator
from tests.gateway.cli.terminal import Terminal


@pytest.fixture
def terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Terminal:
    return Terminal(Home(tmp_path / "home"), capsys)


@pytest.fixture
def at_home(terminal: Terminal) -> Terminal:
    """A terminal whose home exists."""
    assert terminal("init", "--yes").status == 0
    return terminal


@pytest.fixture
async def running(at_home: Terminal) -> AsyncIterator[FakeOperator]:
    """A gateway that owns the terminal's home and knows the agents main and work."""
    operator = FakeOperator(("main", "work"))
    with at_home.home.lock("strandline up"):
        async with serving(control_app(operator, operator, "token"), "127.0.0.1", 0, grace_s=0) as address:
            with at_home.home.announced(ControlFile(address, "token", os.getpid())):
                yield operator
