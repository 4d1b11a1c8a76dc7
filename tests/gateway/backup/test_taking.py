"""A backup holds everything that cannot be made again, as it was at one moment, and no secret."""

import asyncio
import contextlib
import errno
import json
import os
import sqlite3
import stat
import subprocess
import tarfile
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from unittest.mock import Mock

import pytest
from filelock import FileLock, Timeout

from adapters.channel import Address
from gateway.agent.entries import UserEntry
from gateway.backup.archive import ArchiveWriter
from gateway.backup.moment import held_moment
from gateway.backup.parts import parts_of
from gateway.backup.restoring import RestoreException, restore_backup
from gateway.config import read_config
from gateway.errors import BackupError, StoreError
from gateway.home import Home
from gateway.runtime.threads import Threads
from gateway.stores.rows import Outgoing, TurnCommit
from gateway.stores.sqlite.store import SqliteStore
from gateway.transcripts.writer import Transcript
from strandline.testing.adapter import message
from tests.fakes.patience import PATIENCE_S
from tests.gateway.backup.homes import SECRET, back_up, files_below, make_home
from workspaces.secrets import REMOVED, guarding

CHATS = ("ada", "bo", "chidi", "dana")
HERE = Address("fake", "home", "alice")


@pytest.fixture
async def home(tmp_path: Path) -> Home:
    return await make_home(tmp_path / "home")


async def test_everything_comes_back_and_nothing_that_is_rebuilt(tmp_path: Path) -> None:
    """Byte for byte but for the torn end of a transcript; files and folders are their owner's alone."""
    home = await make_home(tmp_path / "home")
    taken = back_up(home, tmp_path / "backup.tar.gz")
    other = Home(tmp_path / "other")
    restore_backup(taken.file, other, {}, lambda *_: None)
    wanted = files_below(home.path)
    for name in (
        "agents/main/index/vectors",
        "agents/main/bundles/history.bundle",
        "agents/main/history.git.lock",
        "agents/main/workspace.lock",
        "removed/old-2026-01-01/index/vectors",
        "agents/main/workspace/token",
        "backup.key",
        "state.db",
    ):
        del wanted[name]
    wanted["agents/main/sessions/main.jsonl"] = b'{"v":1,"a":1}\n{"v":1,"b":2}\n'
    found = files_below(other.path)
    assert {name: found[name] for name in wanted} == wanted
    assert found.keys() - wanted.keys() == {"state.db", "disabled-code.json"}
    store = await SqliteStore.open(other.state_db)
    assert await store.get("key") == "value"
    await store.close()
    assert (other.agent("main").history / "refs/heads").is_dir()
    modes = {stat.S_IMODE(path.stat().st_mode) for path in other.path.rglob("*")}
    assert modes == {0o700, 0o600}
    assert taken.files == len(found.keys() - {"disabled-code.json"})


def test_a_file_whose_name_is_no_text_comes_back(home: Home, tmp_path: Path) -> None:
    """An owner's program may have made it; a backup that holds one is restored like any other."""
    name = os.fsdecode(b"agents/main/workspace/no text \xff\n.md")
    (home.path / name).write_text("Here.\n")
    other = Home(tmp_path / "other")
    restore_backup(back_up(home, tmp_path / "backup.tar.gz").file, other, {}, lambda *_: None)
    assert (other.path / name).read_text() == "Here.\n"


def test_a_backup_is_readable_by_its_owner_alone_and_holds_no_secret(home: Home, tmp_path: Path) -> None:
    """Wherever the configuration says that a secret's file is; the settings to fill in again are told."""
    taken = back_up(home, tmp_path / "backup.tar.gz")
    assert stat.S_IMODE(taken.file.stat().st_mode) == 0o600
    assert taken.left_out == ("channels.telegram.home.token_file",)
    with tarfile.open(taken.file) as tar:
        contents = [file.read() for member in tar if (file := tar.extractfile(member))]
    assert not [content for content in contents if SECRET.encode() in content]
    assert [path.name for path in tmp_path.iterdir() if "backup" in path.name] == ["backup.tar.gz"]


def test_any_tar_can_unpack_it_and_the_manifest_knows_every_file(home: Home, tmp_path: Path) -> None:
    """No program of ours is needed to get at what one wrote."""
    taken = back_up(home, tmp_path / "backup.tar.gz")
    out = tmp_path / "out"
    out.mkdir()
    subprocess.run(["tar", "xzf", taken.file, "-C", out], check=True, timeout=PATIENCE_S)
    manifest = json.loads((out / "manifest.json").read_text())["files"]
    assert manifest.keys() == files_below(out).keys() - {"manifest.json", "backup.json"}
    listed = "".join(f"{digest['sha256']}  {name}\n" for name, digest in manifest.items())
    subprocess.run(
        ["sha256sum", "--check", "--quiet"], input=listed, cwd=out, text=True, check=True, timeout=PATIENCE_S
    )


