"""Homes for backup tests, without a gateway."""

from pathlib import Path

from gateway.backup.taking import BackupResult, take_backup
from gateway.config import read_config
from gateway.home import Home
from gateway.stores.sqlite.store import SqliteStore
from workspaces.access import AgentId
from workspaces.workspace import Workspace

SECRET = "12345:a-token-of-nobody"
CONFIG = """\
[owner]
people = ["telegram:7"]
[agents.main]
[channels.telegram.home]
token_file = "agents/main/workspace/token"
"""


async def make_home(path: Path, config: str = CONFIG) -> Home:
    """Make a home that has something of everything; the secret lies where nobody should put one."""
    home = Home(path)
    home.create()
    home.write(home.config_file, config)
    main = home.agent("main")
    Workspace.create(main.workspace, AgentId("main")).folder.close()
    for file, text in {
        main.workspace / "MEMORY.md": "# Notes\n\n- Ada's boat is red.\n",
        main.workspace / "token": SECRET,
        main.workspace / "index/plans.md": "a folder of the owner's\n",
        main.sessions / "main.jsonl": '{"v":1,"a":1}\n{"v":1,"b":2}\n{"v":1,"torn',
        main.archive / "main.20260101T000000000000Z.jsonl": '{"v":1}\n',
        main.history / "HEAD": "ref: refs/heads/main\n",
        main.index / "vectors": "rebuilt anyway",
        main.root / "bundles/history.bundle": "a copy of the history",
        home.hooks / "mine.py": "x = 1\n",
        home.removed / "old-2026-01-01/workspace/MEMORY.md": "- once\n",
        home.removed / "old-2026-01-01/index/vectors": "rebuilt anyway",
    }.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    (main.history / "refs/heads").mkdir(parents=True)
    (main.workspace / "elsewhere.md").symlink_to("/etc/hostname")
    store = await SqliteStore.open(home.state_db)
    await store.put("key", "value")
    await store.close()
    return home


def back_up(home: Home, target: Path) -> BackupResult:
    """Make a backup and watch its progress: it grows to the end."""
    told: list[tuple[int, int]] = []
    taken = take_backup(home, read_config(home.config_file), target, lambda *at: told.append(at))
    assert told == sorted(told)
    assert told[-1][0] == told[-1][1] > 0
    return taken


def files_below(folder: Path) -> dict[str, bytes]:
    """Return every file below *folder* by its path; what a command leaves of its run is nobody's."""
    paths = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    found = {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
    return {name: content for name, content in found.items() if not name.startswith("run/")}
