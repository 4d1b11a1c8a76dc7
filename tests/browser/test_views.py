"""The page's views in a real browser: a day's way through them, at three widths, in light and dark."""

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePosixPath
from typing import Any, Literal

import pytest
from playwright.async_api import BrowserContext, Page, expect

from adapters.channel import Address
from gateway.admission.routing import SessionKey
from gateway.agent.entries import RecallEntry, ReplyEntry, ResultEntry, ToolCall, Usage, UserEntry
from gateway.app.app import App
from gateway.control.cron_wire import CronOrder
from gateway.control.stream_wire import CheckOrder
from gateway.control.wire import HistoryOrder
from gateway.stores.admission import Silence, Visitor
from gateway.stores.rows import Proposal, TurnId
from gateway.stores.spending import Spend
from tests.browser.conftest import PATIENCE_MS, Complaints, House, opened
from tests.browser.test_page import HOSTILE, answers, photograph, say
from workspaces.access import AgentId, SessionType
from workspaces.history import Origin

expect.set_options(timeout=PATIENCE_MS)

ROOT = Path(__file__).parents[2]
AXE = ROOT / ".oracles" / "node_modules" / "axe-core" / "axe.min.js"
MAIN = AgentId("main")
LONG = "unbroken" * 60
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
WIDTHS = (320, 390, 1280)
"""Of the window, in pixels: phones and a desk."""
NOTES = f"""# Long-term memory

## Profile

- Ana lives in **Lisbon**, Rua da Bica 14.
- コーヒーは深煎り、砂糖なし。
- تفضل القهوة بدون سكر، وتحب الهيل مع الشاي.
- Her car is a Zoe. (until 2026-09-14, now MEMORY.md#L9)
- Her car is an Enyaq \u202e\U000e0041.
- ana lives in Lisbon, Rua da Bica 14

## {LONG}

- <script>document.title = "stolen"</script> <img src=x onerror="document.title='stolen'"> {LONG}
- [script](javascript:alert(1)) [site](https://example.org/) `code`
"""
WIDER = """() => {
  const root = document.documentElement, closed = [...document.querySelectorAll("details:not([open])")];
  let wider = root.scrollWidth - root.clientWidth;
  for (const each of closed) each.open = true;
  wider = Math.max(wider, root.scrollWidth - root.clientWidth);
  for (const each of closed) each.open = false;
  return wider;
}"""
"""How far the page is wider than the window, with everything folded and unfolded."""
UNREACHABLE = """() => {
  const acts = "a[href], button, input:not([type=hidden]), select, textarea, summary";
  const found = [...document.querySelectorAll(acts)].filter((each) => each.tabIndex < 0 || each.disabled);
  return found.map((each) => each.outerHTML.slice(0, 200));
}"""
"""What no key gets to."""
VIEWS = {
    "memory": "/agents/main/memory",
    "days": "/agents/main/memory/days",
    "shared": "/agents/main/memory/shared",
    "files": "/agents/main/memory/files",
    "search": "/agents/main/memory/search?q=Where+does+Ana+live%3F",
    "line": "/agents/main/memory/line?cite=MEMORY.md%23L5-L5",
    "edit": "/agents/main/memory/edit?path=MEMORY.md",
    "checkup": "/agents/main/memory/checkup",
    "history": "/agents/main/history",
    "people": "/people",
    "rooms": "/people/rooms",
    "silences": "/people/silences",
    "work": "/agents/main/work",
    "approvals": "/agents/main/work/approvals",
    "jobs": "/agents/main/work/jobs",
    "conversations": "/agents/main/work/conversations",
    "conversation": "/agents/main/work/conversation?session=main",
    "trends": "/agents/main/work/trends",
    "tools": "/agents/main/work/tools",
    "settings": "/settings",
    "health": "/agents/main/work/health",
}


def workspace(app: App) -> Path:
    return app.parts.resources.agents[MAIN].workspace.folder.root


