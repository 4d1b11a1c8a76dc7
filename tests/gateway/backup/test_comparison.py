"""Faults that a migration could make, each planted into a copy of a home that was lived in: all are found and named."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from gateway.backup.comparison import differences
from gateway.backup.inventory import Figures, inventory
from gateway.config import read_config
from gateway.home import Home
from gateway.stores.sqlite.schema import STEPS, VERSION, open_database
from tests.homes.laid_out import VERSIONS, laid_out

MEMORY = "agents/main/workspace/memory"
GROUP_NOTES = f"{MEMORY}/shared/telegram.home.-100/2026-11-23.md"
TALK = "agents/main/sessions/main.jsonl"
GROUP_TALK = "agents/main/sessions/group:telegram.home.-100.jsonl"
ENDED = "agents/main/sessions/archive/main.20261124T083724290509Z.jsonl"

Fault = Callable[[Home], object]


def lines(name: str, change: Callable[[list[str]], list[str]]) -> Fault:
    """Change the lines of a file."""

    def plant(home: Home) -> None:
        file = home.path / name
        before = file.read_text("utf-8")
        file.write_text("\n".join(change(before.split("\n"))), "utf-8")
        assert file.read_text("utf-8") != before

    return plant


def text(name: str, old: str, new: str) -> Fault:
    """Replace a text in a file, wherever it stands."""
    return lines(name, lambda before: [line.replace(old, new) for line in before])


def record(name: str, kind: str, change: Callable[[dict[str, object]], object]) -> Fault:
    """Change the first record of a kind."""

    def changed(before: list[str]) -> list[str]:
        place = next(place for place, line in enumerate(before) if f'"type":"{kind}"' in line)
        found = json.loads(before[place])
        change(found["entry"])
        return [*before[:place], json.dumps(found, ensure_ascii=False), *before[place + 1 :]]

    return lines(name, changed)


def sql(statement: str) -> Fault:
    """Change the state."""

    def plant(home: Home) -> None:
        with closing(sqlite3.connect(home.state_db)) as db:
            assert db.execute(statement).rowcount > 0
            db.commit()

    return plant


def moved(old: str, new: str) -> Fault:
    def plant(home: Home) -> None:
        (home.path / new).parent.mkdir(parents=True, exist_ok=True)
        (home.path / old).rename(home.path / new)

    return plant


def older_head(home: Home) -> None:
    repository = home.agent("main").history / "refs/heads/main"
    repository.write_text(f"{commits(home)[-2].split(' ')[0]}\n")


def commits(home: Home) -> list[str]:
    from workspaces.access import AgentId
    from workspaces.history.repository import Repository

    return Repository(home.agent("main").history, AgentId("main")).log()


def swapped(before: list[str]) -> list[str]:
    return [*before[:3], before[4], before[3], *before[5:]]


def an_hour_later(before: list[str]) -> list[str]:
    return [line.replace("T08:", "T09:") for line in before]


FAULTS: dict[str, Fault] = {
    "a line of a note is lost": lines(f"{MEMORY}/2026-11-23.md", lambda before: before[:2] + before[3:]),
    "a line of a note stands twice": lines(f"{MEMORY}/2026-11-23.md", lambda before: before[:3] + before[2:]),
    "a word of a note is changed": text("agents/main/workspace/MEMORY.md", "555 0101", "555 0110"),
    "two lines of a note are swapped": lines(f"{MEMORY}/2026-11-23.md", swapped),
    "times in a note are shifted by a zone": text(f"{MEMORY}/2026-11-23.md", "09:37", "08:37"),
    "a note is under another day": moved(f"{MEMORY}/2026-11-24.md", f"{MEMORY}/2026-11-25.md"),
    "a note is empty": lines("agents/main/workspace/MEMORY.md", lambda _: [""]),
    "a note has lost its last line end": lines("agents/main/workspace/MEMORY.md", lambda before: before[:-1]),
    "accents are lost": text(f"{MEMORY}/2026-11-23.md", "Zoë's café", "ZoÃ«'s cafÃ©"),
    "a note of a group is private": moved(GROUP_NOTES, f"{MEMORY}/2026-11-22.md"),
    "a private note is a guest's": moved(
        f"{MEMORY}/2026-11-23-1026.md", f"{MEMORY}/shared/telegram.home.99/2026-11-22.md"
    ),
    "a group's notes belong to another group": moved(GROUP_NOTES, GROUP_NOTES.replace("-100", "-101")),
    "the mark of a line that stays here is lost": text("agents/main/workspace/MEMORY.md", "#house the", "the"),
    "a workspace file is lost": lambda home: (home.agent("main").workspace / "SOUL.md").unlink(),
    "a setting is changed": text("config.toml", "Europe/Berlin", "Europe/London"),
    "an owner is dropped from the settings": text("config.toml", "telegram:7", "telegram:8"),
    "a record is lost": lines(TALK, lambda before: before[:4] + before[5:]),
    "records are in another order": lines(TALK, swapped),
    "records are an hour later": lines(TALK, an_hour_later),
    "words of a message are changed": text(TALK, "new number", "old number"),
    "a message of others counts as the owner's": record(
        GROUP_TALK, "user", lambda entry: entry.update(from_outside=not entry["from_outside"])
    ),
    "a message has lost its mark": text(TALK, '"is_house":true', '"is_house":false'),
    "the id of a message is another": record(TALK, "user", lambda entry: entry.update(message_id="7")),
    "an act is lost from a receipt": record(TALK, "result", lambda entry: entry.update(acts=["noted"])),
    "the memories of an answer are lost": record(TALK, "used", lambda entry: entry.update(memories=[])),
    "records are of a version that nobody reads": text(TALK, '{"v":1,"turn"', '{"v":2,"turn"'),
    "a conversation has another key": moved(GROUP_TALK, GROUP_TALK.replace("-100", "-1OO")),
    "an ended conversation is lost": lambda home: (home.path / ENDED).unlink(),
    "an ended conversation goes on": lambda home: (home.path / TALK).write_bytes(
        (home.path / ENDED).read_bytes() + (home.path / TALK).read_bytes()
    ),
    "a job is lost": sql("DELETE FROM jobs"),
    "a job comes an hour later": sql("UPDATE jobs SET next_slot = replace(next_slot, 'T08:', 'T09:')"),
    "a job is disabled": sql("UPDATE jobs SET is_enabled = 0"),
    "a guest is a stranger": sql("DELETE FROM guests"),
    "a guest is somebody else": sql("UPDATE guests SET person = '9'"),
    "a sent reply waits again": sql("UPDATE outbox SET state = 'queued' WHERE id = 3"),
    "an answered message may be answered again": sql("DELETE FROM turns WHERE id = (SELECT min(id) FROM turns)"),
    "a message may be taken in again": sql("DELETE FROM seen WHERE key LIKE '%-100%'"),
    "ids begin anew": sql("UPDATE sqlite_sequence SET seq = 0 WHERE name = 'inbox'"),
    "the owner's chat is forgotten": sql("DELETE FROM kv WHERE key = 'owner_chats'"),
    "a day's costs are forgotten": sql("UPDATE spending SET nanos = 0, input = 0"),
    "the newest change is not in the history": older_head,
    "the history is lost": moved("agents/main/history.git", "agents/main/history.gone"),
}


def taken(home: Home) -> Figures:
    return inventory(home, read_config(home.config_file))


def test_every_planted_fault_is_found_and_its_place_is_named(tmp_path: Path) -> None:
    """More than thirty kinds: scopes, lines, keys, times, order, marks, ids, histories."""
    unfound = []
    before = taken(laid_out(VERSIONS[-1], tmp_path / "home"))
    for number, (what, plant) in enumerate(FAULTS.items()):
        copy = laid_out(VERSIONS[-1], tmp_path / str(number))
        plant(copy)
        found = differences(before, taken(copy))
        if not found or not all(each.place and each.detail for each in found):
            unfound.append(what)
    assert len(FAULTS) >= 30
    assert unfound == []


def test_where_nothing_changed_nothing_differs(tmp_path: Path) -> None:
    """Two homes made of the same text."""
    one, other = (taken(laid_out(VERSIONS[-1], tmp_path / name)) for name in "ab")
    assert differences(one, other) == []
    assert {topic: bool(places) for topic, places in one.items()} == dict.fromkeys(one, True)


def test_words_say_what_happened(tmp_path: Path) -> None:
    """A lost line with its number and text, a moved file with both names, an order, a lost table."""
    home = laid_out(VERSIONS[-1], tmp_path / "home")
    before = taken(home)
    for what in ("a line of a note is lost", "a note of a group is private", "records are in another order"):
        FAULTS[what](home)
    with closing(sqlite3.connect(home.state_db)) as db:
        db.execute("DROP TABLE guests")
    told = [str(each) for each in differences(before, taken(home))]
    assert f"files: {GROUP_NOTES}: moved to {MEMORY}/2026-11-22.md" in told
    assert (
        f"files: {MEMORY}/2026-11-23.md: 1 lost or changed, the first at 3: '- 09:37 the spare key lies"
        in "\n".join(told)
    )
    assert any(
        each.startswith("conversations: main/sessions/main.jsonl: in another order from line 4") for each in told
    )
    assert "state: guests: missing, with 1 rows" in told


@pytest.mark.parametrize("version", range(1, VERSION))
def test_a_real_migration_of_the_state_is_no_difference(tmp_path: Path, version: int) -> None:
    """From every format on: new tables, new columns and a renamed table take nothing away."""
    path = tmp_path / "state.db"
    with closing(sqlite3.connect(path)) as db:
        for step in STEPS[:version]:
            for statement in step:
                db.execute(statement)
        db.execute(f"PRAGMA user_version = {version}")
        db.execute("INSERT INTO inbox (message, received_at) VALUES ('a message', '2026-01-01')")
        if version > 5:
            db.execute("INSERT INTO unreadable VALUES (1, 'r', 1, x'00', x'01', 'w', '2026-01-01')")
        db.commit()
    home = Home(tmp_path)
    home.create()
    before = taken(home)
    open_database(path).close()
    assert differences(before, taken(home)) == []
