"""The description of a backup's restore."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.home import Home

if TYPE_CHECKING:
    from gateway.backup.plan import RestoreLosses, RestorePlan

SEALS = {
    "valid": "sealed with the key of this home",
    "other": "NOT sealed with the key of this home: another home made it, or somebody changed it",
    "absent": "without a seal: an older version made it, or somebody else; changes cannot be detected",
    "no_key": "its seal cannot be checked, because the home has no backup.key: the file may have been changed",
}
"""Description of a seal by its state."""
_SHOWN = 10


def plan_lines(plan: "RestorePlan", losses: "RestoreLosses", file: Path, home: Home) -> Iterator[str]:
    """Describe the restore of *file* to *home*."""
    head, contents = plan.contents.head, plan.contents
    yield f"backup    {file}: of {head.made_at}, by Strandline {head.version}"
    yield f"contents  {len(contents.files):,} files, {contents.size:,} bytes; all checksums match"
    yield f"seal      {SEALS[contents.seal]}"
    for place, count in plan.writes.items():
        yield f"writes    {place}: {count:,} {'file' if count == 1 else 'files'}"
    for agent, path in plan.outside.items():
        is_there = str(path) in plan.writes
        what = "outside of the home, as you allowed" if is_there else "kept in the home (--allow outside: there)"
        yield f"outside   agent {agent}: its configuration names {path}: {what}"
    yield from (f"runs      {each}: disabled until strandline hooks enable" for each in plan.code)
    yield from (f"reads     {each}" for each in plan.secrets)
    yield from (f"talks to  {each}" for each in plan.talks_to)
    if plan.owners:
        yield f"owners    {', '.join(plan.owners)}"
    yield from _losses("loses     only in the home", losses.missing)
    yield from _losses("loses     different in the home", losses.changed)
    if losses:
        yield f"          {home.path} is not empty: move it away, or choose another --home"


def plan_as_json(plan: "RestorePlan", losses: "RestoreLosses") -> dict[str, object]:
    """Return the same for machines."""
    return {
        "made_at": plan.contents.head.made_at,
        "version": plan.contents.head.version,
        "files": len(plan.contents.files),
        "bytes": plan.contents.size,
        "seal": plan.contents.seal.value,
        "writes": plan.writes,
        "outside": {agent: str(path) for agent, path in plan.outside.items()},
        "runs": plan.code,
        "reads": plan.secrets,
        "talks_to": plan.talks_to,
        "owners": plan.owners,
        "missing": losses.missing,
        "changed": losses.changed,
    }


def _losses(begin: str, names: Sequence[str]) -> Iterator[str]:
    if names:
        more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
        yield f"{begin} ({len(names):,}): {', '.join(names[:_SHOWN])}{more}"
