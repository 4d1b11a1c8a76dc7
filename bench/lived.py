"""Homes with a past: a year of notes, fifty conversations, and a first start behind them."""

import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench.made_notes import daily_notes, note
from bench.talk import prose
from gateway.agent.entries import ReplyEntry, SummaryEntry, Usage, UserEntry
from gateway.home import AgentHome, Home
from gateway.stores.rows import TurnId
from gateway.transcripts.codec import Record, header, to_line
from tests.journeys.house import ENVIRON, OWNER, make_home, openai_section
from tests.journeys.processes import ROOT, Gateway
from workspaces.access import AgentId
from workspaces.workspace import Workspace

TURNS_OF_EACH = 20
SUMMARY_EVERY = 50
"""Turns, in a long conversation."""
AGE_S = 60.0
"""Time since the last write of a conversation: one that was just written is indexed again once it has rested."""
TOKEN = "a-token-of-the-bench-0123456789"


@dataclass(frozen=True, slots=True)
class Extent:
    """How much is measured, and on how full a home."""

    runs: int = 5
    messages: int = 40
    """One after the other in each run; as many searches."""
    entries: int = 5_000
    """A year of days of 14 lines."""
    chats: int = 50


USUAL = Extent()


@dataclass(frozen=True, slots=True)
class Around:
    """Loopback servers of a home: a Bot API, and a model."""

    bot: str
    model: str


@dataclass(frozen=True, slots=True)
class LivedHome:
    """A home, with the address of its HTTP API."""

    home: Home
    port: int
    log: Path
    groups: Sequence[int]

    def gateway(self) -> Gateway:
        """Return its gateway, which is not started."""
        return Gateway(self.home, self.log)


def lived_home(folder: Path, around: Around, extent: Extent = USUAL) -> LivedHome:
    """Make a home whose agent has a year of notes and conversations in many chats; start it twice."""
    groups = [-1000 - number for number in range(extent.chats)]
    made = configured(folder, around, groups)
    agent = made.home.agent("main")
    (agent.workspace / "memory").mkdir(exist_ok=True)
    for day, text in daily_notes(extent.entries):
        (agent.workspace / "memory" / f"{day}.md").write_text(text, "utf-8")
    chance = random.Random(3)
    lasting = "".join(f"- {note(chance, 900_000 + number)}\n" for number in range(40))
    (agent.workspace / "MEMORY.md").write_text(f"# Memory\n\n{lasting}", "utf-8")
    write_conversations(agent, [OWNER, *groups[1:]], TURNS_OF_EACH)
    start_once(made)
    _let_rest(agent)  # its stop wrote into each conversation, and the day of each into notes: both are indexed now
    start_once(made)
    return made


def small_home(folder: Path, around: Around, agents: int = 1, *, lived: bool = True, settings: str = "") -> LivedHome:
    """Make a home of agents with two notes each, started once, or a new one; *settings* end its configuration."""
    names = ["main", *(f"agent{number}" for number in range(1, agents))]
    made = configured(folder, around, [])
    text = made.home.config_file.read_text()
    made.home.write(
        made.home.config_file,
        "".join((text, *(f'[agents.{name}]\nmodel = "stub"\n' for name in names[1:]), settings)),
    )
    for number, name in enumerate(names):
        place = made.home.agent(name).workspace
        if not place.exists():
            Workspace.create(place, AgentId(name)).folder.close()
        if lived:
            (place / "memory").mkdir(exist_ok=True)
            days = daily_notes(28 * (number + 1))
            for day, text in list(days)[-2:]:
                (place / "memory" / f"{day}.md").write_text(text, "utf-8")
    if lived:
        start_once(made, names)
    return made


def configured(folder: Path, around: Around, groups: Sequence[int]) -> LivedHome:
    """Make a new home that hears *groups*."""
    home = make_home(folder, around.bot, openai_section(around.model))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    (home.path / "token").write_text(TOKEN)
    heard = ", ".join(f'"{chat}" = {{ mention = false }}' for chat in groups)
    text = home.config_file.read_text().replace('"-100" = { mention = true }', heard)
    web = f'[web]\nenabled = true\nport = {port}\n[web.tokens.bench]\ntoken_file = "token"\nagents = ["main"]\n'
    home.write(home.config_file, f"{text}\n{web}chats_a_day = 1000\n")
    return LivedHome(home, port, folder.with_suffix(".log"), groups)


def start_once(made: LivedHome, agents: Sequence[str] = ("main",)) -> float:
    """Start its gateway, and stop it once the *agents* are indexed; return the seconds of the indexing."""
    gateway = made.gateway()
    gateway.start()
    try:
        began = time.perf_counter()
        for agent in agents:
            command(made.home, "memory", "index", "--agent", agent)
        return time.perf_counter() - began
    finally:
        gateway.stop()


def command(home: Home, *words: str) -> float:
    """Run a command on *home*; return its seconds."""
    began = time.perf_counter()
    line = [sys.executable, "-m", "gateway", *words, "--home", str(home.path)]
    subprocess.run(line, cwd=ROOT, env={**os.environ, **ENVIRON}, check=True, capture_output=True)
    return time.perf_counter() - began


def write_conversations(agent: AgentHome, chats: Sequence[int], turns: int) -> None:
    """Write *turns* turns into the conversation of each chat, up to now, with summaries: none has gone to rest."""
    agent.sessions.mkdir(parents=True, exist_ok=True)
    chance, now = random.Random(2), datetime.now(UTC)
    for chat in chats:
        name = "main" if chat == OWNER else f"group:telegram.home.{chat}"
        lines = [header(name, now)]
        for number in range(turns):
            at, turn = now - timedelta(minutes=turns - number), TurnId(f"{name}-{number}")
            said = UserEntry(prose(chance, 20), at, "", turn)
            answered = ReplyEntry(prose(chance, 40), (), "stub", Usage(100, 20))
            lines += [to_line(Record(turn, at, entry)) for entry in (said, answered)]
            if number % SUMMARY_EVERY == SUMMARY_EVERY - 1:
                kept = f"{name}-{number - SUMMARY_EVERY // 5}"
                summary = SummaryEntry(prose(chance, 100), kept, (), from_outside=False, model="stub")
                lines.append(to_line(Record(turn, at, summary)))
        (agent.sessions / f"{name}.jsonl").write_bytes(b"".join(lines))
    _let_rest(agent)


def _let_rest(agent: AgentHome) -> None:
    """Have the conversations written `AGE_S` ago."""
    for file in agent.sessions.glob("*.jsonl"):
        os.utime(file, (time.time() - AGE_S,) * 2)
