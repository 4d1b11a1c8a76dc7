"""Makes exports of other programs, as large as a test wants them."""

import json
import zipfile
from collections.abc import Sequence
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
