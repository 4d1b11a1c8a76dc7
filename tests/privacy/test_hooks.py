"""What hooks are told where others listen does not depend on what is private."""

import asyncio
import json
import re
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from gateway.agent.entries import ToolCall
from gateway.hooks import EVENTS
from tests.fakes.clock import ManualClock
from tests.gateway.hooks.folder import put
from tests.privacy.contents import Secret
from tests.privacy.scripted import Script, says
from tests.privacy.world import OWNER, SAM, message, stand_ins, world
from workspaces.memory.client import WorkerClient, WorkerSettings

HEARS = """
import json, pathlib
from gateway.hooks import EVENTS, on
from gateway.hooks.programs import as_json

def hear(name):
    def heard(payload):
        told = as_json(payload)
        if hasattr(payload, "read"):
            told["reads"] = [getattr(payload.read(path), "text", None) for path in ("MEMORY.md", "USER.md")]
        with pathlib.Path({path!r}).open("a") as file:
            file.write(json.dumps([name, told]) + "\\n")
    return heard

for each in EVENTS:
    globals()["heard_" + each.name] = on(each)(hear(each.name))
"""
CHATS = [("group", SAM), ("group", OWNER), ("guest", OWNER), ("task", OWNER)]


def curious() -> Script:
    """A model that reads, searches and writes, then answers."""
    asked = iter(
        [
            says("", *(ToolCall(f"c{n}", name, json.dumps(given)) for n, (name, given) in enumerate(CALLS))),
            says("Here is what I found."),
        ]
    )
    return lambda _: next(asked, says("…"))


CALLS = [
    ("read_file", {"path": "MEMORY.md"}),
    ("list_files", {}),
    ("memory_search", {"query": "boat"}),
    ("git_log", {}),
    ("add_note", {"text": "the boat is red"}),
]


def hooked(folder: Path) -> None:
    folder.mkdir(mode=0o700)
    put(folder / "hooks", "hears.py", HEARS.format(path=str(folder / "heard")))


async def heard(folder: Path, secret: Secret, clock: ManualClock) -> dict[str, list[str]]:
    """What hooks are told of the same words in each chat, by event."""
    hooked(folder)
    async with world(folder, secret, clock) as each:
        (folder / "heard").unlink(missing_ok=True)
        for number, (chat, sender) in enumerate(CHATS):
            await each.hear(message(number, chat, sender, "what do you know of the boat?", clock), curious())
        await each.app.parts.resources.hooks.finish(20)
    found: dict[str, list[str]] = {}
    for line in (folder / "heard").read_text("utf-8").splitlines():
        name, payload = json.loads(line)
        if '"session_type": "main"' not in line:
            found.setdefault(name, []).append(re.sub(r'"identity": \{.*?\}', "", json.dumps(payload)))
    return found


def test_what_hooks_are_told_of_others_chats_does_not_depend_on_what_is_private(tmp_path: Path) -> None:
    """Every event of a group, a guest and a helper, with everything in it, and what their readers read."""
    clock, worker = ManualClock(), WorkerClient(WorkerSettings(deadline_s=300.0))

    async def run() -> None:
        one, other = [await heard(tmp_path / name, Secret(seed, 5), clock) for name, seed in (("a", 1), ("b", 2))]
        await worker.close()
        assert one == other
        assert set(one) >= {
            event.name for event in EVENTS if event.name.startswith(("before_tool", "message", "agent"))
        }

    with pytest.MonkeyPatch.context() as patch, capture_logs():
        stand_ins(patch, worker, clock)
        asyncio.run(run())