async def test_state_and_transcripts_are_of_one_moment_while_a_gateway_works(tmp_path: Path) -> None:
    """What was committed is in its transcript, and no transcript knows a number that the state may give out again."""
    home = await make_home(tmp_path / "home")
    store, threads = await SqliteStore.open(home.state_db), Threads("transcripts", 4)
    stop = asyncio.Event()

    async def talk(chat: str) -> None:
        transcript = await Transcript.open(home.agent("main").sessions / f"{chat}.jsonl", threads)
        for number in range(100_000):
            row = await store.inbox.append(message("Hello", chat=chat, id=f"{number}"))
            assert row is not None
            await transcript.append(row.turn_id, UserEntry("Hello", datetime.now(UTC), chat, f"{number}"))
            await store.commit_turn(TurnCommit(row.turn_id, [row.id], [Outgoing(HERE, "Hello")]))
            if stop.is_set():
                return

    async with asyncio.TaskGroup() as tasks:
        for chat in CHATS:
            tasks.create_task(talk(chat))
        for number in range(8):
            await asyncio.to_thread(back_up, home, tmp_path / f"{number}.tar.gz")
        stop.set()
    await store.close()
    threads.close()
    committed = []
    for number in range(8):
        other = Home(tmp_path / f"home-{number}")
        restore_backup(tmp_path / f"{number}.tar.gz", other, {}, lambda *_: None)
        turns, given_out = numbers(other)
        told = turns_told(other)
        assert turns <= told
        assert max(told, default=0) <= given_out
        committed.append(len(turns))
    assert committed == sorted(committed)
    assert committed[-1] > 20


def numbers(home: Home) -> tuple[set[int], int]:
    """Return the turns that the state knows as committed, and the last number that it gave out."""
    with contextlib.closing(sqlite3.connect(home.state_db)) as db:
        turns = {int(turn[1:]) for (turn,) in db.execute("SELECT id FROM turns")}
        given_out = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'inbox'").fetchone()
    return turns, given_out[0] if given_out else 0


def turns_told(home: Home) -> set[int]:
    """Return the turns that the transcripts hold."""
    lines = [line for chat in CHATS for line in lines_of(home.agent("main").sessions / f"{chat}.jsonl")]
    return {int(line["turn"][1:]) for line in lines if "turn" in line}


