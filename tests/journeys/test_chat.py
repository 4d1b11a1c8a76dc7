"""What somebody who types at a terminal sees while an answer is written, fails or takes long."""

import asyncio
import json
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from adapters.channel import Address
from adapters.spoken import CHAT
from adapters.terminal import CHANNEL
from gateway.app.resources import Machine
from gateway.control.stream_wire import ChatOrder, ChatSign
from gateway.home import Home
from gateway.stores.rows import Outgoing
from gateway.stores.sqlite.store import SqliteStore
from tests.crash.running import HastyClock
from tests.fakes.openai_stub import OpenAIStub
from tests.fakes.patience import PATIENCE_S
from tests.fakes.provider_stub import Body, Fault, Refusal, Reply, Step, call, instant
from tests.fakes.screen import on_screen
from tests.journeys.house import make_home, openai_section, running
from tests.journeys.processes import ROOT


async def unheard(_: str, __: bool) -> None: ...


def looks_first(body: Body) -> Step:
    """A model that searches before it answers."""
    if body["messages"][-1]["role"] == "tool":
        return Reply("It is **5433**.")
    return Reply("Let me look. ", calls=(call("memory_search", query="port"),))


async def test_an_answer_is_seen_while_it_is_written_with_the_tool_that_it_waits_for(tmp_path: Path) -> None:
    """Drafts grow step by step; the name of each tool comes between them."""
    signs: list[ChatSign] = []
    async with (
        OpenAIStub(looks_first) as model,
        running(make_home(tmp_path / "home", model=openai_section(model.url))) as app,
    ):
        await app.operator.chat(ChatOrder("which port?"), unheard, signs.append)
    assert [sign.text for sign in signs if sign.kind == "tool"] == ["memory_search"]
    place = signs.index(ChatSign("tool", "memory_search"))
    assert "Let me look." in signs[place - 1].text
    assert signs[-1] == ChatSign("draft", "It is **5433**.")


async def test_a_message_behind_one_that_waits_for_the_model_says_so_at_once(tmp_path: Path) -> None:
    """The prompt comes back with the reason for the first and for each later message; all are answered in the end."""
    is_down, signs, replies = True, list[ChatSign](), list[str]()

    def script(body: Body) -> Step:
        return Refusal(401) if is_down else instant(body)

    async def on_reply(text: str, _: bool) -> None:
        replies.append(text)

    async with (
        OpenAIStub(script) as model,
        asyncio.timeout(PATIENCE_S),
        running(make_home(tmp_path / "home", model=openai_section(model.url)), machine=Machine(HastyClock())) as app,
    ):
        for text in ("one", "two", "three"):
            await app.operator.chat(ChatOrder(text), on_reply, signs.append)
        assert [sign.kind for sign in signs] == ["postponed"] * 3
        is_down = False
        await app.operator.chat(ChatOrder("four"), on_reply)
    answers = " ".join(reply for reply in replies if reply.startswith("You said"))
    assert all(text in answers for text in ("one", "two", "three", "four"))


def command(home: Home, *words: str) -> list[str]:
    return [sys.executable, "-m", "gateway", "chat", *words, "--home", str(home.path)]


async def run(home: Home, *words: str) -> subprocess.CompletedProcess[str]:
    environ = os.environ | {"MODEL_KEY": "key"}
    return await asyncio.to_thread(
        subprocess.run, command(home, *words), cwd=ROOT, env=environ, capture_output=True, text=True, timeout=PATIENCE_S
    )


async def test_a_script_learns_that_there_is_no_answer(tmp_path: Path) -> None:
    """An outage or a passed time is status 1 and an `error`, never a reply; the message is kept."""

    step: Step = Refusal(401)
    async with OpenAIStub(lambda _: step) as model:
        home = make_home(tmp_path / "home", model=openai_section(model.url))
        refused = await run(home, "-m", "hello", "--json")
        plain = await run(home, "-m", "hello")
        step = Reply("never", fault=Fault.HANG)
        late = await run(home, "-m", "again", "--json", "--timeout", "1")
    assert (refused.returncode, plain.returncode, late.returncode) == (1, 1, 1)
    assert json.loads(refused.stdout)["reply"] == ""
    assert "rejects my requests" in json.loads(refused.stdout)["error"]
    assert "rejects my requests" in plain.stderr
    assert plain.stdout == ""
    assert json.loads(late.stdout)["error"].startswith("no answer within 1 seconds")


