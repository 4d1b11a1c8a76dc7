import sys
from collections import namedtuple
from pathlib import Path

import pytest

from gateway.cli.doctor.doctor import check_disk, check_python
from gateway.control.finding import Finding, Level, findings_of
from gateway.control.status_wire import AgentStatus, Status
from gateway.control.wire import MemorySearchAnswer, SearchOrder
from gateway.errors import GatewayBusyError
from gateway.home import Home
from tests.fakes.packages import Install
from tests.gateway.cli.doctor.patient import Patient
from tests.gateway.test_plugins import CODE, SMOKE
from workspaces.secrets import REMOVED

Usage = namedtuple("Usage", ["total", "used", "free"])


def test_a_sound_home_passes_and_its_limits_are_said(patient: Patient) -> None:
    """Status 0; no language model and keyword search are warnings, each with its reason."""
    status, found = patient.findings()
    assert status == 0
    assert {check for check, (level, _) in found.items() if level == "ok"} >= {
        "python",
        "home",
        "configuration",
        "gateway",
    }
    assert found["model"][0] == "warn"
    assert "no embedder" in found["memory"][1] or "not UTF-8" in found["memory"][1]
    assert patient.gateway.with_channels == [False]


def test_each_finding_is_shown_to_people_with_its_mending(patient: Patient) -> None:
    """One line for what is, one for what to do."""
    _, out = patient.run("doctor")
    assert f"ok    home: {patient.home.path}" in out
    assert "      → connect one: strandline connect model" in out


