"""The gateway as a service of its user: files that the system can read, and nothing is run by a look."""

import os
import plistlib
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from gateway.cli import main
from gateway.cli.autostart import UNIT, service_of
from gateway.errors import ConfigError
from gateway.home import Home

PROGRAM = ("/opt/my programs/100%/strandline",)


def run(*words: str) -> int:
    return main.run(["service", *words], {}, "strandline")


def test_a_unit_can_be_read_by_systemd(tmp_path: Path) -> None:
    """Blanks, percent and dollar signs of paths included."""
    program = tmp_path / "a %h $HOME" / "strandline"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    service = service_of("linux", (str(program),), Home(tmp_path / "my home"))
    assert 'a %%h $$HOME/strandline" "up" "--home"' in service.text
    if shutil.which("systemd-analyze") is None:
        pytest.skip("there is no systemd-analyze")
    unit = tmp_path / UNIT
    unit.write_text(service.text)
    told = subprocess.run(
        ["systemd-analyze", "--user", "verify", str(unit)], capture_output=True, text=True, check=False
    )
    assert UNIT not in told.stderr


def test_a_launchd_agent_is_a_property_list() -> None:
    """It is started at a login and after a crash, with the words as they are."""
    service = service_of("darwin", PROGRAM, Home(Path("/Users/nia/a b")))
    table = plistlib.loads(service.text.encode())
    assert table["ProgramArguments"] == [*PROGRAM, "up", "--home", "/Users/nia/a b"]
    assert table["KeepAlive"] == {"SuccessfulExit": False}
    assert table["StandardErrorPath"] == "/Users/nia/a b/run/service.log"
    assert service.file.name == f"{table['Label']}.plist"


def test_another_system_is_told_what_to_start() -> None:
    """And no path can add a line to a unit."""
    with pytest.raises(ConfigError, match="no service for win32"):
        service_of("win32", PROGRAM, Home(Path("/x")))
    with pytest.raises(ConfigError, match="line break"):
        service_of("linux", PROGRAM, Home(Path("/x\nExecStartPre=/bin/sh")))


def test_a_dry_run_writes_and_runs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It prints both."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    assert run("install", "--dry-run", "--home", str(tmp_path / "home")) == 0
    out = capsys.readouterr().out
    assert f"# {tmp_path}/.config/systemd/user/{UNIT}" in out
    assert f"$ systemctl --user enable --now {UNIT}" in out
    assert run("uninstall", "--dry-run") == 0
    assert [each.name for each in tmp_path.iterdir()] == []


def test_it_is_installed_and_taken_away_by_the_systems_own_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its own words of a failure are told; without a home there is nothing to start, and a gateway that was started by
    hand is in its way."""
    told, home = tmp_path / "told", str(tmp_path / "home")
    program = tmp_path / "bin" / "systemctl"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$@" >> {told}\n[ "$2" != fail ] || exit 1\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}/usr/bin{os.pathsep}/bin")
    monkeypatch.setattr("sys.platform", "linux")
    assert run("install", "--home", home) == 1
    assert "there is no home" in capsys.readouterr().err
    assert main.run(["init", "--yes", "--home", home], {}, "strandline") == 0
    assert run("install", "--home", home) == 0
    unit = tmp_path / ".config" / "systemd" / "user" / UNIT
    assert f'"--home" "{home}"' in unit.read_text()
    assert told.read_text().splitlines() == [
        "--user daemon-reload",
        f"--user enable --now {UNIT}",
        f"--user restart {UNIT}",
    ]
    assert run("uninstall", "--home", home) == 0
    assert not unit.exists()
    assert run("uninstall", "--home", home) == 1
    program.write_text("#!/bin/sh\necho Failed to connect to bus >&2\nexit 1\n")
    assert run("install", "--home", home) == 1
    assert "Failed to connect to bus. A user's services need a login" in capsys.readouterr().err
    assert not unit.exists()
    with Home(tmp_path / "home").lock("strandline up"):
        assert run("install", "--home", home) == 3
    assert "(strandline up); stop it first" in capsys.readouterr().err
