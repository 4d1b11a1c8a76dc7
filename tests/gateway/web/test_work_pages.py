"""The views of an agent at work: what waits for its owner, its jobs, its conversations and its health."""

import re

from gateway.control.cron_wire import CronOrder
from gateway.control.stream_wire import ChatOrder
from gateway.stores.rows import Proposal
from gateway.web.page_files import LONGEST_SHOWN
from tests.fakes.pictures import png
from tests.gateway.web.browsing import Browser
from tests.gateway.web.house import OWNER_TOKEN, House
from tests.gateway.web.test_memory_pages import look, put, send, workspace
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
    cited = re.search(r"sessions/main\.jsonl#L\d+-L\d+", await look(browser, "/work/conversations", q="heron"))
    origin = await look(browser, "/memory/line", cite=cited[0] if cited else "")
    assert "said in this conversation" in origin
    assert "origin unknown" not in origin
    assert "Nothing found." in await look(browser, "/work/conversations", q="ostrich")
    assert (await browser.http.get("/agents/main/work/conversation?session=nope")).status_code == 400
    for each in ("/new", "Hello again"):
        await say(house, each)
    assert re.search(r">main, until today \d\d:\d\d</a>", await look(browser, "/work/conversations"))


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


async def test_a_linked_file_is_a_text_a_picture_or_saved(house: House, browser: Browser) -> None:
    """By its content alone; nothing outside the workspace is within reach, and a secret in it is not shown."""
    (workspace(house) / "page.html").write_bytes(f"<script>1</script> {OWNER_TOKEN}".encode())
    (workspace(house) / "boat.txt").write_bytes(png(2, 2))
    (workspace(house) / "long.md").write_bytes(b"x" * (LONGEST_SHOWN + 1))
    (workspace(house) / "link").symlink_to(workspace(house).parent.parent.parent / "config.toml")
    page = await look(browser, "/work/file", path="page.html")
    assert "&lt;script&gt;1&lt;/script&gt;" in page
    saved = await browser.http.get("/agents/main/work/file", params={"path": "page.html", "save": "yes"})
    assert saved.text.startswith("<script>1</script> ")
    assert OWNER_TOKEN not in page + saved.text
    expected = {"boat.txt": ("inline", "image/png"), "long.md": ("attachment", "application/octet-stream")}
    for name, (how, mime) in expected.items():
        sent = await browser.http.get("/agents/main/work/file", params={"path": name})
        assert sent.headers["content-disposition"] == f"{how}; filename*=utf-8''{name}"
        assert (sent.headers["content-type"], sent.headers["x-content-type-options"]) == (mime, "nosniff")
    for name in ("../state.db", "/etc/passwd", "link", ".git/config", "memory", "none.md", ""):
        assert (await browser.http.get("/agents/main/work/file", params={"path": name})).status_code == 400, name
