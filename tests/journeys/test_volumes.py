"""Two gateways on one Redis, each with a volume of its own: an agent is never gone on with without its files."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from gateway.home import Home
from tests.fakes.patience import PATIENCE_S
from tests.fakes.redis_server import USUAL, RedisServer, running
from tests.journeys.processes import ROOT, Gateway
from tests.journeys.test_standby import launched

NOTE = "# MEMORY\n\nThe boat is called Nordlicht.\n"


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    with running(USUAL) as server:
        yield server


def made(path: Path, url: str) -> Gateway:
    """Return a gateway to be, with a home and an agent's folder of its own."""
    home = Home(path)
    home.create()
    home.write(
        home.config_file,
        f'[owner]\ntime_zone = "UTC"\n[gateway]\nport = 0\n[redis]\nurl = "{url}"\nlease_s = 6\n'
        '[memory.embeddings]\nprovider = "none"\n',
    )
    return Gateway(home, path.parent / f"{path.name}.log")


def told(gateway: Gateway, *words: str, status: int = 0) -> str:
    """Return what a command says about its home."""
    argv = [sys.executable, "-m", "gateway", *words, "--home", str(gateway.home.path)]
    done = subprocess.run(argv, cwd=ROOT, check=False, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_an_agent_waits_for_its_files_or_for_a_word_of_its_owner(redis: RedisServer, tmp_path: Path) -> None:
    """Its gateway dies: another one says what is missing, and stands by until it has the files or is told to begin."""
    with ExitStack() as stack:
        one, two = made(tmp_path / "one", redis.url), made(tmp_path / "two", redis.url)
        stack.enter_context(launched(one))
        one.until(lambda probe: bool(probe["ready"]))
        (one.home.agent("main").workspace / "MEMORY.md").write_text(NOTE)
        assert "has a gateway" in told(made_beside(one), "agents", "adopt", "main", "--yes", status=1)
        stack.enter_context(launched(two))
        two.until(lambda probe: bool(probe["standby"]))
        one.kill()
        two.until(lambda _: "files are not here" in two.log.read_text())
        assert two.status()["standby"]
        for said in (told(two, "status"), told(two, "doctor")):
            assert "agent main has no gateway, and this one cannot take it: its files are somewhere else" in said
        assert two.log.read_text().count("files are not here") == 1
        two.stop()

        shutil.copytree(one.home.agents, two.home.agents, dirs_exist_ok=True)
        two.start()
        assert (two.home.agent("main").workspace / "MEMORY.md").read_text() == NOTE
        two.kill()

        stack.enter_context(launched(one))
        one.until(lambda _: "an older copy of its files is here" in one.log.read_text())
        assert "now uses" in told(one, "agents", "adopt", "main", "--yes")
        one.until(lambda probe: bool(probe["ready"]))
        assert "agent main has no gateway" not in told(one, "status")


def made_beside(gateway: Gateway) -> Gateway:
    """Return a home with the same settings that has an older copy of everything."""
    path = gateway.home.path.with_name("beside")
    shutil.copytree(gateway.home.path, path, ignore=shutil.ignore_patterns("run", "index", "history.git.new"))
    (path / "run").mkdir()
    return Gateway(Home(path), path.parent / "beside.log")


def test_a_home_with_its_own_state_has_nothing_to_adopt(tmp_path: Path) -> None:
    """It marks nothing and asks nothing; the command says so."""
    gateway = made(tmp_path / "one", "redis://127.0.0.1:1/0")
    gateway.home.write(gateway.home.config_file, '[owner]\ntime_zone = "UTC"\n[memory.embeddings]\nprovider = "none"\n')
    told(gateway, "init")
    told(gateway, "status")
    assert "nothing to adopt" in told(gateway, "agents", "adopt", "main", "--yes", status=1)
    assert "no such agent" in told(gateway, "agents", "adopt", "nobody", "--yes", status=2)
    assert not list(gateway.home.agents.rglob("mark"))
    assert not (gateway.home.agents / ".volume").exists()
