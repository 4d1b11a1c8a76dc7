"""`strandline doctor` on tool servers: lists the tools of each, and explains how to fix faults."""

import json
import sys
from pathlib import Path

from tests.gateway.cli.doctor.patient import Patient
from tests.zygote import FORKED

ROOT = Path(__file__).parents[4]
FAKE = f"{FORKED}import sys; sys.path.insert(0, {str(ROOT)!r}); from tests.fakes.tool_server import main; main('wrong')"


def with_servers(patient: Patient, *sections: str) -> None:
    config = patient.home.config_file.read_text("utf-8")
    patient.home.config_file.write_text("\n".join([config, *sections]), "utf-8")


def test_each_tool_server_is_asked_and_a_missing_one_is_no_failure(patient: Patient) -> None:
    """The gateway works without: a warning, with the line to try by hand."""
    with_servers(
        patient,
        '[mcp.gone]\ncommand = ["/nowhere/at-all", "a b"]',
        f"[mcp.good]\ncommand = [{json.dumps(sys.executable)}, '-c', {json.dumps(FAKE)}]\ntools = ['good']",
        '[mcp.closed]\nurl = "http://127.0.0.1:9"',
    )
    status, found = patient.findings()
    assert status == 0
    level, detail = found["tool-server.gone"]
    assert level == "warn"
    assert "/nowhere/at-all cannot be started: No such file or directory" in detail
    assert f"try it in {patient.home.path}: /nowhere/at-all 'a b'; its settings are under [mcp.gone]" in detail
    assert found["tool-server.good"] == ("warn", f"tool server good: 'good' is there twice → {mend(patient)}")
    assert found["tool-server.closed"][0] == "warn"
    assert "check that http://127.0.0.1:9 answers" in found["tool-server.closed"][1]


def mend(patient: Patient) -> str:
    import shlex

    line = shlex.join([sys.executable, "-c", FAKE])
    return f"try it in {patient.home.path}: {line}; its settings are under [mcp.good]"


def test_a_variable_that_is_missing_is_named(patient: Patient) -> None:
    """With the setting that names it."""
    with_servers(patient, '[mcp.tracker]\ncommand = ["true"]\nenv_from = ["TRACKER_TOKEN"]')
    status, found = patient.findings()
    assert status == 1
    assert "mcp.tracker.env_from: the environment variable TRACKER_TOKEN is not set" in found["secret"][1]
    assert "tool-server.tracker" not in found