async def live_in(app: App) -> None:
    """Give the agent a past: notes in several languages, days, a group's notes, a change, a waiting one."""
    root, writer = workspace(app), app.parts.resources.agents[MAIN].history_writer
    (root / "MEMORY.md").write_text(NOTES.replace("Lisbon", "Porto"), "utf-8")
    for back in range(0, 50, 3):
        day = datetime.now(UTC).date() - timedelta(days=back)
        file = root / "memory" / f"{day}.md"
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"# {day}\n\n" + f"- 09:30 Called the carpenter about {LONG[:60]}.\n" * (back + 1), "utf-8")
    group = root / "memory" / "shared" / "telegram.home.-100" / "2026-03-03.md"
    group.parent.mkdir(parents=True)
    group.write_text("# 2026-03-03\n\n- 10:00 Dinner on Friday.\n", "utf-8")
    await writer.catch_up()
    (root / "MEMORY.md").write_text(NOTES, "utf-8")
    await writer.catch_up()
    await spend(app)
    asked = Proposal(MAIN, "SOUL.md", "", f"{HOSTILE}\n{LONG}\n", "behaviour", "main/main", None, None, None, None)
    await app.parts.approvals.propose(asked, app.parts.conversation.address(MAIN))


STRANGE = " ".join(
    (
        *HOSTILE.split(),
        LONG,
        "\u202egnp.exe",
        "\U000e0041\u2066",
        "\u0645\u0631\u062d\u0628\u0627 \u05e9\u05dc\u05d5\u05dd",
    )
)
"""One line of markup, script, links, a long word, right-to-left text and tag characters."""


async def meet_strangers(app: App) -> None:
    """Put hostile text wherever somebody else's words get: changes, tools, jobs, groups, people, file names."""
    agent, home = app.parts.resources.agents[MAIN], app.parts.resources.home
    name = PurePosixPath(f"memory/<b>{LONG[:90]}.md")
    (workspace(app) / name).write_text(f"- {STRANGE}\n", "utf-8")
    history = await agent.history_writer.history()
    origin = Origin("main/guest <i>", None, None)
    await agent.history_writer.ask(history.record, [name], STRANGE, origin)
    transcript = await app.parts.resources.sessions.open(SessionKey(MAIN, SessionType.MAIN))
    call = ToolCall("c1", "fake_echo", json.dumps({"text": STRANGE}))
    entries = (
        UserEntry(STRANGE, datetime.now(UTC), STRANGE[:60], "m1"),
        ReplyEntry(HOSTILE, (call,), "stub", Usage()),
        ResultEntry("c1", "fake_echo", f"{STRANGE}\n{HOSTILE}", is_error=False, from_outside=True),
        ReplyEntry(f"{HOSTILE}\n\n{STRANGE}", (), "stub", Usage()),
    )
    for entry in entries:
        await transcript.append(TurnId("strange"), entry)
    await app.operator.ask(CronOrder("add", "main", when="every monday at 8:00", what=STRANGE[:900]))
    await home.store.put("group_requests", json.dumps([["telegram.home.-7", STRANGE[:40], False]]))
    await home.store.pairings.let_in(Visitor("telegram", "home", "9", STRANGE[:64]))
    for reason in ("group_not_allowed", "person_not_allowed", "unpaired"):
        chat = Address("telegram", "home", "-7")
        await home.store.silences.record(Silence(datetime.now(UTC), chat, "telegram:9", reason))


