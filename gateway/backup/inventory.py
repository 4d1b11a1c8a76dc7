"""Inventory of a home: each line, record, row and commit that somebody could miss, read without opening the home."""

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from gateway.backup.members import CONFIG
from gateway.backup.parts import parts_of
from gateway.config import Config
from gateway.home import Home
from workspaces.access import AgentId
from workspaces.errors import HistoryUnusableError

Lines = Sequence[str]
Figures = Mapping[str, Mapping[str, Lines]]
"""By topic and place, the lines there in their order."""

SETTINGS, FILES, RECORDS, STATE, HISTORY, SAID = (
    "settings",
    "files",
    "conversations",
    "state",
    "history of the files",
    "words of the conversations",
)
_READ = {"user", "reply"}


def inventory(home: Home, config: Config) -> dict[str, dict[str, Lines]]:
    """Return the inventory of *home*, which no gateway uses. Raises OSError and sqlite3.Error."""
    files = dict(_files(home, config))
    return {
        SETTINGS: {CONFIG: files.pop(CONFIG, ())},
        FILES: files,
        RECORDS: {name: _lines(path) for name, path in transcripts_of(home)},
        STATE: _rows(home.state_db),
        HISTORY: {path.name: _commits(path) for path in sorted(home.agents.iterdir()) if path.is_dir()},
        SAID: {name: tuple(_said(path)) for name, path in transcripts_of(home)},
    }


def transcripts_of(home: Home) -> Iterator[tuple[str, Path]]:
    """Yield each transcript of *home*, ended ones too, with its name."""
    for path in sorted(home.agents.glob("*/sessions/**/*.jsonl")):
        yield path.relative_to(home.agents).as_posix(), path


def said_line(at: datetime, kind: str, text: str) -> str:
    """Return a message or an answer as a line, the same however its record is stored."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S.%f} {kind} {text}"


def _files(home: Home, config: Config) -> Iterator[tuple[str, Lines]]:
    """Yield the lines of each file that a backup has, except the histories'."""
    for part in parts_of(home, config):
        if part.name.endswith("/history.git"):
            continue
        for name, path in part.files():
            if not path.is_dir():
                yield name, _lines(path)


def _lines(path: Path) -> Lines:
    """Return the lines of a text, with every byte of it, and of anything else its digest."""
    content = path.read_bytes()
    try:
        return content.decode("utf-8").split("\n")
    except UnicodeDecodeError:
        return (f"sha256 {hashlib.sha256(content).hexdigest()}",)


def _rows(state: Path) -> dict[str, Lines]:
    """Return every row of each table of *state*, as JSON."""
    if not state.exists():
        return {}
    with closing(sqlite3.connect(f"{state.absolute().as_uri()}?mode=ro", uri=True)) as db:
        names = [name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")]
        rows: dict[str, Lines] = {name: tuple(_row(row) for row in _table(db, name)) for name in names}
    for row in map(json.loads, rows.pop("sqlite_sequence", ())):
        rows[f"{row['name']}, last id"] = (_row({"id": row["seq"]}),)
    return rows


def _table(db: sqlite3.Connection, name: str) -> Iterator[dict[str, object]]:
    rows = db.execute(f'SELECT * FROM "{name}"')  # noqa: S608  # a name that the database itself gave
    columns = [column for column, *_ in rows.description]
    yield from (dict(zip(columns, row, strict=True)) for row in rows)


def _row(row: Mapping[str, object]) -> str:
    return json.dumps(row, ensure_ascii=False, sort_keys=True, default=repr)


def _commits(agent: Path) -> Lines:
    from workspaces.history.repository import Repository

    repository = Repository(agent / "history.git", AgentId(agent.name))
    try:
        return repository.log() if repository.path.exists() else ()
    except HistoryUnusableError as exc:
        return (str(exc).replace(str(agent), ""),)


def _said(path: Path) -> Iterator[str]:
    """Yield the messages and answers of a transcript by its JSON alone, whatever its version."""
    for line in path.read_bytes().splitlines():
        try:
            record = json.loads(line)
            if record["type"] in _READ:
                yield said_line(datetime.fromisoformat(record["at"]), record["type"], record["entry"]["text"])
        except (ValueError, KeyError, TypeError):  # damaged, or no record; its line is compared as it is
            continue
