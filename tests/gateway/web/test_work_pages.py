"""The views of an agent at work: what waits for its owner, its jobs, its conversations and its health."""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

from gateway.control.cron_wire import CronOrder
from gateway.control.stream_wire import ChatOrder
from gateway.stores.rows import Proposal
from tests.fakes.botapi import BotApi
from tests.gateway.web.browsing import Browser, a_code, browser_at, echo
from tests.gateway.web.house import House, open_house
from tests.gateway.web.test_memory_pages import look, put, send, workspace
from tests.gateway.web.test_people_pages import EXTRA
from tests.journeys.house import GROUP
from workspaces.access import AgentId

MAIN = AgentId("main")


async def propose(house: House, before: str, after: str) -> None:
    """Have a change of SOUL.md wait for the owner."""
    parts = house.app.parts
    asked = Proposal(MAIN, "SOUL.md", before, after, "behaviour", "main/main", None, None, None, None)
    await parts.approvals.propose(asked, parts.conversation.address(MAIN))


async def say(house: House, text: str) -> None:
    async def hear(_: str, __: bool) -> None:
        """Leave it."""

    await house.app.operator.chat(ChatOrder(text), hear)


async def test_a_waiting_change_is_shown_with_its_difference_and_decided(house: House, browser: Browser) -> None:
    """Approved once; a second press finds nothing."""
    put(house, "SOUL.md", "Be kind.\n")
    await propose(house, "Be kind.\n", "Be kind.\n<b>Be brief.</b>\n")
    page = await look(browser, "/work/approvals")
    assert '<li class="add"><code dir="auto">&lt;b&gt;Be brief.&lt;/b&gt;</code></li>' in page
    (number,) = re.findall(r'name="number" value="(\d+)"', page)
    assert "Nothing waits for you" in (await send(browser, "/work/approvals", number=number, act="approve")).text
    assert (workspace(house) / "SOUL.md").read_text("utf-8") == "Be kind.\n<b>Be brief.</b>\n"
    for fields in ({"number": number, "act": "approve"}, {"number": "x", "act": "approve"}, {"number": number}):
        assert (await send(browser, "/work/approvals", **fields)).status_code == 400


async def test_a_refused_change_is_not_made(house: House, browser: Browser) -> None:
    """The file stays."""
    put(house, "SOUL.md", "Be kind.\n")
    await propose(house, "Be kind.\n", "Be rude.\n")
    (number,) = re.findall(r'name="number" value="(\d+)"', await look(browser, "/work/approvals"))
    assert (await send(browser, "/work/approvals", number=number, act="refuse")).status_code == 200
    assert (workspace(house) / "SOUL.md").read_text("utf-8") == "Be kind.\n"


async def test_jobs_are_listed_run_and_removed(house: House, browser: Browser) -> None:
    """With the next run, and the outcome of earlier ones."""
    await house.app.operator.ask(CronOrder("add", "main", when="every monday at 8:00", what="Look <over> my notes"))
    page = await look(browser, "/work/jobs")
    assert "Look &lt;over&gt; my notes" in page
    (number,) = re.findall(r'name="number" value="(\d+)"', page)
    assert (await send(browser, "/work/jobs", number=number, act="run")).status_code == 200
    assert "No jobs." in (await send(browser, "/work/jobs", number=number, act="remove")).text


async def test_past_conversations_are_read_and_searched(house: House, browser: Browser) -> None:
    """What was said is text; what was answered is formatted; a search leads to the place."""
    await say(house, "The **heron** nests <i>here</i>")
    assert "conversation?session=main" in await look(browser, "/work/conversations")
    page = await look(browser, "/work/conversation", session="main")
    assert "The **heron** nests &lt;i&gt;here&lt;/i&gt;" in page
    assert "<strong>heron</strong>" in page
    assert "sessions/main.jsonl#L" in await look(browser, "/work/conversations", q="heron")
    assert "Nobody said that." in await look(browser, "/work/conversations", q="ostrich")
    assert (await browser.http.get("/agents/main/work/conversation?session=nope")).status_code == 400


