"""`strandline upgrade`: tries this version, or another one, on a copy of the home, and switches or stays."""

import asyncio
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from gateway.cli.call import JsonCall
from gateway.cli.invocation import Invocation, config_of, plain_fields, print_json
from gateway.home import Home
from gateway.runtime.escape import visible

if TYPE_CHECKING:
    from gateway.app.upgrading import Installation, UpgradeTrial

_SHOWN = 5
"""Differences of each topic that are shown."""

PythonOption = Annotated[
    Path | None,
    typer.Option(
        "--python",
        metavar="FILE",
        help="Python of another environment with Strandline: the newer version of both is tried (of equal ones the one "
        "installed later), and the last turns are replayed with both.",
    ),
]
StepOption = Annotated[Literal["open", "replay"] | None, typer.Option("--step", hidden=True)]


def upgrade(
    call: JsonCall,
    python: PythonOption = None,
    yes: Annotated[bool, typer.Option("--yes", help="Switch without a prompt if nothing differs.")] = False,
    step: StepOption = None,
) -> None:
    """Try a new version on a copy of the home, show every difference, and switch to it or stay.

    Makes a backup first. The home changes only if you switch. Exit status 1 if something differs.
    """
    from gateway.app.upgrading import backup_name, installation, refuse_newer, try_on_copy
    from gateway.cli.progress import progress_bar

    invocation, place = call.invocation, call.home
    invocation.refuse_absent(place)
    config = config_of(place)
    invocation.guard(config, place)
    environ = invocation.environ_of(place)
    if step is not None:
        asyncio.run(_step(invocation, place, step))
        return
    here, other = installation(None, environ), installation(python, environ) if python else None
    new, old = (here, other) if other is None or here.is_later(other) else (other, here)
    refuse_newer(place, new)
    used = f"Strandline {place.last_version}" if place.last_version else "an earlier version"
    if yes:
        _refuse_in_use(place)
    with progress_bar("Trying it on a copy") as progress:
        trial = try_on_copy(place, environ, new, old, place.backups / backup_name(new), progress)
    if not call.as_json:
        for line in _lines(trial, place, used, new, old):
            print(visible(line), flush=True)
    is_switched = _decide(trial, yes, new)
    if is_switched:
        _switch(invocation, place, new)
    if call.as_json:
        print_json(_as_json(trial, used, new, is_switched))
    elif is_switched:
        start = invocation.command("up", place) if new is here else f"{new.python} -m gateway up --home {place.path}"
        print(f"Switched to Strandline {new.version}. Next: {start}")
    else:
        print(_stayed(trial, is_replaced=other is None))
    if trial.differences and not is_switched:
        raise typer.Exit(1)


async def _step(invocation: Invocation, home: Home, step: str) -> None:
    from gateway.app.replay import replay
    from gateway.app.trial import RecordedClock, opened_copy
    from gateway.observability.logs import logging_to_stderr

    clock = RecordedClock()
    with logging_to_stderr("error", "text"):
        async with opened_copy(home, invocation.environ_of(home), clock) as app:
            if step == "replay":
                print_json(await replay(app, clock))


def _decide(trial: "UpgradeTrial", is_agreed: bool, new: "Installation") -> bool:
    """Return whether to switch: only a person switches in spite of differences."""
    if is_agreed and not trial.differences:
        return True
    return sys.stdin.isatty() and typer.confirm(f"Switch to Strandline {new.version}?", err=True)


def _stayed(trial: "UpgradeTrial", *, is_replaced: bool) -> str:
    """Return the next step; *is_replaced* if the earlier version is installed no longer."""
    words = ["Nothing was changed."]
    if not sys.stdin.isatty():
        words += ["To switch in spite of this, run it at a terminal." if trial.differences else "To switch, add --yes."]
    if trial.differences and is_replaced:
        words += ["To go on with the earlier version, install it again."]
    return " ".join(words)


def _refuse_in_use(home: Home) -> None:
    """Raise if a process uses *home*, which the message names."""
    with home.folder_lock():
        pass


def _switch(invocation: Invocation, home: Home, new: "Installation") -> None:
    from gateway.app.upgrading import switch

    _refuse_in_use(home)
    switch(home, new, invocation.environ_of(home))


def _lines(
    trial: "UpgradeTrial", home: Home, used: str, new: "Installation", old: "Installation | None"
) -> Iterator[str]:
    from gateway.app.upgrading import BACKUPS_KEPT

    yield f"home      {home.path}, last used by {used}"
    yield (
        f"backup    {trial.backup.file}: {trial.backup.files:,} files, {trial.backup.bytes:,} bytes; the newest "
        f"{BACKUPS_KEPT} of these are kept"
    )
    if trial.counts:
        yield f"compared  on a copy, Strandline {new.version} with the home: " + ", ".join(
            f"{topic} {count:,}" for topic, count in trial.counts.items()
        )
    if trial.turns and old is not None:
        yield f"replayed  the last {trial.turns} turns, by {old} and by {new}"
    elif trial.turns:
        yield (
            f"replayed  the last {trial.turns} turns; their requests and memories can be compared with those of the "
            "earlier version alone: --python FILE names its environment"
        )
    yield from _different(trial)


def _different(trial: "UpgradeTrial") -> Iterator[str]:
    from gateway.app.upgrading import REPLAYED

    seen = Counter[str]()
    for each in trial.differences:
        seen[each.topic] += 1
        if seen[each.topic] <= _SHOWN:
            yield f"differs   {each}"
    for topic, times in seen.items():
        if times > _SHOWN:
            yield f"          and {times - _SHOWN:,} more of {topic}: --json"
    if not seen:
        yield f"differs   nothing, of {sum(trial.counts.values()):,} compared lines"
    elif seen.keys() <= REPLAYED:
        yield (
            "          but only in the replay: the new version words its requests or chooses memories differently; the "
            "home, its notes, conversations and state are as they were"
        )


def _as_json(trial: "UpgradeTrial", used: str, new: "Installation", is_switched: bool) -> dict[str, object]:
    return {
        "from": used,
        "to": new.version,
        "backup": str(trial.backup.file),
        "compared": dict(trial.counts),
        "turns": trial.turns,
        "differences": [plain_fields(each) for each in trial.differences],
        "switched": is_switched,
    }
