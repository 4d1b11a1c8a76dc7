"""Turns the text of a lived-in home into a home again."""

import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

from gateway.home import Home

FOLDER = Path(__file__).parent
STATE = "state.sql"
VERSIONS = sorted(path.name for path in FOLDER.iterdir() if path.is_dir() and path.name[0].isdigit())


def laid_out(version: str, path: Path) -> Home:
    """Make at *path* the home that people lived in with *version*."""
    home = Home(path)
    home.create()
    shutil.copytree(FOLDER / version, path, dirs_exist_ok=True)
    with closing(sqlite3.connect(home.state_db)) as db:
        db.executescript((path / STATE).read_text("utf-8"))
    (path / STATE).unlink()
    for agent in home.agents.iterdir():
        history = agent / "history.git"
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", history], check=True)
        stream = (agent / "history.stream").read_bytes()
        subprocess.run(["git", "-C", history, "fast-import", "--quiet"], input=stream, check=True)
        (agent / "history.config").rename(history / "config")
        (agent / "history.stream").unlink()
    home.config_file.chmod(0o600)
    return home
