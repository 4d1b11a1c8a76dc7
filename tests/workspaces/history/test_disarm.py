"""A repository from a backup cannot make git run another program."""

import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from tests.fakes.patience import PATIENCE_S
from workspaces.access import AgentId
from workspaces.history.disarm import disarm
from workspaces.history.git_command import Git
from workspaces.history.repository import Repository

NOW = datetime(2026, 3, 3, tzinfo=UTC)


def make_repository(path: Path) -> Repository:
    repository = Repository(path, AgentId("main"))
    repository.create(NOW)
    repository.commit({PurePosixPath("MEMORY.md"): b"- here\n"}, "init", NOW)
    return repository


def test_no_setting_of_a_restored_history_runs_a_program(tmp_path: Path) -> None:
    """Git's own program runs what a repository's settings name; afterwards it works, and nothing of that has run."""
    repository, proof = make_repository(tmp_path / "history.git"), tmp_path / "proof"
    evil = tmp_path / "evil"
    evil.write_text(f"#!/bin/sh\ntouch {proof}\ncat\n")
    evil.chmod(0o700)
    with (repository.path / "config").open("a") as config:
        config.write(f"[gc]\n\trecentObjectsHook = {evil}\n[gpg]\n\tprogram = {evil}\n[log]\n\tshowSignature = true\n")
        config.write(f'[include]\n\tpath = {tmp_path}/more\n[diff "x"]\n\ttextconv = {evil}\n')
    for name, content in {
        "hooks/pre-auto-gc": f"#!/bin/sh\ntouch {proof}\n",
        "info/attributes": "* diff=x\n",
        "objects/info/alternates": "/elsewhere/objects\n",
        "commondir": "/elsewhere\n",
    }.items():
        (repository.path / name).parent.mkdir(exist_ok=True)
        (repository.path / name).write_text(content)
        (repository.path / name).chmod(0o700)
    disarm(repository.path)
    assert {path.name for path in repository.path.iterdir()} <= {"HEAD", "config", "refs", "objects", "description"}
    assert not (repository.path / "objects/info/alternates").exists()
    Git(repository.path).run("gc", "--prune=now", deadline_s=PATIENCE_S)
    Git(repository.path).run("log", "-p", "-1", deadline_s=PATIENCE_S)
    assert not proof.exists()
    assert repository.is_ours()
    assert repository.is_sound()
    assert not repository.is_maintenance_due(NOW)
    settings = (repository.path / "config").read_text()
    assert str(evil) not in settings
    assert "include" not in settings


def test_the_attack_works_without_it(tmp_path: Path) -> None:
    """Otherwise the test above would show nothing."""
    repository, proof = make_repository(tmp_path / "history.git"), tmp_path / "proof"
    evil = tmp_path / "evil"
    evil.write_text(f"#!/bin/sh\ntouch {proof}\ncat\n")
    evil.chmod(0o700)
    with (repository.path / "config").open("a") as config:
        config.write(f'[diff "x"]\n\ttextconv = {evil}\n')
    (repository.path / "info").mkdir(exist_ok=True)
    (repository.path / "info/attributes").write_text("* diff=x\n")
    environment = {"GIT_DIR": str(repository.path), "PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    shown = ["git", "log", "-p", "-1", "--no-color"]
    subprocess.run(shown, env=environment, check=True, capture_output=True, timeout=PATIENCE_S)
    assert proof.exists()