async def spend(app: App) -> None:
    """Give the agent two months of costs, recall receipts and an index that grew."""
    home, sizes = app.parts.resources.home, {}
    today = home.now().date()
    for back in range(58):
        day = today - timedelta(days=back)
        for number, cause in enumerate(("chat", "heartbeat", "cron", "flush", "group")):
            tokens = (back * 37 + number * 91) % 300 * 100
            amount = Spend(tokens, tokens // 5, nanos=tokens * 900)
            await home.store.spending.add("main", day, cause, amount)
        sizes[str(day)] = [9_000 - back * 100, 40_000_000 - back * 500_000]
    await home.store.put("index_sizes:main", json.dumps(dict(sorted(sizes.items()))))
    transcript = await app.parts.resources.sessions.open(SessionKey(MAIN, SessionType.MAIN))
    for number in range(12):
        await transcript.append(TurnId("log"), RecallEntry(41, 41 - number % 2, (), 0, 900 + number * 70))


async def check_up(app: App) -> None:
    """Check the notes twice, so that there are proposals, scores and a trend."""
    for _ in range(2):
        await app.operator.follow(CheckOrder("main"))


async def visit(page: Page, house: House, path: str) -> None:
    response = await page.goto(house.way.url + path)
    assert response is not None
    assert response.status == 200, path


async def newest(app: App, path: str) -> str:
    return (await app.operator.ask(HistoryOrder("log", "main", path=path))).commits[0].revision


async def test_from_an_answer_to_its_memory_and_back_through_the_history(
    house: House, gateway: App, page: Page, complaints: Complaints
) -> None:
    """Chat, the memories behind the answer, a correction in place, its change, and the way back."""
    agent = gateway.parts.resources.agents[AgentId("work")]  # answers from memory, and says which
    file = agent.workspace.folder.root / "MEMORY.md"
    file.write_text(NOTES, "utf-8")
    await agent.history_writer.catch_up()
    await page.get_by_role("button", name="work").click()
    await say(page, "Where does Ana live, in Lisbon?")
    await expect(answers(page)).to_have_count(1)
    await page.get_by_role("link", name="Why?").click()
    await expect(page.get_by_text("Where does Ana live, in Lisbon?")).to_be_visible()
    await page.get_by_role("link", name=re.compile("MEMORY.md#L5")).first.click()
    await page.get_by_label("New words").fill("Ana lives in Faro, Rua Nova 3.")
    await page.get_by_role("button", name="Correct").click()
    await expect(page.get_by_role("status")).to_contain_text("Corrected:")
    await expect(page.get_by_text("Ana lives in Faro, Rua Nova 3.").first).to_be_visible()
    await page.get_by_role("link", name="Changes").click()
    await page.get_by_role("link", name="memory: update MEMORY.md").first.click()
    await expect(page.locator(".diff .add")).to_contain_text("Faro")
    await page.get_by_role("link", name="Undo this change").click()
    await expect(page.locator(".diff .add")).to_contain_text("Lisbon")
    await page.get_by_role("button", name="Undo").click()
    await expect(page.get_by_role("status")).to_contain_text("Undone: MEMORY.md")
    assert file.read_text("utf-8") == NOTES


async def test_an_edit_conflict_keeps_both_texts_in_sight(
    house: House, gateway: App, page: Page, complaints: Complaints
) -> None:
    """Somebody wrote meanwhile: nothing is lost, and the second press is meant."""
    complaints.bears_refusals = True
    file = workspace(gateway) / "MEMORY.md"
    file.write_text("# Notes\n\n- One.\n", "utf-8")
    await visit(page, house, VIEWS["edit"])
    await page.locator("#text").fill("# Notes\n\n- Mine.\n")
    file.write_text("# Notes\n\n- Theirs.\n", "utf-8")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("alert")).to_contain_text("changed while you were writing")
    await expect(page.locator(".diff .del")).to_contain_text("Theirs")
    await photograph(page, "conflict")
    await page.get_by_role("button", name="Save mine over it").click()
    await expect(page.get_by_role("status")).to_contain_text("Saved MEMORY.md")
    assert file.read_text("utf-8") == "# Notes\n\n- Mine.\n"