def test_a_gateway_between_two_runs_is_asked_again(patient: Patient, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its next run answers; one that is busy the second time, too, is a fault."""
    search, refusals = patient.gateway.operator.search, [1]

    async def busy(order: SearchOrder) -> MemorySearchAnswer:
        if refusals and refusals.pop():
            raise GatewayBusyError("the gateway takes up its new settings; try again in a moment")
        return await search(order)

    monkeypatch.setattr(patient.gateway.operator, "search", busy)
    status, found = patient.findings()
    assert (status, found["gateway"][0]) == (0, "ok")
    refusals += [1, 1]
    status, found = patient.findings()
    assert (status, found["gateway"][0]) == (1, "fail")


def test_a_wrong_setting_fails_before_anything_is_tried(patient: Patient) -> None:
    """The line that `up` would give; no gateway is composed."""
    patient.home.config_file.write_text("[gatewy]\n", "utf-8")
    status, found = patient.findings()
    assert (status, found["configuration"][0]) == (2, "fail")
    assert "did you mean gateway?" in found["configuration"][1]
    assert patient.gateway.with_channels == []


def test_a_missing_secret_fails_and_names_the_variable(patient: Patient) -> None:
    """Told before a start is tried; with the variable set it passes."""
    patient.home.config_file.write_text(
        '[owner]\npeople = ["telegram:1"]\n[channels.telegram.home]\ntoken_env = "BOT"\n'
        'base_url = "http://127.0.0.1:9"\n',
        "utf-8",
    )
    status, found = patient.findings()
    assert (status, found["secret"][0]) == (1, "fail")
    assert "BOT is not set" in found["secret"][1]
    status, found = patient.findings({"BOT": "12345:canary"})
    assert (status, found["secret"][0]) == (0, "ok")
    assert "canary" not in str(found)


def test_a_model_whose_client_is_not_installed_fails_and_says_what_installs_it(
    patient: Patient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is imported to find out; with the client there the model passes."""
    patient.home.config_file.write_text(
        '[agents.main]\nmodel = "claude"\n[models.claude]\nprovider = "anthropic"\nmodel = "claude-sonnet-5"\n'
        'api_key_env = "ANTHROPIC_API_KEY"\n',
        "utf-8",
    )
    environ = {"ANTHROPIC_API_KEY": "canary"}
    assert patient.findings(environ)[1]["model"][0] == "ok"
    monkeypatch.setitem(sys.modules, "anthropic", None)
    status, found = patient.findings(environ)
    assert (status, found["model"][0]) == (1, "fail")
    assert "-m pip install 'anthropic==" in found["model"][1]


def test_each_package_that_cannot_be_used_is_named_and_nothing_else_fails(patient: Patient, install: Install) -> None:
    """Configured or not; one that works is listed with its package."""
    install("smoke-signals", SMOKE, CODE)
    install("broken", "[strandline.channels]\nfog = broken:Settings\n", "import not_there")
    status, out = patient.run("doctor")
    assert status == 0
    assert "ok    plug-in: strandline.channels smoke (smoke-signals)" in out
    assert 'warn  plug-in: broken: the entry point "fog" of strandline.channels (broken:Settings) cannot be' in out
    assert "ok    git" in out


def test_an_open_home_is_a_warning_with_the_command(patient: Patient) -> None:
    """Other users of the machine could read it."""
    patient.home.path.chmod(0o755)
    status, found = patient.findings()
    assert (status, found["home"][0]) == (0, "warn")
    assert f"chmod -R go= {patient.home.path}" in found["home"][1]


def test_a_missing_secret_is_named_once(patient: Patient) -> None:
    """And not again for each model, bot and part that fails without it."""
    patient.home.config_file.write_text(
        "[models.c]\nprovider = 'cohere'\nmodel = 'm'\napi_key_env = 'CO_API_KEY'\n[agents.main]\nmodel = 'c'\n"
        "[channels.telegram.home]\ntoken_env = 'BOT_TOKEN'\n",
        "utf-8",
    )
    _, out = patient.run("doctor")
    assert (out.count("CO_API_KEY is not set"), out.count("BOT_TOKEN is not set")) == (1, 1)


def test_a_guessed_time_zone_is_a_warning(patient: Patient) -> None:
    """Days would change with the machine's settings."""
    patient.home.config_file.write_text("", "utf-8")
    _, found = patient.findings({"TZ": "Asia/Tokyo"})
    assert found["time-zone"][0] == "warn"
    assert "the environment variable TZ" in found["time-zone"][1]


def test_a_home_in_use_by_somebody_mute_fails(patient: Patient) -> None:
    """A process owns it and cannot be asked."""
    with patient.home.lock("somebody"):
        status, found = patient.findings()
    assert (status, found["gateway"][0]) == (1, "fail")
    assert "in use by" in found["gateway"][1]


def test_without_a_home_the_doctor_says_how_to_make_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And makes none."""
    patient = Patient(tmp_path / "absent", capsys)
    status, found = patient.findings()
    assert (status, found["home"][0]) == (0, "warn")
    assert "strandline init" in found["home"][1]
    assert not patient.home.path.exists()


@pytest.mark.parametrize(("free", "level"), [(10**11, Level.OK), (5 * 10**8, Level.WARN), (10**7, Level.FAIL)])
def test_a_full_disk_is_seen(free: int, level: Level, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Measured where the home is, or will be."""
    asked: list[Path] = []

    def usage(place: Path) -> Usage:
        asked.append(place)
        return Usage(10**12, 0, free)

    monkeypatch.setattr("shutil.disk_usage", usage)
    assert check_disk(Home(tmp_path / "not" / "yet")).level is level
    assert asked == [tmp_path]


def test_an_old_python_fails() -> None:
    """The packages would not even install."""
    assert check_python((3, 10)).level is Level.FAIL
    assert check_python((3, 11)).level is Level.OK


@pytest.mark.parametrize(
    ("extra", "level", "says"),
    [
        ("", "warn", "its window is assumed to be 32,000 tokens"),
        ("window_tokens = 64000", "ok", "agent main: qwen"),
    ],
)
def test_a_model_whose_window_is_assumed_is_named(patient: Patient, extra: str, level: str, says: str) -> None:
    """At an address of one's own it may be smaller, and some servers cut what is too long without a word."""
    model = f'[models.home]\nprovider = "openai"\nmodel = "qwen"\nbase_url = "http://127.0.0.1:9/v1"\n{extra}\n'
    patient.home.config_file.write_text(f'[agents.main]\nmodel = "home"\n{model}', "utf-8")
    _, found = patient.findings()
    assert found["model"][0] == level
    assert says in found["model"][1]


def test_quarantined_rows_are_a_warning() -> None:
    """How many there are now, with the command that shows them; an empty quarantine is no finding."""

    def finding(quarantined: int) -> list[tuple[str, str]]:
        state = Status("1", "/home", True, 1.5, "UTC", "owner.time_zone", quarantined=quarantined)
        return [(each.detail, each.mend) for each in findings_of(state) if each.check == "quarantine"]

    assert finding(2) == [("2 rows could not be processed and are in quarantine", "strandline quarantine list")]
    assert finding(0) == []


def test_no_finding_shows_a_secret(patient: Patient) -> None:
    """A program whose command holds the key that it is given is named without it."""
    settings = '[mcp.gone]\ncommand = ["/nowhere/canary-of-the-doctor"]\nenv_from = ["DOOR_KEY"]\n'
    patient.home.write(patient.home.config_file, patient.home.config_file.read_text("utf-8") + settings)
    _, found = patient.findings({"DOOR_KEY": "canary-of-the-doctor"})
    assert f"/nowhere/{REMOVED}" in found["tool-server.gone"][1]
    assert "canary-of-the-doctor" not in str(found)


def test_files_that_are_left_out_are_a_warning_with_the_command() -> None:
    """Of each agent that has any."""
    agents = (AgentStatus("main", "stub", None, left_out="A.md (it is a link)", left_out_mend="cp A.md"),)
    fine = AgentStatus("other", "stub", None)
    state = Status("1", "/home", True, 1.5, "UTC", "owner.time_zone", agents=(*agents, fine))
    assert list(findings_of(state)) == [Finding("files", Level.WARN, "agent main skips A.md (it is a link)", "cp A.md")]


def test_files_that_are_cut_in_the_prompt_are_a_warning() -> None:
    """With how much is shown, and how to mend it."""
    agents = (
        AgentStatus(
            "main",
            "stub",
            None,
            cut_files="MEMORY.md (20,000 of 25,000 characters are shown)",
            cut_files_mend="shorten it",
        ),
    )
    state = Status("1", "/home", True, 1.5, "UTC", "owner.time_zone", agents=agents)
    said = "agent main, cut in its prompt: MEMORY.md (20,000 of 25,000 characters are shown)"
    assert list(findings_of(state)) == [Finding("prompt", Level.WARN, said, "shorten it")]


@pytest.mark.parametrize(("key", "level"), [("password", "warn"), ("a-longer-password", "ok")])
def test_a_secret_that_cannot_be_told_from_words_is_a_warning(patient: Patient, key: str, level: str) -> None:
    """It would stand in texts unseen, and the owner is told what to do."""
    settings = '[mcp.gone]\ncommand = ["/nowhere/at-all"]\nenv_from = ["DOOR_KEY", "USER"]\n'
    patient.home.write(patient.home.config_file, patient.home.config_file.read_text("utf-8") + settings)
    _, found = patient.findings({"DOOR_KEY": key, "USER": "ann"})
    assert found["secret"][0] == level
    assert ("mcp.gone.env_from is too short" in found["secret"][1]) == (level == "warn")


def test_what_others_could_read_or_reach_is_named_and_mended(patient: Patient) -> None:
    """Files of keys that others can read fail, and `--fix` closes them; open groups and tools are warnings."""
    home = patient.home
    home.secrets_file.write_text('CO_API_KEY = "a-secret-of-the-home"\n', "utf-8")
    home.secrets_file.chmod(0o644)
    home.path.chmod(0o755)
    home.config_file.write_text(
        '[channels.telegram.home]\ntoken_env = "T"\ndirect = "closed"\n'
        '[channels.telegram.home.groups."-5"]\nbots = true\nmay_end = "everyone"\n'
        '[mcp.box]\ncommand = ["true"]\nsessions = ["main", "group"]\n[gateway]\nallow_remote = true\n',
        "utf-8",
    )
    status, found = patient.findings()
    assert status == 1
    assert found["exposure-secrets"][0] == "fail"
    assert {"exposure-group", "exposure-tools", "exposure-address"} <= set(found)
    fixed = patient.run("doctor", "--fix")[1]
    assert f"{home.secrets_file} is now closed to others" in fixed
    assert "owner.time_zone is now" in fixed
    assert oct(home.secrets_file.stat().st_mode)[-3:] == oct(home.config_file.stat().st_mode)[-3:] == "600"
    assert "exposure-secrets" not in patient.findings()[1]
    assert "fixed" not in patient.run("doctor", "--fix")[1]