def lines_of(path: Path) -> list[dict[str, str]]:
    """Return the records of a transcript; each line is whole."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


def test_a_conversation_that_is_put_away_meanwhile_is_there_once(home: Home, tmp_path: Path) -> None:
    """Its file keeps the name and the length of the moment, whatever happens to it."""
    sessions = home.agent("main").sessions
    with held_moment(home) as moment:
        with (sessions / "main.jsonl").open("a") as more:
            more.write('"}\n')
        (sessions / "main.jsonl").rename(sessions / "archive/main.20260202T000000000000Z.jsonl")
    assert [each.name for each in moment.transcripts] == [
        "agents/main/sessions/archive/main.20260101T000000000000Z.jsonl",
        "agents/main/sessions/main.jsonl",
    ]
    assert moment.transcripts[1].size == len('{"v":1,"a":1}\n{"v":1,"b":2}\n{"v":1,"torn')


async def test_a_workspace_elsewhere_goes_along(tmp_path: Path) -> None:
    """It stays in the home, or is restored to where the configuration says, if that is allowed and empty."""
    notes = tmp_path / "notes"
    home = await make_home(tmp_path / "home", f'[agents.main]\nworkspace = "{notes}"\n')
    notes.mkdir()
    (notes / "MEMORY.md").write_text("- here\n")
    taken = back_up(home, tmp_path / "backup.tar.gz")
    other = Home(tmp_path / "inside")
    restore_backup(taken.file, other, {}, lambda *_: None)
    assert (other.agent("main").workspace / "MEMORY.md").read_text() == "- here\n"
    assert (other.agent("main").root / "workspace.before/MEMORY.md").is_file()
    assert read_config(other.config_file).agents["main"].workspace is None
    place = Home(tmp_path / "other")
    restore = partial(restore_backup, taken.file, place, {}, lambda *_: None, [RestoreException.OUTSIDE])
    with pytest.raises(BackupError, match="the workspace of agent main, is not empty"):
        restore()
    notes.rename(tmp_path / "moved")
    restore()
    assert (notes / "MEMORY.md").read_text() == "- here\n"


def test_what_cannot_be_backed_up_is_told_and_leaves_no_file(home: Home, tmp_path: Path) -> None:
    """A file that is there, a place among the files themselves, another backup at work, a damaged state."""
    target = tmp_path / "backup.tar.gz"
    target.write_text("mine")
    with pytest.raises(BackupError, match="already exists"):
        back_up(home, target)
    assert target.read_text() == "mine"
    target.unlink()
    with pytest.raises(BackupError, match="lies among the files"):
        back_up(home, home.agent("main").workspace / "backup.tar.gz")
    with FileLock(home.path / "run" / "backup.lock"), pytest.raises(BackupError, match="another backup"):
        back_up(home, target)
    with pytest.raises(StoreError, match="cannot be used"):
        back_up(home, tmp_path / "absent" / "backup.tar.gz")
    with pytest.raises(BackupError, match="is a folder; name a new file in it"):
        back_up(home, tmp_path)
    content = bytearray(home.state_db.read_bytes())
    content[4096:5000] = bytes(904)
    home.state_db.write_bytes(content)
    with pytest.raises((BackupError, StoreError), match="damaged"):
        back_up(home, target)
    assert not [path for path in tmp_path.iterdir() if "backup" in path.name]


@pytest.mark.parametrize("what", ["the home", "the place of the backup"])
def test_a_full_disk_is_told_by_its_own_name(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """The snapshot needs room in the home, which the place of the backup does not give; nobody tries again."""
    target = tmp_path / "backup.tar.gz"
    back_up(home, tmp_path / "earlier.tar.gz")  # the key is there
    full = OSError(errno.ENOSPC, "No space left on device")
    if what == "the home":
        monkeypatch.setattr(Path, "mkdir", Mock(side_effect=full))
    else:
        monkeypatch.setattr(ArchiveWriter, "file", Mock(side_effect=full))
    named = home.path if what == "the home" else target
    with pytest.raises(
        StoreError, match=f"that holds {named} is full; nothing was stored. Free some space and try again"
    ):
        back_up(home, target)
    assert not target.exists()


def test_a_history_is_read_while_nobody_packs_or_writes_it(home: Home) -> None:
    """And before the files that it is about: older files would be taken for the owner's undoing."""
    parts = parts_of(home, read_config(home.config_file))
    (history,) = [part for part in parts if part.name == "agents/main/history.git"]
    with history.lock(), pytest.raises(Timeout):
        FileLock(home.agent("main").root / "history.git.lock", blocking=False).acquire()
    assert parts.index(history) < [part.name for part in parts].index("agents/main")


def test_a_state_that_redis_keeps_is_not_made_up(home: Home, tmp_path: Path) -> None:
    """A database of the days before does not belong to the conversations of now; where the state is, is told."""
    home.write(home.config_file, '[redis]\nurl = "redis://127.0.0.1:1/0"\n')
    taken = back_up(home, tmp_path / "backup.tar.gz")
    assert taken.elsewhere == ("redis.url",)
    with tarfile.open(taken.file) as tar:
        names = tar.getnames()
    assert "state.db" not in names
    assert "agents/main/sessions/main.jsonl" in names


def test_a_backup_after_a_killed_one_cleans_up(home: Home, tmp_path: Path) -> None:
    """What a killed one had put aside is removed, and afterwards nothing is left in `run`."""
    left = home.path / "run" / "backup"
    left.mkdir()
    (left / "0").write_text("left")
    back_up(home, tmp_path / "backup.tar.gz")
    assert [path.name for path in (home.path / "run").iterdir() if path.name != "backup.lock"] == []


def test_a_file_that_its_owner_wrote_a_key_into_is_backed_up_without_it(home: Home, tmp_path: Path) -> None:
    """In workspaces, those of agents that were removed too; code of the owner's comes back as it was."""
    key = "canary-of-backups"
    for place in (home.agent("main").workspace, home.removed / "old-2026-01-01/workspace", home.hooks):
        (place / "mine.py").write_text(f"key = {key!r}\n")
    with guarding([key]):
        taken = back_up(home, tmp_path / "backup.tar.gz")
    with tarfile.open(taken.file) as archive:
        names = [name for name in archive.getnames() if name.endswith("mine.py")]
        found = {name: archive.extractfile(name).read().decode() for name in names}  # type: ignore[union-attr]
    assert found == {
        "hooks/mine.py": f"key = '{key}'\n",
        "agents/main/workspace/mine.py": f"key = '{REMOVED}'\n",
        "removed/old-2026-01-01/workspace/mine.py": f"key = '{REMOVED}'\n",
    }
    restore_backup(taken.file, Home(tmp_path / "other"), {}, lambda *_: None)
