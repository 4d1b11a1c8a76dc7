"""A running gateway takes up changed settings, in its own process and at its own address."""

import asyncio
import errno
import io
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from unittest.mock import Mock

import pytest

from gateway.cli import main
from gateway.cli.invocation import Composed, Invocation
from gateway.cli.settings_report import taken_up
from gateway.cli.settings_watch import live_part, restart_keys
from gateway.cli.up import serve
from gateway.config import Config
from gateway.config.changes import set_secret, set_values
from gateway.errors import ConfigError
from gateway.home import ControlFile, Home
from tests.fakes.operator import FakeGateway, FakeOperator
from tests.fakes.patience import PATIENCE_S

KEY = "a-secret-of-the-home"


class Watched(FakeGateway):
    """Remembers the settings of each run, and ends a run when it is told to."""

    def __init__(self) -> None:
        super().__init__(FakeOperator())
        self.runs: list[tuple[Config, Mapping[str, str]]] = []
        self.may_end = asyncio.Event()
        """While cleared, a run that is over finishes its work."""
        self.may_end.set()
        self.is_ending = asyncio.Event()

    @asynccontextmanager
    async def __call__(
        self, home: Home, config: Config, environ: Mapping[str, str], *, channels: bool
    ) -> AsyncIterator[Composed]:
        if config.limits.drain_s == 13:
            async with asyncio.TaskGroup():  # as where several parts begin at once
                raise ConfigError("the number 13 is not served")
        self.runs.append((config, environ))
        over = asyncio.Event()
        self.is_ending.clear()

        async def run(stop: asyncio.Event) -> None:
            self.operator.ready = True
            waits = [asyncio.ensure_future(each.wait()) for each in (stop, over)]
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            self.is_ending.set()
            await self.may_end.wait()

        yield Composed(self.operator, self.operator, run, end_run=over.set)


@asynccontextmanager
async def up(home: Home, gateway: Watched) -> AsyncIterator[ControlFile]:
    """Run a gateway of *home* while the block runs, and give its address."""
    serving = asyncio.create_task(serve(Invocation({"TZ": "Europe/Berlin"}, gateway), home, None))
    try:
        async with asyncio.timeout(PATIENCE_S):
            while (control := home.control()) is None:  # noqa: ASYNC110  # another part of the program writes it
                await asyncio.sleep(0.01)
            yield control
    finally:
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.wait([serving], timeout=PATIENCE_S)
        serving.result()


async def test_changed_settings_and_secrets_are_taken_up(tmp_path: Path) -> None:
    """The next run has them, at the same address; the same file again begins no run."""
    home, gateway = Home(tmp_path / "home"), Watched()
    async with up(home, gateway) as control:
        await asyncio.to_thread(set_values, home, {("limits", "steps"): 7})
        assert await taken_up(home, "start") == "Taken up by the running gateway."
        assert gateway.runs[-1][0].limits.steps == 7
        await asyncio.to_thread(set_secret, home, "CO_API_KEY", KEY)
        assert await taken_up(home, "start") == "Taken up by the running gateway."
        assert gateway.runs[-1][1]["CO_API_KEY"] == KEY
        assert len(gateway.runs) == 3
        assert home.control() == control
    assert await taken_up(home, "strandline up") == "No gateway is running; start it: strandline up"


