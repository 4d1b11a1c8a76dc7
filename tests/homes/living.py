"""Makes the home of a version: `python -m tests.homes.living` lets people talk with an agent for two days.

Run it once for each tagged version, at that version; what it writes is never edited afterwards.
"""

import asyncio
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

from gateway.app.resources import Machine
from gateway.control.cron_wire import CronOrder
from gateway.home import Home
from gateway.runtime.clock import SystemClock, utc_now
from tests.fakes.botapi import BotApi
from tests.fakes.openai_stub import OpenAIStub
from tests.fakes.provider_stub import Body, Reply, Step, call, without_note
from tests.homes.laid_out import FOLDER, STATE
from tests.journeys.house import GROUP, OWNER, make_home, openai_section, running

GUEST = 99
FIRST = datetime(2026, 11, 23, 8, 30, tzinfo=UTC)
MINUTES_A_DAY = 1_440
SECOND_DAY = (
    "Where is the spare key?",
    "#house the safe opens with 4711",
    "The plumber has a new number: 0151 555 0202.",
    "What did we say about the fence?",
)


def assistant(body: Body) -> Step:
    """A model that notes, searches and schedules as it is told, and quotes what it found."""
    *_, last = body["messages"]
    content = last["content"]
    said = without_note(content if isinstance(content, str) else str(content[0]["text"]))
    if last["role"] == "tool":
        return f"Done: {said[:60]}"
    if said.lower().startswith("remember"):
        return Reply(calls=(call("add_note", text=said.partition("that ")[2] or said),))
    if "?" in said:
        return Reply(calls=(call("memory_search", query=said),))
    return Reply(calls=(call("save_memory", text=said, category="notes"),))


class TalkClock(SystemClock):
    """The first day's morning, and so many minutes later."""

    def __init__(self) -> None:
        self._begun = utc_now()
        self.minutes = 0

    def now(self) -> datetime:
        return FIRST + timedelta(minutes=self.minutes) + (utc_now() - self._begun)


async def live(path: Path) -> Home:
    """Make a home at *path* with two days of talk: the owner, a guest, a group, notes, a job, marked text."""
    clock = TalkClock()
    async with BotApi() as bot, OpenAIStub(assistant) as provider:
        home = make_home(path, bot.url, openai_section(provider.url))
        sent = 0

        async def says(chat: int, text: str, answers: int = 1, **extra: object) -> None:
            nonlocal sent
            clock.minutes += 7
            bot.says(chat, text, **extra)  # type: ignore[arg-type]
            sent += answers
            await bot.wait_for_sent(sent)

        async with running(home, machine=Machine(clock)) as app:
            await says(OWNER, "Remember that the spare key lies under the third pot.")
            await says(OWNER, "The plumber is Jo Ferris, 0151 555 0101.")
            await says(GUEST, "hello?", 2)
            (code,) = re.findall(r"\b[A-Z0-9]{4,5}-[A-Z0-9]{4,5}\b", bot.sent[-1].text + bot.sent[-2].text)[:1]
            await says(OWNER, f"/pair approve {code}", 2)
            await says(GUEST, "Remember that I am allergic to walnuts.")
            for text in ("Remember that the fence gets painted on Saturday.", "When do we paint the fence?"):
                await says(
                    GROUP, f"@{bot.me['username']} {text}", user_id=OWNER, chat_type="supergroup", title="Garden"
                )
            await app.operator.ask(CronOrder("add", when="every monday at 9:00", what="Water the ferns."))
            await says(OWNER, "Remember that Zoë's café closes at 18:30, naïve as it sounds: 日曜日は休み.")
        clock.minutes = MINUTES_A_DAY
        async with running(home, machine=Machine(clock)) as app:
            await says(OWNER, "/new")
            for text in SECOND_DAY:
                await says(OWNER, text)
    text = home.config_file.read_text("utf-8")
    home.write(home.config_file, re.sub(r"http://127\.0\.0\.1:\d+", "http://127.0.0.1:9", text))
    return home


def write_down(home: Home, folder: Path) -> None:
    """Write *home* to *folder* as text: its state as SQL, its history as a stream of git."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(home.path, folder, ignore=shutil.ignore_patterns("run", "index", "*.lock", "*.key", "state.db*"))
    for history in folder.glob("agents/*/history.git*"):
        if history.name != "history.git":
            shutil.rmtree(history, ignore_errors=True) if history.is_dir() else history.unlink()
    with closing(sqlite3.connect(home.state_db)) as db:
        version_line = f"PRAGMA user_version = {db.execute('PRAGMA user_version').fetchone()[0]};"
        (folder / STATE).write_text("\n".join([*db.iterdump(), version_line, ""]), "utf-8")
    for agent in (folder / "agents").iterdir():
        source = home.agents / agent.name / "history.git"
        stream = subprocess.run(["git", "-C", source, "fast-export", "--all"], capture_output=True, check=True).stdout
        config = (source / "config").read_bytes()
        shutil.rmtree(agent / "history.git")
        (agent / "history.stream").write_bytes(stream)
        (agent / "history.config").write_bytes(config)


if __name__ == "__main__":
    with TemporaryDirectory() as place:
        made = asyncio.run(live(Path(place) / "home"))
        write_down(made, FOLDER / version("strandline"))
    sys.exit(0)
