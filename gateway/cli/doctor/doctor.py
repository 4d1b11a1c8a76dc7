"""`strandline doctor`: finds anything that would keep a gateway from working, with its remedy."""

import asyncio
import platform
import shutil
import stat
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from datetime import tzinfo
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.agent.models.optional_packages import missing_extra
from gateway.cli.call import JsonCall
from gateway.cli.connect import reach
from gateway.cli.doctor.channels import check_bots
from gateway.cli.doctor.exposure import check_exposure
from gateway.cli.doctor.mending import mend_home
from gateway.cli.doctor.plugins import check_plugins
from gateway.cli.doctor.servers import check_servers
from gateway.cli.doctor.tool_servers import check_tool_servers
from gateway.cli.doctor.web import check_http_door
from gateway.cli.invocation import Invocation, config_of, plain_fields, print_json
from gateway.cli.status import memory_line
from gateway.control.expected_errors import EXPECTED, operator_error
from gateway.control.finding import Finding, Level, findings_of, memory_findings, probe_findings
from gateway.control.operator_api import OperatorApi
from gateway.control.probe_wire import ProbeOrder
from gateway.control.remote import running_settings
from gateway.control.settings_wire import SettingsReport
from gateway.control.status_wire import MemoryOrder, StatusOrder
from gateway.control.wire import SearchOrder
from gateway.errors import ConfigError, GatewayBusyError, first_error
from gateway.home import Home
from gateway.runtime.escape import visible

if TYPE_CHECKING:
    from gateway.config import Config

LOW_DISK = 1_000_000_000
NO_DISK = 100_000_000
"""Free bytes below which the check warns or fails; our choice."""
OLDEST_PYTHON = (3, 11)
_CORRECT = "correct that file (config.toml with: strandline config edit), or its owner and permissions"
_SERVERS = {"redis", "qdrant"}
"""Checks whose failure would keep the gateway from being asked."""


def doctor(
    call: JsonCall,
    fix: Annotated[
        bool, typer.Option("--fix", help="Mend what can be mended safely: permissions, the time zone.")
    ] = False,
    drill: Annotated[
        bool,
        typer.Option(
            "--drill", help="Restore the newest backup to a folder of its own instead, and ask it about notes."
        ),
    ] = False,
) -> None:
    """Check everything a gateway needs. Each model gets one small call; each fault has its remedy.

    Exit status 1 if something does not work, 2 if the configuration cannot be read.
    """
    place = call.home
    mended = mend_home(place, call.invocation.environ) if fix else []
    findings = [*mended, *asyncio.run((_drill if drill else _examine)(call.invocation, place))]
    if call.as_json:
        print_json({"findings": [plain_fields(finding) for finding in findings]})
    else:
        for finding in findings:
            print(visible(f"{finding.level:<5} {finding.check}: {finding.detail}"))
            if finding.mend:
                print(visible(f"      → {finding.mend}"))
    failed = {finding.check for finding in findings if finding.level is Level.FAIL}
    if failed:
        raise typer.Exit(2 if "configuration" in failed else 1)


async def _examine(invocation: Invocation, home: Home) -> list[Finding]:
    from gateway.config import owner_zone

    findings = [check_python(sys.version_info[:2]), check_git(), check_home(home, invocation), check_disk(home)]
    try:
        findings += check_plugins()
        config = config_of(home)
        environ = invocation.environ_of(home)
    except ConfigError as exc:
        return [
            *findings,
            Finding("configuration", Level.FAIL, str(exc), _CORRECT),
        ]
    invocation.guard(config, home)
    control = home.control()
    report = await running_settings(control) if control is not None else None
    findings += [
        *check_config(config, home, environ),
        *check_disabled(home),
        *check_backups(home, owner_zone(config.owner.time_zone, environ).zone),
        *check_exposure(config, home),
    ]
    if report is None:  # a running gateway has its own environment, and is asked instead
        findings += [*_secrets(config, environ)]
        findings += [finding async for finding in check_servers(config, environ)]
    elif report.fault:
        findings.append(_settings(report))
    findings += [finding async for finding in check_http_door(config, environ)]
    has_servers = not any(finding.level is Level.FAIL and finding.check in _SERVERS for finding in findings)
    if home.exists and has_servers:
        if report is None:
            findings += [finding async for finding in check_bots(config, environ)]
            findings += [finding async for finding in check_tool_servers(config, environ, home)]
        findings += await _work(invocation, home)
    return [*_said_once(findings)]


