"""Programs as hooks: real ones, with what they are told and what becomes of each way to fail."""

import asyncio
import json
import os
import select
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.errors import ConfigError, HookError
from gateway.hooks import BEFORE_TOOL_CALL, COMMAND, MESSAGE_SENDING, Hooks, MessageSending, load_hooks
from gateway.hooks.programs import HookProgram, as_json
from tests.fakes.patience import PATIENCE_S
from tests.gateway.hooks.folder import program, put

SAMPLE = MESSAGE_SENDING.sample or pytest.fail("the event has no sample")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "hooks").mkdir(mode=0o700)
    return tmp_path / "hooks"


async def sent(folder: Path) -> MessageSending:
    async with asyncio.timeout(PATIENCE_S):
        return await Hooks(load_hooks(folder)).tell(MESSAGE_SENDING, SAMPLE)


async def test_a_program_is_told_all_and_changes_what_it_prints(folder: Path) -> None:
    """One object in, the changed fields out; what prints nothing changes nothing."""
    program(folder, "message_sending.d/10-sign", f'cat > {folder.parent}/told; echo \'{{"text": "signed"}}\'')
    program(folder, "message_sending.d/20-looks", f"cat > {folder.parent}/second")
    assert await sent(folder) == replace(SAMPLE, text="signed")
    told = json.loads((folder.parent / "told").read_text("utf-8"))
    assert told == {"event": "message_sending", "payload": as_json(SAMPLE)}
    assert told["payload"]["conversation"] == {"agent": "main", "session": "main:main", "session_type": "main"}
    assert json.loads((folder.parent / "second").read_text("utf-8"))["payload"]["text"] == "signed"


async def test_a_program_gets_nothing_of_the_gateways_environment(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No token is handed down."""
    monkeypatch.setenv("BOT_TOKEN", "a-secret-of-the-gateway")
    program(folder, "message_sending.d/env", f"env > {folder.parent}/env")
    await sent(folder)
    names = {line.partition("=")[0] for line in (folder.parent / "env").read_text("utf-8").splitlines()}
    assert names - {"PWD", "SHLVL", "_", "OLDPWD"} == {"PATH", "LC_ALL", "STRANDLINE_EVENT"}


@pytest.mark.parametrize(
    "body",
    [
        "exit 3",
        "echo no json",
        "echo '[]'",
        "echo '{\"text\": 7}'",
        'echo \'{"colour": "red"}\'',
        'echo \'{"place": {"chat": "9"}}\'',
        "kill -9 $$",
        "yes | head -c 5000000",
    ],
)
async def test_a_program_that_fails_says_no(folder: Path, body: str) -> None:
    """Where it decides, whatever its way to fail is."""
    program(folder, "message_sending.d/bad", body)
    with pytest.raises(HookError, match=r"message_sending\.d/bad"):
        await sent(folder)


def test_a_program_that_hangs_is_ended_with_what_it_started(folder: Path) -> None:
    """Nothing of it is left to write later."""
    held = folder.parent / "held"
    os.mkfifo(held)
    program(folder, "message_sending.d/hangs", f"(exec 3> {held}; sleep 600) & sleep 600")
    hangs = HookProgram(folder / "message_sending.d/hangs", "message_sending", 0.5)
    left = os.open(held, os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(TimeoutError):
        hangs(SAMPLE)
    assert select.select([left], [], [], PATIENCE_S)[0], "what it started still holds it"
    assert os.read(left, 1) == b""
    os.close(left)


async def test_fields_that_a_program_repeats_are_no_change(folder: Path) -> None:
    """It may print the whole payload back."""
    program(folder, "message_sending.d/echo", 'sed \'s/^{"event": "message_sending", "payload": //; s/}$//\'')
    assert await sent(folder) == SAMPLE


def not_a_program(folder: Path) -> None:
    put(folder, "message_sending.d/notes.txt", "words")


def no_event(folder: Path) -> None:
    program(folder, "message_sendign.d/a", "true")


def no_event_for_programs(folder: Path) -> None:
    program(folder, "agent:bootstrap.d/a", "true")


def writable_by_others(folder: Path) -> None:
    program(folder, "message_sending.d/a", "true")
    (folder / "message_sending.d/a").chmod(0o777)


def a_link(folder: Path) -> None:
    program(folder.parent, "elsewhere", "true")
    (folder / "message_sending.d").mkdir()
    (folder / "message_sending.d/a").symlink_to(folder.parent / "elsewhere")


@pytest.mark.parametrize("fault", [not_a_program, no_event, no_event_for_programs, writable_by_others, a_link])
def test_what_is_no_program_of_the_owners_stops_the_start(folder: Path, fault: Callable[[Path], None]) -> None:
    """With one line that names it."""
    fault(folder)
    with pytest.raises(ConfigError, match=r"hooks/"):
        load_hooks(folder)


def test_programs_come_after_files_in_order_of_name(folder: Path) -> None:
    """Under any name of their event; what an editor leaves behind is none."""
    put(folder, "z.py", "from gateway.hooks import BEFORE_TOOL_CALL, on\n@on(BEFORE_TOOL_CALL)\ndef z(event): ...\n")
    program(folder, "message_sending.d/20", "true")
    program(folder, "message_sending.d/10", "true")
    program(folder, "before_tool_call.d/a", "true")
    program(folder, "command.d/a", "true")
    program(folder, "command:new.d/a", "true")
    put(folder, "message_sending.d/10~", "old")
    put(folder, "message_sending.d/.10.swp", "old")
    found = [(hook.event, hook.source) for hook in load_hooks(folder)]
    assert found == [
        (BEFORE_TOOL_CALL.name, "z.py:z"),
        (BEFORE_TOOL_CALL.name, "before_tool_call.d/a"),
        (COMMAND.name, "command.d/a"),
        ("command:new", "command:new.d/a"),
        ("message_sending", "message_sending.d/10"),
        ("message_sending", "message_sending.d/20"),
    ]
    assert os.access(folder / "message_sending.d/10", os.X_OK)
