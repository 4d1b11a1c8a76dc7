"""A gateway for which no agent is free stands by: it says so, waits as long as it takes, and stops when told."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gateway.home import Home
from tests.fakes.patience import PATIENCE_S
from tests.fakes.redis_server import USUAL, RedisServer, running
from tests.journeys.processes import ROOT, Gateway
from workspaces.access import AgentId
from workspaces.workspace import Workspace

AT_ONCE_S = 20.0
"""With the interpreter's end on a busy machine; it waited 30 seconds for an agent before."""


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    with running(USUAL) as server:
        yield server


def made(path: Path, url: str) -> Gateway:
    """Return a gateway to be, with one agent, which may have another gateway."""
    home, agents = Home(path), path.parent / "agents"
    home.path.mkdir()
    agents.mkdir(exist_ok=True)
    home.agents.symlink_to(agents)
    home.create()
    home.write(
        home.config_file,
        f'[owner]\ntime_zone = "UTC"\n[gateway]\nport = 0\n[redis]\nurl = "{url}"\nlease_s = 6\n'
        '[memory.embeddings]\nprovider = "none"\n',
    )
    if not home.agent("main").workspace.exists():
        Workspace.create(home.agent("main").workspace, AgentId("main")).folder.close()
    return Gateway(home, path.parent / f"{path.name}.log")


@contextmanager
def launched(gateway: Gateway) -> Iterator[Gateway]:
    """Let it run while the block runs."""
    gateway.launch()
    try:
        yield gateway
    finally:
        if gateway.process and gateway.process.poll() is None:
            gateway.kill()


def stopped_in(gateway: Gateway) -> float:
    """Tell it to stop; return how long that took."""
    begun = time.monotonic()
    assert gateway.stop() == 0, gateway.log.read_text()
    return time.monotonic() - begun


def status(gateway: Gateway, *options: str) -> str:
    argv = [sys.executable, "-m", "gateway", "status", "--home", str(gateway.home.path), *options]
    return subprocess.run(argv, cwd=ROOT, check=True, capture_output=True, text=True, timeout=PATIENCE_S).stdout


def test_a_gateway_without_an_agent_answers_waits_and_takes_over(redis: RedisServer, tmp_path: Path) -> None:
    """Its probes and its operator hear that it stands by; when the other one dies, it goes on in its place."""
    with launched(made(tmp_path / "one", redis.url)) as one, launched(made(tmp_path / "two", redis.url)) as two:
        one.until(lambda probe: probe["ready"] or probe["standby"])
        two.until(lambda probe: probe["ready"] or probe["standby"])
        working, waiting = (one, two) if json.loads(status(one, "--json"))["ready"] else (two, one)
        waiting.until(lambda probe: probe == {"ready": False, "standby": True, "loading": []})
        assert waiting.get("/healthz") == {"alive": True}
        assert "on standby (every agent has its gateway)" in status(waiting)
        assert "it waits for one" in waiting.log.read_text()
        working.kill()
        waiting.until(lambda probe: bool(probe["ready"]))
        assert [agent["agent"] for agent in json.loads(status(waiting, "--json"))["agents"]] == ["main"]


def test_a_gateway_that_stands_by_stops_at_once(redis: RedisServer, tmp_path: Path) -> None:
    """And leaves the one at work alone."""
    with launched(made(tmp_path / "one", redis.url)) as working:
        working.until(lambda probe: bool(probe["ready"]))
        with launched(made(tmp_path / "two", redis.url)) as waiting:
            waiting.until(lambda probe: bool(probe["standby"]))
            assert stopped_in(waiting) < AT_ONCE_S
        assert working.get("/readyz")["ready"]


def test_a_start_that_finds_no_redis_stops_at_once(tmp_path: Path) -> None:
    """It would try for half a minute; told to stop, it does not."""
    gateway = made(tmp_path / "one", f"unix://{tmp_path}/nothing.sock")
    with launched(gateway):
        deadline = time.monotonic() + PATIENCE_S
        while "does not answer" not in gateway.log.read_text():
            assert time.monotonic() < deadline, gateway.log.read_text()
            time.sleep(0.05)
        assert stopped_in(gateway) < AT_ONCE_S
