"""Each check of `strandline doctor`, provoked: the fault shows under its id, with what is wrong."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from gateway.cli.doctor.doctor import check_python
from gateway.control.finding import Finding, Level, findings_of
from gateway.control.status_wire import AgentStatus, ChannelStatus, Status
from tests.gateway.cli.doctor.patient import Patient

ROOT = Path(__file__).parents[4]
BOT = '[channels.telegram.home]\ntoken_env = "T"\nbase_url = "http://127.0.0.1:9"\n'


@dataclass(frozen=True, slots=True)
class Home:
    """A home with a fault."""

    level: str
    says: str
    config: str = ""
    modes: Mapping[str, int] = field(default_factory=dict)
    """Permissions of places in it."""
    files: Mapping[str, str] = field(default_factory=dict)
    command: tuple[str, ...] = ("doctor",)


def failed(kind: str, said: str) -> str:
    """Return the record of a failed backup or restore on trial."""
    return json.dumps({kind: {"at": "2026-11-24T09:00:00+00:00", "is_good": False, "said": said}})


HOMES = {
    "home": Home("warn", "others can read", modes={".": 0o755}),
    "configuration": Home("fail", "did you mean gateway?", "[gatewy]\n"),
    "time-zone": Home("warn", "write time_zone = ", "[limits]\n"),
    "model": Home("warn", "has no language model"),
    "channels": Home("ok", "terminal, telegram.home", f'{BOT}direct = "closed"\n'),
    "policy": Home("fail", "is not a policy", f'{BOT}direct = "opne"\n'),
    "bot": Home("warn", "telegram.home cannot be checked", f'{BOT}direct = "closed"\n'),
    "secret": Home("fail", "MISSING is not set", '[mcp.gone]\ncommand = ["true"]\nenv_from = ["MISSING"]\n'),
    "disabled": Home(
        "warn", "hooks/on-reply: disabled since a backup", files={"disabled": '{"disabled": ["hooks/on-reply"]}'}
    ),
    "backup": Home("warn", "09:00: the disk is full", files={"run/backups.json": failed("backup", "the disk is full")}),
    "drill": Home("warn", "09:00: no key", files={"run/backups.json": failed("drill", "no key")}),
    "exposure": Home("ok", "open to nobody else"),
    "exposure-secrets": Home(
        "fail", "others on this machine can read", files={"secrets.toml": ""}, modes={"secrets.toml": 0o644}
    ),
    "exposure-code": Home("fail", "can change", files={"hooks/reply": "#!/bin/sh\n"}, modes={"hooks/reply": 0o722}),
    "exposure-address": Home("warn", "protected by their token alone", "[gateway]\nallow_remote = true\n"),
    "exposure-group": Home(
        "warn", "every bot there", f'{BOT}direct = "closed"\n[channels.telegram.home.groups."-5"]\nbots = true\n'
    ),
    "exposure-tools": Home("warn", "mcp.box: all its tools", '[mcp.box]\ncommand = ["true"]\nsessions = ["group"]\n'),
    "page": Home("warn", "its address changes with each start", "[web]\nenabled = true\nport = 0\n"),
    "memory": Home("warn", "is not indexed"),
    "qdrant": Home("fail", "does not answer", '[qdrant]\nurl = "http://127.0.0.1:1"\n'),
    "redis": Home("fail", "", '[redis]\nurl = "unix:///nowhere/redis.sock"\n'),
    "tool-server.gone": Home("warn", "cannot be started", '[mcp.gone]\ncommand = ["/nowhere/at-all"]\n'),
    "fixed": Home("ok", "is now closed to others", modes={".": 0o755}, command=("doctor", "--fix")),
}
AGENT = ("main", "stub", None)
STATES: Mapping[str, dict[str, Any]] = {
    "history": {"agents": (AgentStatus(*AGENT, history="the disk is full"),)},
    "files": {"agents": (AgentStatus(*AGENT, left_out="A.md"),)},
    "prompt": {"agents": (AgentStatus(*AGENT, cut_files="MEMORY.md"),)},
    "store": {"store_trouble": "it is locked"},
    "outbox": {"outbox_dead": 2},
    "quarantine": {"quarantined": 2},
    "approvals": {"approvals_waiting": 2},
    "repaired": {"repairs": ("the history of main",)},
    "waiting": {"waits_for": ("the files of main",)},
    "unusable": {"troubles": ("tool server box",)},
    "channel": {"channels": (ChannelStatus("telegram", "home", "refused", "HTTP 401"),)},
}
BY_THEMSELVES = {"python", "git", "disk", "plug-in", "settings", "gateway"}
"""Each has a test of its own, below, in `test_doctor.py` or in `test_settings_watch.py`."""


def explained() -> set[str]:
    """Return the ids that the page about monitoring explains."""
    page = (ROOT / "docs/monitoring.md").read_text("utf-8")
    table = page[page.index("| Id of a check |") :].partition("\n\n")[0]
    return set(re.findall(r"^\| `([a-z.A-Z-]+)` \|", table, re.MULTILINE))


def test_every_check_is_provoked() -> None:
    """A new one needs its row."""
    rows = {*STATES, *BY_THEMSELVES, *(check.replace(".gone", ".NAME") for check in HOMES)}
    assert rows == explained()


@pytest.mark.parametrize("check", HOMES)
def test_a_fault_of_the_home_shows_under_its_id(patient: Patient, check: str) -> None:
    """Levels that fail end the command with 1 or 2."""
    made, place = HOMES[check], patient.home
    if made.config:
        zone = "" if check in {"configuration", "time-zone"} else '[owner]\ntime_zone = "UTC"\n'
        place.write(place.config_file, zone + made.config)
    for name, text in made.files.items():
        file = place.disabled_code if name == "disabled" else place.path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, "utf-8")
    for name, mode in made.modes.items():
        (place.path / name).chmod(mode)
    status, found = patient.findings({"T": "123456:a-token-for-tests"}, *made.command[1:])
    level, detail = found[check]
    assert (level, made.says in detail) == (made.level, True), detail
    assert (status > 0) == any(each == "fail" for each, _ in found.values())


@pytest.mark.parametrize("check", STATES)
def test_a_fault_of_a_running_gateway_shows_under_its_id(check: str) -> None:
    """And nothing else does."""
    state = Status("1", "/home", True, 1.5, "UTC", "owner.time_zone", **STATES[check])
    assert [(each.check, each.level is Level.OK) for each in findings_of(state)] == [(check, False)]


def test_an_old_python_is_found() -> None:
    assert check_python((3, 10)) == Finding(
        "python", Level.FAIL, check_python((3, 11)).detail, "install Python 3.11 or newer"
    )


def test_a_missing_git_is_found(patient: Patient, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a warning: what is written is recorded all the same."""
    monkeypatch.setenv("PATH", "/nowhere")
    status, found = patient.findings()
    assert (status, found["git"][0]) == (0, "warn")
    assert "install git" in found["git"][1]
