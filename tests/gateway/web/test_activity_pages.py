"""The views of past days' figures and of hooks and tools."""

import json
import sys
from datetime import date, timedelta
from pathlib import Path

from gateway.admission.routing import SessionKey
from gateway.agent.entries import RecallEntry
from gateway.control.activity import IndexSizes
from gateway.control.activity_wire import ActivityOrder
from gateway.stores.rows import TurnId
from gateway.stores.spending import NANOS, Spend
from gateway.web.activity_pages import stacked
from tests.gateway.web.browsing import Browser, a_code, browser_at, echo
from tests.gateway.web.house import House, open_house
from tests.gateway.web.test_memory_pages import look, put, send
from tests.gateway.web.test_work_pages import say
from tests.zygote import FORKED
from workspaces.access import AgentId, SessionType

MAIN = AgentId("main")
TODAY = date(2026, 3, 3)


def test_the_parts_of_a_bar_stand_on_each_other_and_the_highest_fills_the_plot() -> None:
    """Each cause keeps its place in every bar; a day without costs has none."""
    yesterday = TODAY - timedelta(1)
    amounts = [(yesterday, "chat", 30.0), (yesterday, "flush", 10.0), (TODAY, "flush", 10.0), (TODAY, "chat", 0.0)]
    plot = stacked(amounts, [yesterday - timedelta(1), yesterday, TODAY])
    assert (plot.causes, plot.most) == (["chat", "flush"], 40)
    assert [each.parts for each in plot.stacks] == [[], [(0, 0.25, 0.75), (1, 0.0, 0.25)], [(1, 0.75, 0.25)]]
    assert [each.total for each in plot.stacks] == [0, 40, 10]
    assert stacked([], [TODAY]).most == 0


async def test_the_figures_of_past_days_are_plotted(house: House, browser: Browser) -> None:
    """Notes, tokens and costs by day and cause, recall receipts, the exam's trend and the size of the index."""
    parts, agent = house.app.parts, house.app.parts.resources.agents[MAIN]
    page = await look(browser, "/work/trends")
    assert "No model was called in the last 60 days." in page
    assert "Not examined yet." in page
    put(house, "MEMORY.md", "# Notes\n\n- The boiler's number is KX-4471.\n")
    for _ in range(2):
        assert "questions about the notes" in (await send(browser, "/work/exam")).text
    today = parts.resources.home.now().date()
    for back, cause in enumerate(("chat", "heartbeat", "chat")):
        spend = Spend(1_000, 200, nanos=NANOS // 4)
        await parts.resources.home.store.spending.add("main", today - timedelta(back), cause, spend)
    transcript = await parts.resources.sessions.open(SessionKey(MAIN, SessionType.MAIN))
    for number in range(2):
        await transcript.append(TurnId("log"), RecallEntry(4, 3 + number, (), 0, 120))
    sizes = IndexSizes(parts.resources.home.store, parts.resources.home.now)
    await sizes.record(agent, parts.resources.home.files.agent("main").index)
    page = await look(browser, "/work/trends")
    assert page.count("<polyline") == 2
    assert page.count("<rect") > 60
    assert "heartbeat: $0.250" in page
    assert "4 of 4 facts findable" in page
    known = await house.app.operator.ask(ActivityOrder("main", 2))
    assert [(each.cause, each.tokens) for each in known.spending] == [("heartbeat", 1_200), ("chat", 1_200)]
    assert [each.found for each in known.recalls] == [3, 4]
    assert [each.entries > 0 and each.size > 0 for each in known.index_sizes] == [True]


SERVE = f"{FORKED}from tests.fakes.tool_server import serve; serve()"
SERVERS = f"""[mcp.gone]
command = ["/nowhere/at-all"]
[mcp.fake]
command = [{json.dumps(sys.executable)}, "-c", {json.dumps(SERVE)}]
sessions = ["group"]
[web]
"""
HOOK = """from gateway.hooks import MESSAGE_SENDING, on

@on(MESSAGE_SENDING)
def signs(event): ...
"""


async def test_hooks_and_tool_servers_are_listed_with_their_state(tmp_path: Path) -> None:
    """One that is away says why, one that no turn has used yet is at rest; hooks say what their failure does."""
    hooks = tmp_path / "home" / "hooks"
    hooks.mkdir(parents=True, mode=0o700)
    (hooks / "mine.py").write_text(HOOK)
    (hooks / "mine.py").chmod(0o600)
    async with open_house(tmp_path, echo, SERVERS) as house, browser_at(house.address) as browser:
        await browser.sign_in(await a_code(house))
        await say(house, "hello")
        page = await look(browser, "/work/tools")
    assert page.count("not started until its first use") == 1
    assert "tool server gone: " in page
    assert "for group sessions" in page
    assert "mine.py:signs" in page
    assert "the action is blocked" in page


async def test_without_hooks_and_servers_the_view_says_how_to_begin(house: House, browser: Browser) -> None:
    """An empty list is advice."""
    page = await look(browser, "/work/tools")
    assert "No tool servers (MCP)." in page
    assert "No hooks." in page
