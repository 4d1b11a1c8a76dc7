"""Benchmark of the page: the processor time of each view, with 10,000 notes and 5,000 changes."""

import random
import resource
import tempfile
from datetime import date, timedelta
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from bench.figures import Figure, at_most
from bench.made_notes import note
from gateway.control.wire import HistoryOrder, SearchOrder
from tests.gateway.web.browsing import a_code, browser_at, echo
from tests.gateway.web.house import House, open_house
from workspaces.access import AgentId
from workspaces.history import EDITOR

GOAL_MS = 100
LONG_TERM = 600
"""Notes of MEMORY.md."""
DAYS = 365
NOTES = 10_000
COMMITS = 5_000
ROUNDS = 7
LINE = "/agents/main/memory/line?cite=" + quote("MEMORY.md#L100-L100")
VIEWS = {
    "memory": "/agents/main/memory",
    "days": "/agents/main/memory/days",
    "a day": "/agents/main/memory/day?day=2026-10-01",
    "files": "/agents/main/memory/files",
    "search": "/agents/main/memory/search?q=Where+is+the+key+of+the+boathouse%3F",
    "origin of a line": LINE,
    "edit": "/agents/main/memory/edit?path=MEMORY.md",
    "history": "/agents/main/history",
    "history, memory": "/agents/main/history?topic=memory",
    "history, words": "/agents/main/history?q=boathouse",
    "a change": "/agents/main/history/change?revision={revision}",
    "work": "/agents/main/work",
    "trends": "/agents/main/work/trends",
    "tools": "/agents/main/work/tools",
    "jobs": "/agents/main/work/jobs",
    "conversations": "/agents/main/work/conversations",
    "health": "/agents/main/work/health",
    "people": "/people",
}
FIRST = ("/agents/main/memory", "/static/page.css", "/static/icon.svg")


async def run() -> list[Figure]:
    """Return the figures of this bench: for each view, and the bytes of the first one with its files."""
    figures = []
    with tempfile.TemporaryDirectory() as folder:
        async with open_house(Path(folder), echo) as house, browser_at(house.address) as browser:
            await browser.sign_in(await a_code(house))
            await fill(house)
            revision = (await house.app.operator.ask(HistoryOrder("log", "main"))).commits[0].revision
            for name, path in VIEWS.items():
                times = []
                for _ in range(ROUNDS):
                    begun = _processor_s()
                    response = await browser.http.get(path.format(revision=revision))
                    times.append((_processor_s() - begun) * 1_000)
                    response.raise_for_status()
                figures.append(Figure(f"page: {name}", times, "ms", at_most(GOAL_MS)))
            sizes = [len((await browser.http.get(path)).content) for path in FIRST]
            figures.append(Figure("page: the first view, with its files", [sum(sizes) / 1_000], "kB", at_most(150)))
    return figures


def _processor_s() -> float:
    """Return the processor time of this process, the browser's part included, and of git."""
    spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in spent)


async def fill(house: House) -> None:
    """Give the agent notes and a history."""
    agent = house.app.parts.resources.agents[AgentId("main")]
    root, chance = agent.workspace.folder.root, random.Random(18)
    texts = (note(chance, number) for number in range(NOTES + COMMITS))
    lines = [f"- {next(texts)}\n" for _ in range(LONG_TERM)]
    sections = [f"\n## Section {n}\n\n{''.join(lines[n * 60 : n * 60 + 60])}" for n in range(10)]
    (root / "MEMORY.md").write_text(f"# Memory\n{''.join(sections)}", "utf-8")
    (root / "memory").mkdir(exist_ok=True)
    for back in range(DAYS):
        day = date(2026, 11, 24) - timedelta(days=back)
        notes = "".join(f"- 09:{n:02} {next(texts)}\n" for n in range((NOTES - LONG_TERM) // DAYS))
        (root / "memory" / f"{day}.md").write_text(f"# {day}\n\n{notes}", "utf-8")
    await agent.history_writer.catch_up()
    history = await agent.history_writer.history()
    for number in range(COMMITS):
        file = PurePosixPath("memory") / f"{date(2026, 11, 24) - timedelta(days=number % DAYS)}.md"
        if number % 10 == 0:
            file = PurePosixPath("MEMORY.md")
        with (root / file).open("a", encoding="utf-8") as notes_file:
            notes_file.write(f"- {next(texts)}\n")
        await agent.history_writer.ask(history.record, [file], None, EDITOR)
    await agent.memory.sync()
    await house.app.operator.ask(SearchOrder("warm up", "main"))