async def test_settings_that_cannot_be_used_change_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Invalid, or refused by a part: the earlier ones stay in force, as is told; a mended file is taken up."""
    home, gateway = Home(tmp_path / "home"), Watched()
    async with up(home, gateway):
        home.write(home.config_file, "[limits]\nstpes = 7\n")
        told = await taken_up(home, "start")
        assert "keeps its earlier settings" in told
        assert "did you mean steps?" in told
        assert len(gateway.runs) == 1
        home.write(home.config_file, "[limits]\ndrain_s = 13\n")
        assert "13 is not served" in await taken_up(home, "start")
        assert gateway.runs[-1][0].limits.drain_s == 10
        assert await asyncio.to_thread(main.run, ["doctor", "--home", str(home.path)], {}, "strandline", gateway) == 1
        assert "fail  settings: the running gateway keeps its earlier settings" in capsys.readouterr().out
        assert await asyncio.to_thread(main.run, ["status", "--home", str(home.path)], {}, "strandline", gateway) == 0
        assert "settings  the earlier ones stay in force: the number 13 is not served" in capsys.readouterr().out
        home.write(home.config_file, "[limits]\ndrain_s = 14\n")
        assert await taken_up(home, "start") == "Taken up by the running gateway."
        assert gateway.runs[-1][0].limits.drain_s == 14


async def test_an_agent_that_came_and_went_again_leaves_no_fault(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """While it is there, the doctor warns of the next start; once it is gone, nothing, though a run still ends."""
    home, gateway = Home(tmp_path / "home"), Watched()

    async def examined() -> tuple[int, list[str]]:
        status = await asyncio.to_thread(main.run, ["doctor", "--home", str(home.path)], {}, "strandline", gateway)
        return status, [line for line in capsys.readouterr().out.splitlines() if " settings: " in line]

    async with up(home, gateway):
        before = home.config_file.read_text("utf-8")
        home.write(home.config_file, f"{before}\n[agents.second]\n")
        later = "takes effect at the next start, with all other changes: agents.second"
        assert await taken_up(home, "start") == f"The change {later}."
        assert await examined() == (0, [f"warn  settings: a change {later}"])
        gateway.may_end.clear()
        home.write(home.config_file, before)
        async with asyncio.timeout(PATIENCE_S):
            await gateway.is_ending.wait()
        assert await examined() == (0, [])
        gateway.may_end.set()
        assert await taken_up(home, "start") == "Taken up by the running gateway."


def test_what_is_read_at_the_start_waits_for_the_next() -> None:
    """The rest is live; with other agents nothing is, as a run needs the folders of all."""
    running = Config.model_validate({})
    fresh = Config.model_validate({"gateway": {"port": 9}, "limits": {"steps": 3}})
    assert list(restart_keys(running, fresh)) == ["gateway"]
    live = live_part(running, fresh)
    assert live is not None
    assert (live.gateway.port, live.limits.steps) == (0, 3)
    other = Config.model_validate({"agents": {"main": {}, "work": {}}})
    assert list(restart_keys(running, other)) == ["agents.work"]
    assert live_part(running, other) is None


def test_a_setting_is_shown_and_changed_at_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Text needs no quotes; a wrong key or value changes nothing; a key is stored, listed by name and removed."""
    home = Home(tmp_path / "home")

    def run(*words: str) -> tuple[int, str]:
        status = main.run([*words, "--home", str(home.path)], {"TZ": "UTC"}, "strandline", FakeGateway(FakeOperator()))
        shown = capsys.readouterr()
        return status, shown.out + shown.err

    run("init", "--yes")
    before = home.config_file.read_text("utf-8")
    assert run("config", "get", "limits.steps") == (0, f"{Config().limits.steps}\n")
    assert run("config", "set", "limits.steps", "9")[0] == 0
    assert run("config", "get", "limits.steps") == (0, "9\n")
    assert run("config", "unset", "limits.steps")[0] == 0
    assert run("config", "get", "limits.steps") == (0, f"{Config().limits.steps}\n")
    assert "limits.steps is not set in the file" in run("config", "unset", "limits.steps")[1]
    assert run("config", "set", "owner.time_zone", "Asia/Tokyo")[0] == 0
    assert "# decides which day a note belongs to" in home.config_file.read_text("utf-8")
    now = home.config_file.read_text("utf-8")
    for key, value in (("limits.stpes", "9"), ("owner.time_zone", "Nowhere"), ("limits.steps", "many")):
        assert run("config", "set", key, value)[0] == 2
    assert "did you mean steps" in run("config", "get", "limits.stpes")[1]
    assert home.config_file.read_text("utf-8") == now != before
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{KEY}\n"))
    status, said = run("keys", "set", "CO_API_KEY")
    assert (status, KEY in said) == (0, False)
    assert oct(home.secrets_file.stat().st_mode)[-3:] == "600"
    assert run("keys", "list") == (0, "CO_API_KEY\n")
    assert "your shell's history has it" in run("keys", "set", "sk-ant-0123456789abcdef")[1]
    assert run("keys", "remove", "CO_API_KEY")[0] == 0
    assert run("keys", "list") == (0, "No keys are stored.\n")
    assert run("keys", "remove", "CO_API_KEY")[0] == 2


