"""Makes exports of other programs, as large as a test wants them."""

import json
import sqlite3
import zipfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

BEGUN = datetime(2025, 1, 1, 9, tzinfo=UTC)
Talk = Sequence[tuple[str, str]]
"""What the owner said, and the answer."""


def chatgpt(number: int, talk: Talk) -> dict[str, Any]:
    """Return a conversation as ChatGPT exports it, with a branch that the owner left and a hidden first message."""
    at = (BEGUN + timedelta(days=number)).timestamp()
    nodes: dict[str, Any] = {"root": {"message": None, "parent": None, "children": ["m0"]}}
    parent = "root"
    for place, (role, text) in enumerate(
        line for pair in talk for line in zip(("user", "assistant"), pair, strict=True)
    ):
        content = {"content_type": "text", "parts": [text]}
        message = {"author": {"role": role}, "create_time": at + place, "content": content}
        nodes[f"m{place}"] = {"message": message, "parent": parent, "children": []}
        parent = f"m{place}"
    gone = {
        "author": {"role": "user"},
        "create_time": at,
        "content": {"content_type": "text", "parts": ["a way not taken"]},
    }
    nodes["gone"] = {"message": gone, "parent": "root", "children": []}
    return {
        "conversation_id": f"c{number}",
        "title": f"Talk {number}",
        "create_time": at,
        "mapping": nodes,
        "current_node": parent,
    }


def claude(number: int, talk: Talk) -> dict[str, Any]:
    """Return a conversation as Claude exports it."""
    at = BEGUN + timedelta(days=number)
    messages = [
        {
            "uuid": f"{number}-{place}",
            "sender": sender,
            "text": text,
            "created_at": (at + timedelta(seconds=place)).isoformat(),
        }
        for place, (sender, text) in enumerate(
            line for pair in talk for line in zip(("human", "assistant"), pair, strict=True)
        )
    ]
    return {"uuid": f"c{number}", "name": f"Talk {number}", "chat_messages": messages}


def archive(file: Path, conversations: Sequence[dict[str, Any]]) -> Path:
    """Write *conversations* into an archive as those programs send it."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("conversations.json", json.dumps(conversations))
        made.writestr("user.json", "{}")
    return file


def openclaw(home: Path, days: int) -> Path:
    """Write a home of OpenClaw's that was lived in for *days*."""
    notes, talks = home / "workspace" / "memory", home / "agents" / "main" / "sessions"
    notes.mkdir(parents=True)
    talks.mkdir(parents=True)
    (home / "workspace" / "MEMORY.md").write_text("# Memory\n\n- The boat is called Ondine.\n")
    (home / "workspace" / "SOUL.md").write_text("You are dry and brief.\n")
    (home / "workspace" / "photo.png").write_bytes(b"\x89PNG\0")
    (home / "openclaw.json").write_text("{}")
    keys = {"agent:main:telegram:group:-5": {"sessionId": "group"}}
    for day in range(days):
        at = BEGUN + timedelta(days=day)
        (notes / f"{at:%Y-%m-%d}.md").write_text(f"- day {day}: the meter reads {1000 + day}\n")
        rows: list[dict[str, Any]] = [{"type": "session", "id": f"s{day}"}]
        for role, text in (("user", f"On day {day} the code is K-{day:04}."), ("assistant", "Kept.")):
            content = [{"type": "text", "text": text}]
            rows.append({"type": "message", "timestamp": at.isoformat(), "message": {"role": role, "content": content}})
        (talks / f"s{day}.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")
        keys[f"agent:main:{day}"] = {"sessionId": f"s{day}"}
    (talks / "group.jsonl").write_text((talks / "s0.jsonl").read_text())
    (talks / "sessions.json").write_text(json.dumps(keys))
    return home


def oneclaw(home: Path, days: int) -> Path:
    """Write a home of OneClaw's that was lived in for *days*, with days in `memory/daily/`."""
    daily = home / "memory" / "daily"
    daily.mkdir(parents=True)
    (home / "memory" / "MEMORY.md").write_text("- The boat is called Ondine.\n")
    for day in range(days):
        (daily / f"{BEGUN + timedelta(days=day):%Y-%m-%d}.md").write_text(f"- On day {day} the code is K-{day:04}.\n")
    return home