def _said_once(findings: Sequence[Finding]) -> Iterator[Finding]:
    """Leave out faults that an earlier one names, such as the missing secret for which a bot and a model fail too."""
    named: list[str] = []
    for each in findings:
        if each.level is not Level.OK:
            if any(each.detail in one or one in each.detail for one in named):
                continue
            named.append(each.detail)
        yield each


async def _drill(invocation: Invocation, home: Home) -> list[Finding]:
    from gateway.app.drill import drill
    from gateway.observability.logs import logging_to_stderr

    if not home.exists:
        raise ConfigError(f"there is no home at {home.path}; make one: {invocation.command('init', home)}")
    config = config_of(home)
    invocation.guard(config, home)
    with logging_to_stderr("error", "text"):
        outcome = await drill(home, config, invocation.environ_of(home))
    if outcome.is_good:
        return [Finding("drill", Level.OK, outcome.said)]
    return [Finding("drill", Level.FAIL, outcome.said, "make a new backup, then: strandline doctor --drill")]


def check_backups(home: Home, zone: tzinfo) -> Iterator[Finding]:
    """Report the latest automatic backup and the latest drill, if there were any; *zone* is the owner's."""
    from gateway.backup.automatic import BACKUP, outcomes

    for kind, outcome in outcomes(home).items():
        said = f"{outcome.at.astimezone(zone):%Y-%m-%d %H:%M}: {outcome.said}"
        mend = "" if outcome.is_good else "see Backup and restore in: strandline docs operations"
        level = Level.OK if outcome.is_good else Level.WARN
        yield Finding("backup" if kind == BACKUP else "drill", level, said, mend)


# --- prerequisites


def check_python(version: tuple[int, int]) -> Finding:
    """Check that this Python is new enough."""
    if version < OLDEST_PYTHON:
        return Finding("python", Level.FAIL, platform.python_version(), "install Python 3.11 or newer")
    return Finding("python", Level.OK, platform.python_version())


def check_git() -> Finding:
    """Check for the git program, which reads the history of agents' files; writing needs none."""
    program = shutil.which("git")
    if program is None:
        detail = "git is not installed: changes to files are recorded, but cannot be shown or exported"
        return Finding("git", Level.WARN, detail, "install git")
    return Finding("git", Level.OK, program)


def check_home(home: Home, invocation: Invocation) -> Finding:
    """Check that the home exists and is closed to other users."""
    if not home.exists:
        return Finding("home", Level.WARN, f"{home.path} is not set up yet", f"run: {invocation.command('init', home)}")
    places = [place for place in (home.path, home.config_file) if place.exists()]
    open_places = [str(place) for place in places if stat.S_IMODE(place.stat().st_mode) & 0o077]
    if open_places:
        return Finding(
            "home", Level.WARN, f"others can read {', '.join(open_places)}", f"run: chmod -R go= {home.path}"
        )
    return Finding("home", Level.OK, str(home.path))


def check_disabled(home: Home) -> Iterator[Finding]:
    """Report hooks and commands disabled since a restore brought them along."""
    if disabled := home.disabled():
        detail = f"{', '.join(disabled)}: disabled since a backup was restored"
        yield Finding("disabled", Level.WARN, detail, "read them, then: strandline hooks enable")


def check_disk(home: Home) -> Finding:
    """Check free space for notes and an index."""
    place = next(folder for folder in (home.path, *home.path.parents) if folder.is_dir())
    free = shutil.disk_usage(place).free
    level = Level.FAIL if free < NO_DISK else Level.WARN if free < LOW_DISK else Level.OK
    return Finding(
        "disk", level, f"{free / 1e9:.1f} GB free", "" if level is Level.OK else "free some space, or move the home"
    )


def check_config(config: "Config", home: Home, environ: Mapping[str, str]) -> list[Finding]:
    """Check the configuration: time zone, models, secrets, channels."""
    return [
        Finding("configuration", Level.OK, str(home.config_file) if home.config_file.exists() else "defaults; no file"),
        _zone(config, environ),
        *_models(config),
        Finding("channels", Level.OK, ", ".join(["terminal", *_bots(config)])),
        *_policies(config),
    ]


def _bots(config: "Config") -> Iterator[str]:
    yield from (f"{bot.channel}.{account}" for account, bot in config.channels.bots())


def _policies(config: "Config") -> Iterator[Finding]:
    for account, bot in config.channels.bots():
        if fault := bot.fault(account):
            yield Finding("policy", Level.FAIL, fault, "set one of them, as explained by: strandline docs access")