async def test_search_as_of_a_day_and_approvals_by_keyboard(
    house: House, gateway: App, page: Page, complaints: Complaints
) -> None:
    """Every step is reached by keys alone."""
    await live_in(gateway)
    await visit(page, house, "/agents/main/memory/search")
    await page.get_by_role("searchbox").focus()
    await page.keyboard.type("carpenter")
    await page.keyboard.press("Enter")
    await expect(page.locator(".hits .card").first).to_be_visible()
    await page.get_by_role("link", name="a year ago", exact=True).focus()
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("Nothing found as of")).to_be_visible()
    await visit(page, house, VIEWS["approvals"])
    await page.get_by_role("button", name="Refuse").focus()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("status")).to_be_visible()
    await expect(page.get_by_text("Nothing waits for you.")).to_be_visible()


async def test_a_check_ups_proposals_are_decided_by_keyboard(
    house: House, gateway: App, page: Page, complaints: Complaints
) -> None:
    """Checked, accepted, undone, reworded and refused by keys alone."""
    file = workspace(gateway) / "MEMORY.md"
    notes = "# Notes\n\n- The cat is called Miso.\n- The spare key is with Ann.\n- the cat is called Miso\n"
    file.write_text(notes, "utf-8")
    await visit(page, house, VIEWS["checkup"])

    async def press(name: str) -> None:
        await page.get_by_role("button", name=name).first.focus()
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("status")).to_be_visible()

    await press("Check now")
    await expect(page.locator(".diff .del")).to_contain_text("the cat is called Miso")
    await press("Accept")
    assert file.read_text("utf-8").count("Miso") == 1
    await press("Undo")
    assert file.read_text("utf-8") == notes
    await page.get_by_text("In your own words").focus()
    await page.keyboard.press("Enter")
    await expect(page.get_by_label("The note in your own words")).to_have_value("the cat is called Miso")
    await page.get_by_label("The note in your own words").fill("The cat Miso sleeps in the kitchen.")
    await press("Write this instead")
    assert "- The cat Miso sleeps in the kitchen.\n" in file.read_text("utf-8")
    await press("Undo")
    await press("Refuse")
    await expect(page.get_by_text("Nothing waits for a decision.")).to_be_visible()
    assert file.read_text("utf-8") == notes


@pytest.mark.timeout(300)
async def test_every_view_holds_its_layout_and_is_accessible(
    house: House, gateway: App, page: Page, complaints: Complaints
) -> None:
    """At each width, in light and dark: nothing is too wide, nothing hostile runs, and axe finds nothing."""
    await live_in(gateway)
    await meet_strangers(gateway)
    await check_up(gateway)
    await say(page, HOSTILE)
    await expect(answers(page)).to_have_count(1)
    change = f"/agents/main/history/change?revision={await newest(gateway, 'MEMORY.md')}"
    preview = change.replace("change?", "preview?act=revert&")
    paths = VIEWS | {"change": change, "sides": f"{change}&view=side", "preview": preview}
    found: dict[str, object] = {}
    for name, path in paths.items():
        await visit(page, house, path)
        if AXE.exists():  # `make oracles` gets it
            await page.evaluate(AXE.read_text("utf-8"))
        for width in WIDTHS:
            await page.set_viewport_size({"width": width, "height": 800})
            if wider := await page.evaluate(WIDER):
                found[f"{name}, {width}"] = f"{wider} px too wide"
            for scheme in SCHEMES:
                await page.emulate_media(color_scheme=scheme)
                await photograph(page, f"{name}-{width}-{scheme}")
                if wrong := await faults(page, scheme):
                    found[f"{name}, {width}, {scheme}"] = wrong
        if unreachable := await page.evaluate(UNREACHABLE):
            found[f"{name}, keys"] = unreachable
        assert "stolen" not in await page.title()
    assert found == {}


async def faults(page: Page, scheme: str) -> list[str]:
    """Return what axe-core finds that is worse than minor; nothing where it is not installed.

    The dark scheme changes colours alone.
    """
    if not AXE.exists():
        return []
    rules = "" if scheme == "light" else ", runOnly: ['color-contrast']"
    found: dict[str, Any] = await page.evaluate(f"axe.run({{ resultTypes: ['violations']{rules} }})")
    return [
        f"{each['id']}: {each['nodes'][0]['html'][:200]} {each['nodes'][0]['failureSummary'][:300]}"
        for each in found["violations"]
        if each["impact"] != "minor"
    ]