async def test_the_overview_and_the_health_show_what_status_and_doctor_know(house: House, browser: Browser) -> None:
    """Cost by cause, promises, and findings with the way to their remedy."""
    await propose(house, "a", "b")
    await say(house, "hello")
    page = await look(browser, "/work")
    assert '<th scope="row">chat</th>' in page
    assert "waits for you: this file decides how the agent behaves" in page
    health = await look(browser, "/work/health")
    assert "changes to agents&#39; files that wait for you: 1" in health
    assert 'href="/agents/main/work/approvals">Decide</a>' in health
    assert "Empty: everything could be processed." in health
    probed = (await send(browser, "/work/health", act="probe")).text
    assert "models.stub stub-1 answered in" in probed
    assert "Ask every model and platform" not in probed
    assert "files read" in (await send(browser, "/work/health", act="index")).text
    assert "No change of the index was held back." in (await send(browser, "/work/health", act="accept")).text
    assert (await send(browser, "/work/health", act="reboot")).status_code == 400
    assert (await send(browser, "/work/quarantine", id="1", act="drop")).status_code == 400


@dataclass(frozen=True, slots=True)
class Desk:
    """A signed-in browser, and the file that it changes."""

    browser: Browser
    house: House

    @property
    def file(self) -> Path:
        return self.house.app.parts.resources.home.files.config_file

    async def save(self, key: str, value: str, **more: str) -> httpx2.Response:
        shown = {"csrf": self.browser.csrf, "key": key, "value": value, **more}
        return await self.browser.http.post("/settings", data=shown, headers=self.browser.origin, follow_redirects=True)


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    extra = "# how my agents live\n" + EXTRA
    async with (
        BotApi() as bot,
        open_house(tmp_path, echo, extra.format(url=bot.url, group=GROUP)) as house,
        browser_at(house.address) as browser,
    ):
        await browser.sign_in(await a_code(house))
        yield Desk(browser, house)


async def test_a_setting_is_saved_with_the_comments_of_the_file(desk: Desk) -> None:
    """As the command line does it; the new value is shown, also where it holds markup."""
    told = await desk.save("agents.main.heartbeat.active", "07:30-21:00")
    assert "Set agents.main.heartbeat.active to 07:30-21:00" in told.text
    assert 'value="07:30-21:00"' in told.text
    text = desk.file.read_text("utf-8")
    assert 'active = "07:30-21:00"' in text
    assert "# how my agents live" in text
    assert (await desk.save("agents.main.budget.money_a_day", "2.5")).status_code == 200
    assert "money_a_day = 2.5" in desk.file.read_text("utf-8")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("agents.main.model", "nobody"),
        ("agents.main.heartbeat.active", "noon"),
        ("agents.main.budget.tokens_a_day", "-1"),
        ("signs.receipts", "<b>"),
        ("signs.receipts", " "),
        ("web.allow_remote", "true"),
        ("owner.people", '["telegram:666"]'),
        ("channels.telegram.home.direct", "pairing"),
        (f"channels.telegram.home.groups.{GROUP}.mention", "false"),
        ("", ""),
    ],
)
async def test_nothing_wrong_and_nothing_else_is_written(desk: Desk, key: str, value: str) -> None:
    """A wrong value, a setting that is not on the page, and one that widens access without a second word."""
    before = desk.file.read_text("utf-8")
    told = await desk.save(key, value)
    assert (told.status_code, 'role="alert"' in told.text) == (400, True)
    assert desk.file.read_text("utf-8") == before


async def test_the_rules_of_a_group_are_changed_with_a_second_word(desk: Desk) -> None:
    """The tick beside the button."""
    key = f"channels.telegram.home.groups.{GROUP}.mention"
    assert (await desk.save(key, "false", sure="yes")).status_code == 200
    assert "mention = false" in desk.file.read_text("utf-8")