def exported(file: Path, days: int, make: Callable[[int, Talk], dict[str, Any]]) -> Path:
    """Write the archive of a chat program in which something was said each day."""
    return archive(file, [make(day, [(f"On day {day} the code is K-{day:04}.", "Kept.")]) for day in range(days)])


def vault(folder: Path, days: int) -> Path:
    """Write a folder of Markdown with a note a day, in a folder a month."""
    for day in range(days):
        at = BEGUN + timedelta(days=day)
        place = folder / f"{at:%Y}" / f"{at:%m}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{at:%d}.md").write_text(f"# {at:%A}\n\nOn day {day} the code is K-{day:04}.\n")
    return folder


LIVED_IN: Mapping[str, Callable[[Path, int], Path]] = {
    "openclaw": lambda folder, days: openclaw(folder / "openclaw", days),
    "oneclaw": lambda folder, days: oneclaw(folder / "oneclaw", days),
    "hermes": lambda folder, days: hermes(folder / "hermes", days),
    "chatgpt": lambda folder, days: exported(folder / "export.zip", days, chatgpt),
    "claude": lambda folder, days: exported(folder / "export.zip", days, claude),
    "markdown": lambda folder, days: vault(folder / "vault", days),
}
"""Writes what each program leaves of so many days; on each it says "On day N the code is K-N"."""

JOBS = {
    "jobs": [
        {"prompt": "List my day", "schedule": {"kind": "cron", "expr": "0 9 * * 1-5"}, "enabled": True},
        {"prompt": "Look after the oven", "schedule": {"kind": "interval", "minutes": 90}},
        {"prompt": "Call Ann", "schedule": {"kind": "once", "run_at": "2027-01-02T09:30:00+00:00"}},
        {"prompt": "Paused", "schedule": {"kind": "cron", "expr": "0 9 * * *"}, "enabled": False},
        {"prompt": "At no time", "schedule": {"kind": "stream"}},
    ]
}


def hermes(home: Path, days: int) -> Path:
    """Write a home of Hermes Agent's that was lived in for *days*."""
    for folder in ("memories", "skills/boats", "cron"):
        (home / folder).mkdir(parents=True)
    (home / "memories" / "MEMORY.md").write_text("The boat is called Ondine.\n§\nThe key hangs\nbehind the boiler.")
    (home / "memories" / "USER.md").write_text("Ada lives in Kiel.")
    (home / "SOUL.md").write_text("You are dry and brief.\n")
    (home / "skills" / "boats" / "SKILL.md").write_text("---\nname: boats\n---\nScrape first.\n")
    (home / "config.yaml").write_text("model: {}\n")
    (home / "cron" / "jobs.json").write_text(json.dumps(JOBS))
    with closing(sqlite3.connect(home / "state.db")) as database:
        database.executescript(
            "PRAGMA journal_mode=WAL;"
            "CREATE TABLE sessions (id TEXT, source TEXT, display_name TEXT, chat_type TEXT, started_at REAL);"
            "CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content TEXT, timestamp REAL,"
            " active INTEGER DEFAULT 1, compacted INTEGER DEFAULT 0)"
        )
        kinds = [(f"s{day}", "cli", None) for day in range(days)]
        for number, (name, source, chat) in enumerate([*kinds, ("g", "telegram", "group"), ("c", "cron", None)]):
            at = (BEGUN + timedelta(days=number)).timestamp()
            database.execute("INSERT INTO sessions VALUES (?, ?, ?, ?, ?)", (name, source, None, chat, at))
            parts = "\0json:" + json.dumps([{"type": "text", "text": "Kept."}, {"type": "image_url"}])
            said = [("user", f"On day {number} the code is K-{number:04}.", 1), ("assistant", parts, 1)]
            for role, content, active in [*said, ("tool", "{}", 1), ("user", "taken back", 0)]:
                database.execute(
                    "INSERT INTO messages (session_id, role, content, timestamp, active) VALUES (?, ?, ?, ?, ?)",
                    (name, role, content, at, active),
                )
        database.commit()
    return home