async def test_a_reader_that_leaves_holds_up_nothing(tmp_path: Path) -> None:
    """As in `| head`: the turn ends, and so does the program, without a trace."""
    home = make_home(tmp_path / "home")
    reading, writing = os.pipe()
    os.close(reading)
    environ = os.environ | {"MODEL_KEY": "key"}
    run = [*command(home), "-m", "hello"]
    process = await asyncio.create_subprocess_exec(*run, cwd=ROOT, env=environ, stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    async with asyncio.timeout(PATIENCE_S):
        _, stderr = await process.communicate()
    assert (process.returncode, stderr) == (0, b"")


async def test_a_full_disk_is_told(tmp_path: Path) -> None:
    """Where the answer cannot be written, the program says so and ends; the home is free again."""
    home = make_home(tmp_path / "home")
    environ, full = os.environ | {"MODEL_KEY": "key"}, os.open("/dev/full", os.O_WRONLY)
    run = [*command(home), "-m", "hello"]
    process = await asyncio.create_subprocess_exec(*run, cwd=ROOT, env=environ, stdout=full, stderr=subprocess.PIPE)
    os.close(full)
    async with asyncio.timeout(PATIENCE_S):
        _, stderr = await process.communicate()
    assert process.returncode == 1
    assert stderr.decode().startswith("strandline: the output cannot be written: ")


async def test_silence_is_noted(tmp_path: Path) -> None:
    """The first message is told that the budget is spent, the second that none comes, and where to look."""
    home = make_home(tmp_path / "home", model=openai_section("http://127.0.0.1:9/v1"))
    budget = "\n[agents.main.budget]\ntokens_a_day = 1\n"
    home.write(home.config_file, home.config_file.read_text("utf-8") + budget)
    told, silent = await run(home, "-m", "hello"), await run(home, "-m", "hello again")
    assert "budget" in told.stdout + told.stderr
    assert (silent.returncode, silent.stdout) == (0, "")
    assert silent.stderr == "(no answer to this; strandline route why names the reason if there is one)\n"


class Screen:
    """A pseudo-terminal with a chat in it."""

    def __init__(self, home: Home) -> None:
        self._end, slave = pty.openpty()
        environ = os.environ | {"MODEL_KEY": "key", "TERM": "xterm", "COLUMNS": "80", "LINES": "40"}
        self.process = subprocess.Popen(command(home), cwd=ROOT, env=environ, preexec_fn=lambda: os.login_tty(slave))  # noqa: PLW1509  it makes one system call
        os.close(slave)
        self.text = ""

    def type(self, text: str) -> None:
        os.write(self._end, text.encode())

    def wait_for(self, wanted: str) -> None:
        """Wait until *wanted* stands on the screen."""
        end = time.monotonic() + PATIENCE_S
        while wanted not in self.text and time.monotonic() < end:
            if select.select([self._end], [], [], 0.1)[0]:
                self.text += os.read(self._end, 65_536).decode(errors="replace")
        assert wanted in self.text, self.text

    def leave(self) -> int:
        """Press Ctrl-D at the prompt, and return the exit status."""
        self.type("\x04")
        while self.process.poll() is None:
            if select.select([self._end], [], [], 0.5)[0]:
                with suppress(OSError):  # how the end of a terminal reads
                    self.text += os.read(self._end, 65_536).decode(errors="replace")
            else:
                self.type("\x04")
        os.close(self._end)
        return self.process.returncode


async def test_a_chat_at_a_terminal_streams_stops_and_goes_on(tmp_path: Path) -> None:
    """The first words are seen while the model still writes; Ctrl-C stops the answer, not the chat; Ctrl-D leaves."""
    answers: Iterator[Step] = iter([Reply("Onward to Ondine, ", fault=Fault.STALL), "Ashore."])
    async with OpenAIStub(lambda _: next(answers)) as model:
        screen = Screen(make_home(tmp_path / "home", model=openai_section(model.url)))
        await asyncio.to_thread(screen.wait_for, "Ctrl-D leaves.")
        screen.type("sail\r")
        await asyncio.to_thread(screen.wait_for, "Ondine,")
        screen.type("\x03")
        await asyncio.to_thread(screen.wait_for, "Stopped.")
        screen.type("land\r")
        await asyncio.to_thread(screen.wait_for, "Ashore.")
        assert await asyncio.to_thread(screen.leave) == 0
    assert on_screen(screen.text).count("Onward to Ondine,") == 1
    assert "Traceback" not in screen.text


async def test_what_came_unasked_is_seen_at_the_prompt(tmp_path: Path) -> None:
    """A reminder needs no message before it is shown, and is no part of the next answer."""
    home = make_home(tmp_path / "home")
    store = await SqliteStore.open(home.state_db)
    await store.notify("oven", Outgoing(Address(CHANNEL, "main", CHAT), "Look in the *oven*."))
    await store.close()
    screen = Screen(home)
    await asyncio.to_thread(screen.wait_for, "oven")
    screen.type("thanks\r")
    await asyncio.to_thread(screen.wait_for, "You are welcome.")
    assert await asyncio.to_thread(screen.leave) == 0
    assert "(earlier)" not in screen.text
    assert "*oven*" not in screen.text
