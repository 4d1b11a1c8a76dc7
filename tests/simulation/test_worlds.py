"""Some worlds in the suite; `python -m tests.simulation` runs thousands (docs/reliability.md)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = [
    pytest.mark.usefixtures("real_start"),
    pytest.mark.skipif(sys.platform != "linux", reason="the worlds fork, and read what is synced by inode"),
]


def simulate(*words: str, hash_seed: int = 0) -> tuple[int, str]:
    """Run the command in a process of its own; return its status and what it says."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.simulation", *words],
        cwd=ROOT,
        env=os.environ | {"PYTHONHASHSEED": str(hash_seed)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.stderr, done.stderr
    return done.returncode, done.stdout


def test_every_world_keeps_its_promises_and_comes_again_the_same() -> None:
    """Whatever happens by the seed, each message is answered once; another process sees the same, step by step."""
    status, said = simulate("--seeds", "6", "--digests", hash_seed=1)
    assert status == 0, said
    _, again = simulate("--seeds", "2", "--digests", hash_seed=2)
    assert said.splitlines()[:2] == again.splitlines()[:2]


def test_a_planted_fault_is_found() -> None:
    """The worlds can fail: where an update that comes again counts as new, one message is answered by two turns."""
    status, said = simulate("--first", "1", "--seeds", "1", "--plant", "an update that comes again is a new message")
    assert status == 1
    assert "is answered by two turns" in said
    assert "repeat: python -m tests.simulation --seed 1 --plant" in said