def _zone(config: "Config", environ: Mapping[str, str]) -> Finding:
    from gateway.config import owner_zone

    zone = owner_zone(config.owner.time_zone, environ)
    is_set = config.owner.time_zone is not None
    mend = "" if is_set else f'write time_zone = "{zone.name}", or your own, under [owner]'
    return Finding("time-zone", Level.OK if is_set else Level.WARN, f"{zone.name} (from {zone.source})", mend)


def _models(config: "Config") -> Iterator[Finding]:
    for agent, settings in config.agents.items():
        if settings.model == "offline":
            mend = "connect one: strandline connect model"
            yield Finding(
                "model", Level.WARN, f"agent {agent} has no language model, the offline responder answers", mend
            )
        else:
            yield _model(agent, settings.model, config)


def _model(agent: str, name: str, config: "Config") -> Finding:
    settings = config.models[name]
    detail = f"agent {agent}: {settings.model}"
    if install := missing_extra(settings.provider):
        return Finding("model", Level.FAIL, f"{detail}; the package for it is missing", f"run: {install}")
    if settings.window_tokens is not None:
        return Finding("model", Level.OK, detail)
    assumed = f"{detail}; its window is assumed to be {settings.window:,} tokens"
    is_own = settings.base_url is not None
    mend = f"set its window_tokens under [models.{name}], and start the server with the same number" if is_own else ""
    return Finding("model", Level.WARN if is_own else Level.OK, assumed, mend)


def _secrets(config: "Config", environ: Mapping[str, str]) -> Iterator[Finding]:
    from gateway.settings.secrets import ORDINARY
    from workspaces.secrets import is_guarded

    for source in config.secret_sources():
        try:
            secret = source.read(environ)
        except ConfigError as exc:
            yield Finding("secret", Level.FAIL, str(exc))
            continue
        if is_guarded(secret) or source.env in ORDINARY:
            yield Finding("secret", Level.OK, f"{source.key} is set")
        else:
            detail = f"{source.key} is too short to be told apart from ordinary words, so it is not removed from texts"
            yield Finding("secret", Level.WARN, detail, "make a longer one, such as: openssl rand -hex 32")


# --- function


def _settings(report: SettingsReport) -> Finding:
    """Report settings that the running gateway has not taken up; those read at a start are no fault."""
    if report.restart:
        return Finding("settings", Level.WARN, f"a change {report.fault}", "stop the gateway, and start it again")
    detail = f"the running gateway keeps its earlier settings: {report.fault}"
    return Finding("settings", Level.FAIL, detail, "correct it: strandline config edit")


async def _work(invocation: Invocation, home: Home, *, may_wait: bool = True) -> Sequence[Finding]:
    """Inspect a running gateway, or compose one; one that just takes up its settings is asked once more."""
    try:
        return [finding async for finding in _inspected(invocation, home)]
    except (*EXPECTED, OSError, ExceptionGroup) as exc:
        failure = operator_error(first_error(exc))
        if failure is None:
            raise
        if may_wait and isinstance(failure, GatewayBusyError):
            return await _work(invocation, home, may_wait=False)
        return [Finding("gateway", Level.FAIL, str(failure), "fix that first, then run doctor again")]


async def _inspected(invocation: Invocation, home: Home) -> AsyncIterator[Finding]:
    """Ask a gateway for its state, and search each agent's memory."""
    async with reach(invocation, home, "strandline doctor") as reached:
        state = await reached.operator.ask(StatusOrder())
        where = f"running at {reached.address}" if reached.address else "not running; configuration is valid"
        yield Finding("gateway", Level.OK, where)
        for agent in state.agents:
            for finding in await _memory(reached.operator, agent.agent):
                yield finding
        probed = await reached.operator.ask(ProbeOrder())
        for finding in (*probe_findings(probed), *findings_of(state, probed)):
            yield finding


async def _memory(operator: OperatorApi, agent: str) -> list[Finding]:
    """Check each memory's embedder and engine by a search."""
    found = await operator.ask(SearchOrder("strandline doctor", agent, 1))
    memory = await operator.ask(MemoryOrder(agent))
    detail = f"agent {agent}, {memory_line(memory)}"
    skipped = memory_findings(agent, memory)
    if found.mode == "keyword":
        why = Finding("memory", Level.WARN, f"{detail}; {found.reason}", "see [memory] in: strandline docs settings")
        return [why, *skipped]
    return [Finding("memory", Level.OK, detail), *skipped]
