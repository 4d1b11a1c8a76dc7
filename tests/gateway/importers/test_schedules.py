import json
import shlex
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from gateway.importers.schedules import proposed_bindings, proposed_jobs
from gateway.schedule.recurrence import read_schedule

OPENCLAW = [
    {"schedule": {"kind": "cron", "expr": "0 7 * * *", "tz": "Europe/Oslo"}, "payload": {"message": "Say 'hi'; rm"}},
    {"schedule": {"kind": "every", "everyMs": 5_400_000}, "payload": {"text": "Look"}},
    {"schedule": {"kind": "at", "atMs": 1_798_882_200_000}, "payload": {"text": "Call"}},
]


def test_every_time_that_is_proposed_is_one_that_is_understood(tmp_path: Path) -> None:
    """And the shell hands on each text as it was."""
    (file := tmp_path / "jobs.json").write_text(json.dumps({"version": 1, "jobs": OPENCLAW}))
    commands = [shlex.split(command) for command in proposed_jobs(file)]
    assert [command[3:] for command in commands] == [
        ["0 7 * * * Europe/Oslo", "Say 'hi'; rm"],
        ["every 1h 30m", "Look"],
        ["at 2027-01-02 09:30 UTC", "Call"],
    ]
    for command in commands:
        read_schedule(command[3], ZoneInfo("Europe/Berlin"), datetime(2026, 11, 24, tzinfo=UTC))


def test_a_damaged_list_proposes_nothing(tmp_path: Path) -> None:
    """Nor do rows of another shape."""
    file = tmp_path / "jobs.json"
    rows = '{"jobs": 5}', '[1, {"schedule": []}, {"prompt": "x"}]', '{"jobs": [{"payload": 1}]}'
    for text in ("", "{", "[" * 100_000, "[]", *rows):
        file.write_text(text)
        assert proposed_jobs(file) == ()
        assert proposed_bindings(file) == ()


def test_bindings_are_named_as_settings_here(tmp_path: Path) -> None:
    """A chat, and a person by channel and id."""
    peers = [{"kind": "group", "id": "-5"}, {"kind": "direct", "id": "7"}]
    rows = [{"agentId": "work", "match": {"channel": "telegram", "peer": peer}} for peer in peers]
    (file := tmp_path / "openclaw.json").write_text(json.dumps({"bindings": rows}))
    assert proposed_bindings(file) == (
        'in config.toml, [[bindings]]: agent = "work", channel = "telegram", chat = "-5"',
        'in config.toml, [[bindings]]: agent = "work", channel = "telegram", person = "telegram:7"',
    )
