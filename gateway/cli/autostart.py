"""`strandline service`: has the system start the gateway when you log in: a systemd user unit, or a launchd agent."""

import plistlib
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from msgspec import Struct

from gateway.cli.call import Call
from gateway.cli.command_group import command_app
from gateway.cli.invocation import Invocation, config_of
from gateway.errors import ConfigError, StrandlineError
from gateway.home import Home

app = command_app("Have the system start the gateway: install, uninstall.")

LABEL = "dev.strandline.gateway"
"""Name of the launchd agent."""
UNIT = "strandline.service"
STOPS_WITHIN_S = 60
"""Longer than `limits.drain_s`: what was begun is finished."""
_NO_LOGIN = (
    ". A user's services need a login of that user's own, which su and sudo do not make: log in directly, or run once: "
    'sudo loginctl enable-linger "$USER"'
)
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Print what would be written and run; do neither.")]


class Service(Struct, frozen=True):
    """A file that describes the gateway to the system, and the commands that take it up and put it away."""

    file: Path
    text: str
    start: tuple[tuple[str, ...], ...]
    stop: tuple[tuple[str, ...], ...]
    hint: str


@app.command()
def install(call: Call, dry_run: DryRunOption = False) -> None:
    """Start the gateway now, and whenever you log in; it is restarted after a crash."""
    place = call.home
    if not dry_run:
        call.invocation.refuse_absent(place)
    service = service_of(sys.platform, _program(call.invocation), place)
    if dry_run:
        print(f"# {service.file}\n{service.text}")
        _show(service.start)
        return
    config_of(place)
    is_new = not service.file.exists()
    if is_new:
        with place.folder_lock():  # a gateway that was started by hand would keep out the service, which ends for good
            pass
    service.file.parent.mkdir(parents=True, exist_ok=True)
    service.file.write_text(service.text, "utf-8")
    try:
        _run(service.start)
    except StrandlineError:
        if is_new:
            service.file.unlink()
        raise
    print(f"Wrote {service.file}.\nThe gateway runs from now on. {service.hint}")


@app.command()
def uninstall(call: Call, dry_run: DryRunOption = False) -> None:
    """Stop the gateway and no longer start it automatically; its home stays."""
    service = service_of(sys.platform, _program(call.invocation), call.home)
    if dry_run:
        _show((*service.stop, ("rm", str(service.file))))
        return
    if not service.file.exists():
        raise StrandlineError(f"there is no {service.file}; nothing was installed")
    _run(service.stop)
    service.file.unlink()
    print(f"Removed {service.file}; the home stays.")


def service_of(platform: str, program: Sequence[str], home: Home) -> Service:
    """Return the service that runs *program* on *home*. Raises ConfigError for a *platform* that has none of ours."""
    words = [*program, "up", "--home", str(home.path)]
    if any(char in word for word in words for char in "\n\r\0"):
        raise ConfigError("the path of the home or of the program has a line break; choose another one")
    match platform:
        case "darwin":
            return _launchd(words, home)
        case "linux":
            return _systemd(words)
    raise ConfigError(f"there is no service for {platform}; start it by a service of your own: {' '.join(words)}")


def _systemd(words: Sequence[str]) -> Service:
    text = f"""\
# Written by `strandline service install`; it overwrites changes.
[Unit]
Description=Strandline, a gateway to agents that remember

[Service]
Type=exec
ExecStart={" ".join(map(_quoted, words))}
UMask=0077
Restart=on-failure
RestartSec=2
# 2: the configuration is wrong, 3: another process owns the home. To try again cannot help.
RestartPreventExitStatus=2 3
TimeoutStopSec={STOPS_WITHIN_S}
KillMode=mixed
NoNewPrivileges=yes

[Install]
WantedBy=default.target
"""
    systemctl = ("systemctl", "--user")
    return Service(
        Path("~/.config/systemd/user").expanduser() / UNIT,
        text,
        ((*systemctl, "daemon-reload"), (*systemctl, "enable", "--now", UNIT), (*systemctl, "restart", UNIT)),
        ((*systemctl, "disable", "--now", UNIT),),
        f"Its log: journalctl --user -u {UNIT}. To have it run while you are logged out: loginctl enable-linger",
    )


def _launchd(words: Sequence[str], home: Home) -> Service:
    file = Path("~/Library/LaunchAgents").expanduser() / f"{LABEL}.plist"
    log = str(home.service_log)
    table = {
        "Label": LABEL,
        "ProgramArguments": [*words],
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": 10,
        "ExitTimeOut": STOPS_WITHIN_S,
        "Umask": 0o077,
        "StandardOutPath": log,
        "StandardErrorPath": log,
    }
    return Service(
        file,
        plistlib.dumps(table).decode(),
        (("launchctl", "load", "-w", str(file)),),
        (("launchctl", "unload", "-w", str(file)),),
        f"Its log: {log}",
    )


def _program(invocation: Invocation) -> tuple[str, ...]:
    """Return the command that starts this very installation, whatever directory the service runs in."""
    words = invocation.program.split()
    found = shutil.which(words[0]) if len(words) == 1 else None
    return (str(Path(found).absolute()),) if found else (sys.executable, "-m", "gateway")


def _quoted(word: str) -> str:
    """Return *word* for a unit's command line, where `%` and `$` stand for something else."""
    plain = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{plain}"'


def _show(commands: Sequence[Sequence[str]]) -> None:
    for words in commands:
        print(f"$ {' '.join(words)}")


def _run(commands: Sequence[Sequence[str]]) -> None:
    for words in commands:
        try:
            subprocess.run(words, check=True, capture_output=True, text=True, timeout=STOPS_WITHIN_S + 30)  # noqa: S603
        except FileNotFoundError as exc:
            raise StrandlineError(f"there is no {words[0]} here; --dry-run shows its commands") from exc
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as exc:
            said = " ".join(str(exc.stderr or exc).split())
            raise StrandlineError(f"`{' '.join(words)}` failed: {said}{_NO_LOGIN if 'to bus' in said else ''}") from exc
