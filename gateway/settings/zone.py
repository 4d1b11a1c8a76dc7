"""The owner's time zone and its source."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from msgspec import Struct

CONFIGURED = "owner.time_zone"
FALLBACK = "nothing set: UTC"


class OwnerZone(Struct, frozen=True):
    """The zone that determines the owner's days."""

    zone: ZoneInfo
    source: str
    """`owner.time_zone`, or the source used instead."""

    @property
    def name(self) -> str:
        return self.zone.key


def owner_zone(configured: str | None, environ: Mapping[str, str], etc: Path = Path("/etc")) -> OwnerZone:
    """Return the *configured* zone, else the system's, else UTC."""
    if configured is not None:
        return OwnerZone(ZoneInfo(configured), CONFIGURED)
    for name, source in _system_zones(environ, etc):
        zone = load_zone(name)
        if zone is not None:
            return OwnerZone(zone, source)
    return OwnerZone(ZoneInfo("UTC"), FALLBACK)


def load_zone(name: str) -> ZoneInfo | None:
    """Return the zone *name*, or `None` if there is no such zone."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):  # OSError: the name is that of a folder of zones
        return None


def zone_like(text: str) -> str | None:
    """Return the zone that *text* names in other capitals, or by its city alone; `None` if there is none.

    None of `Etc/`: its "GMT+1" is an hour west of Greenwich.
    """
    wanted = text.strip().replace(" ", "_").casefold()
    names = sorted(each for each in available_timezones() if not each.startswith("Etc/"))
    same = [each for each in names if each.casefold() == wanted]
    return next(iter([*same, *(each for each in names if each.casefold().endswith(f"/{wanted}"))]), None)


def _system_zones(environ: Mapping[str, str], etc: Path) -> Iterator[tuple[str, str]]:
    if environ.get("TZ"):
        yield environ["TZ"].removeprefix(":"), "the environment variable TZ"
    link = etc / "localtime"
    if link.is_symlink():
        yield str(link.readlink()).rpartition("zoneinfo/")[2], f"{link}"
    name = etc / "timezone"
    if name.is_file():
        yield name.read_text("utf-8", "replace").strip(), f"{name}"
