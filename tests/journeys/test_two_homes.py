"""Two gateways never work in one workspace, nor in one home, whatever became of the files that lie beside."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gateway.home import Home
from tests.fakes.patience import PATIENCE_S
from tests.journeys.house import ENVIRON
from tests.journeys.processes import ROOT, START_TIMEOUT_S, Gateway

LOCKED = 3
COMMANDS = (["up"], ["init", "--yes"], ["chat", "-m", "hello"], ["memory", "index"])


def home_with(path: Path, workspace: Path | None = None, agent: str = "main") -> Home:
    """Write nothing but the settings, as an owner does by hand."""
    (path / "agents").mkdir(parents=True)
    where = f'workspace = "{workspace}"\n' if workspace else ""
    (path / "config.toml").write_text(
        f'[owner]\ntime_zone = "UTC"\n[gateway]\nport = 0\n[agents.{agent}]\n{where}'
        '[memory.embeddings]\nprovider = "none"\n'
    )
    return Home(path)


@contextmanager
def up(home: Home) -> Iterator[Gateway]:
    gateway = Gateway(home, home.path.with_suffix(".log"))
    gateway.start()
    try:
        yield gateway
    finally:
        gateway.kill()


def run(home: Home, *words: str) -> tuple[int, str]:
    """Return a command's exit status, and what it wrote."""
    done = subprocess.run(
        [sys.executable, "-m", "gateway", *words, "--home", str(home.path)],
        cwd=ROOT,
        env={**os.environ, **ENVIRON},
        check=False,
        capture_output=True,
        text=True,
        timeout=START_TIMEOUT_S,
    )
    return done.returncode, done.stdout + done.stderr


def tree(*folders: Path) -> dict[str, tuple[int, bytes] | None]:
    """Return everything below *folders*, but the index, which has a process of its own: files with time and content."""
    every = [path for folder in folders for path in (folder, *folder.rglob("*"))]
    found = [path for path in every if "index" not in path.parts and not path.is_symlink()]
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) if path.is_file() else None for path in found}


@contextmanager
def standing_still(gateway: Gateway, *folders: Path) -> Iterator[None]:
    """Stop *gateway* while the block runs, which must change nothing below *folders*."""
    assert gateway.process is not None
    gateway.process.send_signal(signal.SIGSTOP)
    os.waitpid(gateway.process.pid, os.WUNTRACED)
    try:
        before = tree(*folders)
        yield
        assert tree(*folders) == before
    finally:
        gateway.process.send_signal(signal.SIGCONT)


def spelled(kind: str, notes: Path) -> Path:
    """Return another way to name a folder that overlaps *notes*."""
    match kind:
        case "link":
            notes.with_name("link").symlink_to(notes)
            return notes.with_name("link")
        case "inside":
            (notes / "work").mkdir()
            return notes / "work"
        case "around":
            return notes.parent
        case _:
            return notes


@pytest.mark.parametrize("kind", ["same", "link", "inside", "around"])
def test_a_second_home_whose_agent_shares_a_workspace_is_refused(tmp_path: Path, kind: str) -> None:
    """It names the folder, who works there and the remedy, and writes nothing: not even into its own home."""
    notes = tmp_path / "documents" / "notes"
    notes.mkdir(parents=True)
    first, second = home_with(tmp_path / "first", notes), home_with(tmp_path / "second", spelled(kind, notes), "other")
    with up(first) as gateway:
        assert gateway.process is not None
        for command in COMMANDS if kind == "same" else COMMANDS[:1]:
            with standing_still(gateway, second.path, notes):
                status, said = run(second, *command)
            assert (status, said.count("\n")) == (LOCKED, 1), said
            assert f"in use by process {gateway.process.pid} of the home {first.path}; stop that one first" in said
            assert str(notes) in said
            assert "agents.other.workspace to another folder" in said
        assert gateway.get("/readyz")["ready"]
    with up(second) as gateway:  # the first was killed, and took its lock with it
        status, said = run(first, "up")
        assert (status, f"of the home {second.path}" in said) == (LOCKED, True), said


def test_a_workspace_that_lies_in_another_home_is_that_homes(tmp_path: Path) -> None:
    """The one who comes second is refused, be it the folder's own home: nobody else wrote there."""
    first = home_with(tmp_path / "first")
    with up(first):
        pass
    workspace = first.agent("main").workspace
    second = home_with(tmp_path / "second", workspace, "other")
    with up(first) as gateway:
        with standing_still(gateway, second.path, first.path):
            status, said = run(second, "up")
        assert status == LOCKED
        assert gateway.process is not None
        assert f"the workspace {workspace} of agent other is in use by process {gateway.process.pid}" in said
        assert f"(strandline up) of the home {first.path}" in said
    with up(second) as gateway:
        with standing_still(gateway, first.path):
            status, said = run(first, "up")
        assert (status, f"of the home {second.path}" in said) == (LOCKED, True)


@pytest.mark.parametrize("gone", ["run/lock", "run"])
def test_a_second_gateway_of_a_home_is_refused_without_its_lock_files(tmp_path: Path, gone: str) -> None:
    """A clean-up took what lies in the home beside the agents: no command may think that the gateway is gone."""
    home = home_with(tmp_path / "home")
    with up(home) as gateway:
        for folder, _, names in os.walk(home.path):  # the gateway may still be at its first files
            for name in names:
                if name.endswith(".lock"):
                    (Path(folder) / name).unlink(missing_ok=True)
        removed = home.path / gone
        shutil.rmtree(removed) if removed.is_dir() else removed.unlink(missing_ok=True)
        for command in COMMANDS if gone == "run" else COMMANDS[:1]:
            with standing_still(gateway, home.path):
                status, said = run(home, *command)
            assert (status, f"the home {home.path} is in use by " in said) == (LOCKED, True), said
            assert (gone == "run") == (f"fuser -v {home.path}" in said)
        assert gateway.process is not None
        assert gateway.process.poll() is None
    with up(home):
        pass


def test_what_a_gateway_holds_is_free_once_it_is_killed(tmp_path: Path) -> None:
    """Its worker and whatever else it had begun keep nothing: the next one, of either home, starts at once."""
    first, second = (
        home_with(tmp_path / "first", tmp_path / "notes"),
        home_with(tmp_path / "second", tmp_path / "notes"),
    )
    for home in (first, second, first):
        with up(home) as gateway:
            status, _ = run(home, "chat", "-m", "remember that the boat is called Ondine")
            assert status == 0
            assert (tmp_path / "notes.holder").read_text() == f"process {gateway.process.pid} of the home {home.path}"  # type: ignore[union-attr]
    with up(first) as gateway:
        assert gateway.stop() == 0
        assert not (tmp_path / "notes.holder").exists()
        assert gateway.process is not None
        gateway.process.wait(PATIENCE_S)


def test_commands_work_beside_a_running_gateway(tmp_path: Path) -> None:
    """Whatever writes goes through the gateway, or to what no gateway works in."""
    home = home_with(tmp_path / "home", tmp_path / "notes")
    with up(home):
        for command in (
            ["chat", "-m", "remember that the boat is called Ondine"],
            ["memory", "index"],
            ["memory", "search", "boat"],
            ["agents", "add", "second"],
            ["agents", "remove", "second", "--yes"],
            ["backup", str(tmp_path / "backup.tar.gz")],
            ["status"],
            ["doctor"],
        ):
            status, said = run(home, *command)
            assert status == 0, (command, said)
