"""The safe remedies of `strandline doctor --fix`: those that change nothing that a person has written."""

import stat
from collections.abc import Iterator, Mapping

from gateway.cli.invocation import config_of
from gateway.control.finding import Finding, Level
from gateway.errors import ConfigError
from gateway.home import Home

_OTHERS = 0o077


def mend_home(home: Home, environ: Mapping[str, str]) -> list[Finding]:
    """Close the files of *home* to others, and write down the time zone that is in use; return what was done."""
    return [*_permissions(home), *_zone(home, environ)] if home.exists else []


def _permissions(home: Home) -> Iterator[Finding]:
    for place in (home.path, home.config_file, home.secrets_file, home.agents):
        if place.exists() and (mode := stat.S_IMODE(place.stat().st_mode)) & _OTHERS:
            place.chmod(mode & ~_OTHERS)
            yield Finding("fixed", Level.OK, f"{place} is now closed to others")


def _zone(home: Home, environ: Mapping[str, str]) -> Iterator[Finding]:
    from gateway.config import owner_zone
    from gateway.config.changes import set_values

    try:
        if config_of(home).owner.time_zone is None:
            zone = owner_zone(None, environ).name
            set_values(home, {("owner", "time_zone"): zone})
            yield Finding("fixed", Level.OK, f"owner.time_zone is now {zone}")
    except ConfigError:
        return  # the check itself reports what is wrong