async def test_reading_and_signing_in_work_without_scripts(
    house: House, gateway: App, chromium: Any, complaints: Complaints
) -> None:
    """With scripts off: a form signs in, links lead through the views, and a note is corrected."""
    await live_in(gateway)
    context: BrowserContext = await chromium.new_context(java_script_enabled=False)
    page = await opened(house, context, complaints)
    await page.get_by_label("Code").fill(await house.code())
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_role("heading", name="Memory", exact=True)).to_be_visible()
    await page.get_by_role("link", name="History").click()
    await expect(page.get_by_role("link", name="memory: update MEMORY.md").first).to_be_visible()
    for name, path in VIEWS.items():
        await visit(page, house, path)
        await expect(page.locator("main h1")).to_be_visible()
        assert await page.locator("main noscript").count() == 0, name


PAINT = """() => {
  const loaded = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")];
  const paint = performance.getEntriesByName("first-contentful-paint")[0];
  return { ms: paint?.startTime, bytes: loaded.reduce((sum, each) => sum + each.transferSize, 0) };
}"""
VIEW_BYTES, PAINT_MS = 150_000, 1_000


async def test_a_view_is_small_and_painted_within_a_second(house: House, gateway: App, page: Page) -> None:
    """The chat, and the long-term memory of six hundred notes, with all that they load; nothing is kept in a cache."""
    notes = "".join(f"- Note {number}: the boat needs {'paint ' * 12}before winter.\n" for number in range(600))
    (workspace(gateway) / "MEMORY.md").write_text(f"# Notes\n\n{notes}", "utf-8")
    for path in ("/", VIEWS["memory"]):
        found = []
        for _ in range(3):
            await visit(page, house, path)
            while not await page.evaluate("performance.getEntriesByName('first-contentful-paint').length"):
                await page.wait_for_timeout(10)  # `wait_for_function` evaluates text, which the page forbids
            found.append(await page.evaluate(PAINT))
        assert 1_000 < max(each["bytes"] for each in found) <= VIEW_BYTES, path
        assert min(each["ms"] for each in found) < PAINT_MS, path  # the least: other tests keep both cores busy


STOPS = """() => {
  for (const each of document.querySelectorAll("details")) each.open = true;
  const acts = "a[href], button, input:not([type=hidden]), select, textarea, summary";
  const shown = [...document.querySelectorAll(acts)].filter((each) => each.checkVisibility());
  shown.forEach((each, number) => { each.dataset.stop = number; });
  return [shown.length, 3 * document.querySelectorAll("input[type=date]").length];
}"""


@pytest.mark.parametrize("view", ["memory", "search", "approvals", "jobs", "trends", "health", "people", "silences"])
async def test_every_act_of_a_view_is_a_stop_of_the_tab_key(house: House, gateway: App, page: Page, view: str) -> None:
    """In one round, with everything unfolded."""
    await live_in(gateway)
    await meet_strangers(gateway)
    await visit(page, house, VIEWS[view])
    count, more = await page.evaluate(STOPS)
    stops = set[str]()
    for _ in range(count + more + 5):
        await page.keyboard.press("Tab")
        stops.add(await page.evaluate("document.activeElement.dataset.stop ?? ''"))
    assert {str(number) for number in range(count)} <= stops


async def test_a_conversation_at_work_is_shown(house: House, gateway: App, page: Page) -> None:
    """While its model thinks; then no more."""
    with house.model.held(at_once=True):
        await say(page, "think")
        await expect(page.locator("article.draft")).to_be_visible()
        await visit(page, house, VIEWS["work"])
        await expect(page.get_by_text("answering", exact=True)).to_be_visible()
        await photograph(page, "at-work")
    await visit(page, house, "/")
    await expect(answers(page)).to_have_count(1)
    await visit(page, house, VIEWS["conversations"])
    await expect(page.get_by_text("answering", exact=True)).to_have_count(0)
