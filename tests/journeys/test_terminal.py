"""What a terminal shows that comes back after a crash."""

import asyncio
import os
import subprocess
import sys
import unicodedata
from contextlib import suppress
from pathlib import Path

from adapters.channel import Address
from adapters.spoken import CHAT
from adapters.terminal import CHANNEL
from gateway.control.status_wire import StatusOrder
from gateway.control.stream_wire import ChatOrder
from gateway.home import Home
from gateway.stores.quarantine import CRASHED_REPLY
from gateway.stores.rows import Outgoing, TurnCommit, TurnId
from gateway.stores.sqlite.store import SqliteStore
from tests.fakes.patience import PATIENCE_S
from tests.journeys.house import make_home, running
from tests.journeys.processes import ROOT


async def test_an_answer_that_nobody_was_there_to_read_comes_first_and_says_so(tmp_path: Path) -> None:
    """Nothing that was committed is lost, and it does not pass for the answer to the new question."""
    home = make_home(tmp_path / "home")
    store = await SqliteStore.open(home.state_db)
    await store.notify("old", Outgoing(Address(CHANNEL, "main", CHAT), "from before"))
    await store.close()
    shown: list[tuple[str, bool]] = []

    async def on_reply(text: str, is_answer: bool) -> None:
        shown.append((text.splitlines()[0], is_answer))

    async with running(home) as app:
        await app.operator.chat(ChatOrder("thanks"), on_reply)
    assert [is_answer for _, is_answer in shown] == [False, True]
    assert shown[0] == ("from before", False)


async def test_a_reader_that_only_listens_hears_what_comes_until_the_run_ends(tmp_path: Path) -> None:
    """An open chat shows a reminder when it is due; the gateway stops without waiting for its reader to leave."""
    home = make_home(tmp_path / "home")
    heard: asyncio.Queue[tuple[str, bool]] = asyncio.Queue()

    async def on_reply(text: str, is_answer: bool) -> None:
        heard.put_nowait((text, is_answer))

    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as tasks, running(home) as app:
        tasks.create_task(app.operator.chat(ChatOrder("", listens=True), on_reply))
        await app.parts.resources.home.notices.tell("oven", "Look in the oven.")
        assert await heard.get() == ("Look in the oven.", False)


async def test_a_reply_that_cannot_be_delivered_is_told_to_the_owner(tmp_path: Path) -> None:
    """A chat that is gone for good is no silence: the terminal says which, and `status` counts it."""
    home = make_home(tmp_path / "home")
    store = await SqliteStore.open(home.state_db)
    await store.commit_turn(TurnCommit(TurnId("t9"), [], [Outgoing(Address("gone", "home", "1"), "lost")]))
    await store.close()
    shown: list[str] = []

    async def on_reply(text: str, _: bool) -> None:
        shown.append(text)

    async with running(home) as app:
        await app.operator.chat(ChatOrder("thanks"), on_reply)
        await app.operator.chat(ChatOrder("thanks again"), on_reply)
        status = await app.operator.ask(StatusOrder())
    assert [text for text in shown if "gone.home.1" in text and "could not be delivered" in text]
    assert status.outbox_dead == 1


STEERING = "\x1b[2J\x1b]52;c;cm0=\x07\u202eevil\u2066\x9b31m"
COMMANDS = (
    ("sessions", "export", "main"),
    ("sessions", "export", "main", "--format", "jsonl"),
    ("sessions", "show", "main"),
    ("sessions", "search", "oops", "--json"),
    ("memory", "search", "oops", "--json"),
    ("memory", "search", "oops"),
    ("memory", "why"),
    ("history", "diff", "HEAD~1"),
    ("history", "show", "HEAD"),
    ("approvals", "list"),
    ("quarantine", "list"),
    ("quarantine", "list", "--json"),
    ("status",),
    ("chat", "--message", "What is oops?"),
)
"""All that prints stored text; one that finds nothing to print is no trouble here."""


def shown_on_a_terminal(home: Home, *words: str) -> str:
    """Return what the command writes to a terminal, on both outputs."""
    master, slave = os.openpty()
    try:
        command = [sys.executable, "-m", "gateway", *words, "--home", str(home.path)]
        process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=slave, stderr=slave)
        os.close(slave)
        shown = b""
        with suppress(OSError):  # how the end of a terminal reads
            while part := os.read(master, 65_536):
                shown += part
        process.wait(PATIENCE_S)
    finally:
        os.close(master)
    return shown.decode()


async def test_no_stored_text_steers_a_terminal(tmp_path: Path) -> None:
    """Whichever command prints it, in whatever form; a file that it is written to has each character."""
    home = make_home(tmp_path / "home")
    notes = home.agent("main").workspace / "MEMORY.md"
    notes.write_text("# Memory\n\n- oops is tea\n", "utf-8")
    store = await SqliteStore.open(home.state_db)
    reply = Outgoing(Address(CHANNEL, "main", CHAT), f"oops {STEERING}")
    for number in range(2):
        await store.notify(f"old{number}", reply)
    first, second = await store.outbox.unfinished()
    await store.quarantine.add(CRASHED_REPLY, first.id, f"why {STEERING}")
    assert second.id
    await store.close()
    async with running(home) as app:
        await app.operator.chat(ChatOrder(f"Remember that oops is {STEERING}"), unheard)
        notes.write_text(f"# Memory\n\n- oops is {STEERING}\n", "utf-8")
        await app.operator.chat(ChatOrder("What is oops?"), unheard)
    for words in COMMANDS:
        shown = await asyncio.to_thread(shown_on_a_terminal, home, *words)
        steering = {char for char in shown if char not in "\r\n\t" and unicodedata.category(char) in {"Cc", "Cf"}}
        assert steering == set(), (words, shown)
        assert "evil" in shown or words[0] in {"status", "history", "approvals"} or "why" in words, (words, shown)
    file = tmp_path / "export.md"
    await asyncio.to_thread(shown_on_a_terminal, home, "sessions", "export", "main", "--output", str(file))
    assert STEERING in file.read_text("utf-8")


async def unheard(_: str, __: bool) -> None:
    """Nobody reads the answer."""
