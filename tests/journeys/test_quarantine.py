"""A message or a reply on which the gateway crashes again and again costs its own answer, and nobody else's."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gateway.home import Home
from tests.fakes.patience import PATIENCE_S
from tests.journeys.house import ENVIRON, make_home
from tests.journeys.processes import GATEWAY, ROOT
from tests.zygote import FORKED

DEADLY_HOOK = """
import os
from gateway.hooks import MESSAGE_SENDING, on

@on(MESSAGE_SENDING)
def dies(event):
    if "poison" in event.text and not os.path.exists(os.environ["MEDICINE"]):
        os.abort()
"""
DEADLY_FORMATTER = f"""{FORKED}
import os
import adapters.terminal
formatted = adapters.terminal.terminal_parts

def dies(markdown):
    if "poison" in markdown and not os.path.exists(os.environ["MEDICINE"]):
        os.abort()
    return formatted(markdown)

adapters.terminal.terminal_parts = dies
from gateway.__main__ import main
main()
"""
POISON = "Remember: the red bottle is poison."


@dataclass
class House:
    """A home, and the command line that answers at its terminal."""

    home: Home
    folder: Path
    program: tuple[str, str] = GATEWAY

    def strandline(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, *self.program, *arguments, "--home", str(self.home.path)],
            cwd=ROOT,
            env={**os.environ, **ENVIRON, "MEDICINE": str(self.folder / "medicine")},
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_S,
        )

    def says(self, text: str) -> str:
        done = self.strandline("chat", "--message", text)
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    def dies(self, text: str) -> None:
        assert self.strandline("chat", "--message", text).returncode == -6

    def quarantine(self) -> Any:
        return json.loads(self.strandline("quarantine", "list", "--json").stdout)["rows"]


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(make_home(tmp_path / "home"), tmp_path)


def test_a_message_that_kills_the_gateway_twice_is_quarantined(house: House) -> None:
    """The third start answers what comes next and tells the owner; a retry answers it once it is harmless."""
    house.home.hooks.mkdir(mode=0o700)
    (house.home.hooks / "deadly.py").write_text(DEADLY_HOOK)
    (house.home.hooks / "deadly.py").chmod(0o600)
    assert "Hello" in house.says("hello")
    house.dies(POISON)
    house.dies("hello?")
    told = house.says("/whoami")
    (row,) = house.quarantine()
    assert (row["kind"], row["reason"], row["excerpt"]) == ("message", "crashed_message", POISON)
    assert "I crashed repeatedly while processing a message from terminal.main.owner" in told
    assert f"strandline quarantine retry {row['id']}" in told
    assert "could not process your last message" in told
    assert "my owner" in told
    listed = house.strandline("quarantine", "list").stdout
    assert listed.startswith(f"{row['id']}  message of ")
    assert "poison" in listed
    assert "1 could not be processed" in house.strandline("status").stdout
    (house.folder / "medicine").touch()
    assert "is queued again" in house.strandline("quarantine", "retry", row["id"]).stdout
    assert "poison" in house.says("What is in the red bottle?")
    assert house.strandline("quarantine", "list").stdout == "The quarantine is empty.\n"
    assert house.strandline("quarantine", "retry", row["id"]).stderr.startswith("strandline: there is no row")


def test_a_reply_that_kills_the_gateway_twice_is_quarantined(house: House) -> None:
    """It lies in the outbox and is formatted before anything else: the third start goes on without it."""
    house.program = ("-c", DEADLY_FORMATTER)
    house.dies(POISON)
    house.dies("hello?")
    told = house.says("/whoami")
    assert "my owner" in told
    assert "I crashed repeatedly while processing a reply" in told
    house.program = GATEWAY
    (row,) = house.quarantine()
    assert row["kind"] == "reply"
    assert "poison" in row["excerpt"]
    assert "Deleted" in house.strandline("quarantine", "drop", row["id"]).stdout
    assert house.quarantine() == []
