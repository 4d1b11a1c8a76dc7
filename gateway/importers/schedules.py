"""Other programs' jobs and bindings, as commands and settings that the owner may take over."""

import json
import shlex
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gateway.importers.imported import DAMAGED

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "m"))


def proposed_jobs(file: Path) -> tuple[str, ...]:
    """Return a command for each enabled job in OpenClaw's or Hermes' `cron/jobs.json`; nothing for a damaged file."""
    with suppress(OSError, *DAMAGED):
        found: Any = json.loads(file.read_text("utf-8"))
        rows = found if isinstance(found, list) else found.get("jobs", [])
        return tuple(command for row in rows for command in _job(row))
    return ()


def _job(row: Any) -> Iterator[str]:
    with suppress(*DAMAGED):
        payload = row.get("payload") or {}
        what = str(row.get("prompt") or payload.get("message") or payload.get("text") or "").strip()
        if what and row.get("enabled", True):
            yield f"strandline cron add {shlex.quote(_when(row['schedule']))} {shlex.quote(what)}"


def _when(schedule: Any) -> str:
    """Return a job's time in our words. Raises KeyError for a kind that has none here."""
    match schedule["kind"]:
        case "cron":
            return f"{schedule['expr']} {schedule.get('tz') or ''}".strip()
        case "every":
            return f"every {_span(int(schedule['everyMs']) // 1000)}"
        case "interval":
            return f"every {_span(60 * int(schedule['minutes']))}"
        case "at" | "once":
            at = schedule.get("at") or schedule.get("atMs") or schedule["run_at"]
            day = datetime.fromtimestamp(at / 1000, UTC) if isinstance(at, int) else datetime.fromisoformat(at)
            return f"at {day:%Y-%m-%d %H:%M}" + (" UTC" if day.utcoffset() is not None and not day.utcoffset() else "")
        case kind:
            raise KeyError(kind)


def _span(seconds: int) -> str:
    """Return a number of seconds as `1d 2h 30m`, a minute at least."""
    parts = []
    for size, unit in _UNITS:
        count, seconds = divmod(seconds, size)
        parts += [f"{count}{unit}"] if count else []
    return " ".join(parts) or "1m"


def proposed_bindings(settings: Path) -> tuple[str, ...]:
    """Return a `[[bindings]]` table for each of OpenClaw's that names a chat or a person."""
    with suppress(OSError, *DAMAGED):
        found: Any = json.loads(settings.read_text("utf-8"))
        return tuple(line for each in found.get("bindings") or [] for line in _binding(each))
    return ()


def _binding(row: Any) -> Iterator[str]:
    match = row.get("match") or {}
    peer = match.get("peer") or {}
    channel, place = match.get("channel"), peer.get("id")
    is_person = peer.get("kind") in {"direct", "dm"} and place
    fields = {
        "agent": row.get("agentId"),
        "channel": channel,
        "account": match.get("accountId"),
        "person" if is_person else "chat": f"{channel}:{place}" if is_person else place,
    }
    wanted = ", ".join(f"{name} = {json.dumps(str(value))}" for name, value in fields.items() if value)
    yield f"in config.toml, [[bindings]]: {wanted}"