def test_a_policy_that_would_close_a_bot_is_not_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file may hold it, as the bot alone then stays closed; nobody who sets one value means that."""
    home = Home(tmp_path / "home")
    set_values(home, {("channels", "telegram", "home", "token_env"): "TELEGRAM_TOKEN"})

    def set_direct(policy: str) -> int:
        words = ["config", "set", "channels.telegram.home.direct", policy, "--home", str(home.path)]
        return main.run(words, {"TZ": "UTC"}, "strandline", FakeGateway(FakeOperator()))

    before = home.config_file.read_text("utf-8")
    assert set_direct("everybody") == 2
    told = capsys.readouterr().err
    assert '"everybody" is not a policy; it is one of "pairing", "owner", "closed"\n' in told
    assert home.config_file.read_text("utf-8") == before
    home.write(home.config_file, f'{before}direct = "opne"\n')
    assert set_direct("owner") == 0


def test_an_edit_is_checked_before_it_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wrong file is offered again; who gives up keeps the one that there was."""
    home = Home(tmp_path / "home")
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nprintf "[limits]\\nsteps = $(cat "$0.value")\\n" > "$1"\n', "utf-8")
    editor.chmod(0o700)

    def edit(value: str, answer: str) -> int:
        Path(f"{editor}.value").write_text(value, "utf-8")
        monkeypatch.setattr(sys, "stdin", io.StringIO(answer))
        words = ["config", "edit", "--home", str(home.path)]
        return main.run(words, {"TZ": "UTC", "EDITOR": str(editor)}, "strandline", FakeGateway(FakeOperator()))

    main.run(["init", "--yes", "--home", str(home.path)], {"TZ": "UTC"}, "strandline", FakeGateway(FakeOperator()))
    before = home.config_file.read_text("utf-8")
    assert edit("0", "n\n") == 1
    assert home.config_file.read_text("utf-8") == before
    assert edit("8", "") == 0
    assert home.config_file.read_text("utf-8") == "[limits]\nsteps = 8\n"
    assert "limits.steps" in capsys.readouterr().err


@pytest.mark.parametrize("damage", [b"x = [", b"# \xff\nx = ["])
def test_a_damaged_configuration_is_mended_by_the_editor_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: bytes
) -> None:
    """`config set` says that it is no TOML; `config edit` opens it, also with a byte that is no text."""
    home = Home(tmp_path / "home")

    def run(*words: str) -> tuple[int, str]:
        environ = {"TZ": "UTC", "PATH": os.environ["PATH"], "EDITOR": "sed -i -e '/x = /d'"}
        status = main.run([*words, "--home", str(home.path)], environ, "strandline", FakeGateway(FakeOperator()))
        shown = capsys.readouterr()
        return status, shown.out + shown.err

    run("init", "--yes")
    with home.config_file.open("ab") as out:
        out.write(damage)
    status, told = run("config", "set", "limits.steps", "9")
    assert (status, told.startswith(f"strandline: {home.config_file}: is not TOML: ")) == (2, True)
    if damage.startswith(b"x"):
        assert run("connect", "mcp", "clock", "--url", "http://127.0.0.1:9")[1].startswith(
            "strandline: config.toml is not TOML: "
        )
    assert run("config", "edit")[0] == 0
    assert run("config", "set", "limits.steps", "9")[0] == 0
    assert "name a program after --, or its address" in run("connect", "mcp", "clock")[1]


def test_a_key_that_cannot_be_stored_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a full disk, with the file and the reason."""
    home = Home(tmp_path / "home")
    home.create()
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{KEY}\n"))
    monkeypatch.setattr(Home, "write", Mock(side_effect=OSError(errno.ENOSPC, "No space left on device")))
    argv = ["keys", "set", "CO_API_KEY", "--home", str(home.path)]
    assert main.run(argv, {"TZ": "UTC"}, "strandline", FakeGateway(FakeOperator())) == 2
    assert capsys.readouterr().err.endswith(f"{home.secrets_file}: cannot be written: No space left on device\n")
