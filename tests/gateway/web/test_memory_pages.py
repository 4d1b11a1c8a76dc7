"""The views of an agent's memory: what the owner reads there and changes in place, and what is refused."""

import re
from datetime import date
from html import unescape
from pathlib import Path

import httpx2

from gateway.control.stream_wire import ChatOrder, IndexOrder
from gateway.control.wire import HistoryOrder
from gateway.web.memory_pages import SHOWN
from tests.fakes.provider_stub import Body, Reply, Step, call
from tests.gateway.web.browsing import Browser, a_code, browser_at
from tests.gateway.web.house import House, open_house
from workspaces.access import AgentId

MEMORY = """# Long-term memory

## Profile

- Ana lives in **Lisbon**.
- Miguel is allergic to penicillin.

## Notes

- The car is a Zoe. (until 2026-09-14, now MEMORY.md#L6)
"""
SHARED = "memory/shared/telegram.home.-100/2026-03-03.md"
HOSTILE = "<script>alert(1)</script> \u202egnp.exe \U000e0041 [x](javascript:alert(1)) " + "long" * 400


def workspace(house: House) -> Path:
    return house.app.parts.resources.agents[AgentId("main")].workspace.folder.root


def put(house: House, path: str, text: str) -> None:
    file = workspace(house) / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")


async def look(browser: Browser, path: str, /, **query: str) -> str:
    response = await browser.http.get(f"/agents/main{path}", params=query)
    assert response.status_code == 200, response.text
    return response.text


async def send(browser: Browser, path: str, /, **fields: str) -> httpx2.Response:
    shown = {"csrf": browser.csrf, **fields}
    return await browser.http.post(f"/agents/main{path}", data=shown, headers=browser.origin, follow_redirects=True)


def field(page: str, name: str) -> str:
    """Return the first hidden field of that name."""
    found = re.search(rf'name="{name}" value="([^"]*)"', page)
    assert found is not None
    return unescape(found[1])


def mark_of(page: str, words: str) -> str:
    """Return the mark of the note that has these words."""
    (entry,) = (each for each in page.split("<li ") if words in each)
    return field(entry, "mark")


async def commits(house: House) -> list[str]:
    answer = await house.app.operator.ask(HistoryOrder("log", "main", path="MEMORY.md"))
    return [f"{each.subject} by {each.session}" for each in answer.commits]


async def test_long_term_memory_is_shown_by_section_with_what_held_until_when(house: House, browser: Browser) -> None:
    """Each section once, its notes with their marks; a note that no longer holds says so."""
    put(house, "MEMORY.md", MEMORY)
    page = await look(browser, "/memory")
    assert re.findall(r"<h3[^>]*>(.*?)</h3>", page) == ["Profile", "Notes"]
    assert "<strong>Lisbon</strong>" in page
    assert page.count("until 2026-09-14") == 2  # its tag, and the text to correct
    assert (await look(browser, "/memory/day", day="2026-01-01")).count('class="entry"') == 0


def searching(body: Body) -> Step:
    """A model that searches before it answers."""
    is_asked = body["messages"][-1]["role"] == "user"
    return Reply(calls=(call("memory_search", query="doctor Ferreira"),)) if is_asked else "Ferreira."


async def test_the_memories_behind_an_answer_are_shown_in_their_words(tmp_path: Path) -> None:
    """A place and three numbers tell nobody what was known; what a note holds stays text."""

    async def hear(_: str, __: bool) -> None:
        """Leave it."""

    async with open_house(tmp_path, searching) as house, browser_at(house.address) as browser:
        assert (await browser.sign_in(await a_code(house))).status_code == 204
        put(house, "MEMORY.md", f"{MEMORY}- Miguel's doctor is Ferreira <script>alert(1)</script>\n")
        await house.app.operator.follow(IndexOrder("main"))
        await house.app.operator.chat(ChatOrder("Who is the doctor?"), hear)
        page = await look(browser, "/memory/why")
    assert "doctor is Ferreira &lt;script&gt;alert(1)" in page
    assert "<script>alert" not in page


async def test_a_note_is_corrected_and_forgotten_in_place_as_the_owners(house: House, browser: Browser) -> None:
    """The other notes stay; each change is a commit of the page's, and search knows it at once."""
    put(house, "MEMORY.md", MEMORY)
    page = await look(browser, "/memory")
    told = await send(
        browser,
        "/memory/change",
        path="MEMORY.md",
        mark=mark_of(page, "Lisbon"),
        text="Ana lives in Porto.",
        act="correct",
    )
    assert "Corrected:" in told.text
    told = await send(browser, "/memory/change", path="MEMORY.md", mark=mark_of(page, "penicillin"), act="forget")
    assert "Forgotten: Miguel is allergic to penicillin." in told.text
    expected = MEMORY.replace("Ana lives in **Lisbon**.", "Ana lives in Porto.").replace(
        "- Miguel is allergic to penicillin.\n", ""
    )
    assert (workspace(house) / "MEMORY.md").read_text("utf-8") == expected
    assert (await commits(house))[:2] == ["memory: update MEMORY.md by page"] * 2
    found = await look(browser, "/memory/search", q="Where does Ana live?")
    assert "Ana lives in Porto." in found
    assert "Lisbon" not in found
    assert "Notes" not in (await look(browser, "/memory/line", cite="MEMORY.md#L5-L5")).split("Where it comes from")[1]


async def test_a_note_that_is_gone_or_empty_is_refused_in_words(house: House, browser: Browser) -> None:
    """Nothing is written."""
    put(house, "MEMORY.md", MEMORY)
    mark = mark_of(await look(browser, "/memory"), "penicillin")
    for fields in ({"mark": "#00000000"}, {"mark": mark, "text": " \r\n "}):
        told = await send(browser, "/memory/change", path="MEMORY.md", act="correct", **{"text": "x", **fields})
        assert told.status_code == 400
        assert 'role="alert"' in told.text
    assert (workspace(house) / "MEMORY.md").read_text("utf-8") == MEMORY


async def test_an_edit_of_a_file_that_changed_meanwhile_is_refused_with_the_difference(
    house: House, browser: Browser
) -> None:
    """409: the text of the writer is kept in the form, and can be saved over it on purpose."""
    put(house, "MEMORY.md", MEMORY)
    digest = field(await look(browser, "/memory/edit", path="MEMORY.md"), "digest")
    put(house, "MEMORY.md", MEMORY + "- Written by somebody else.\n")
    mine = f"{MEMORY}- Mine, with ünïcode & <tags>.\n"
    told = await send(browser, "/memory/edit", path="MEMORY.md", digest=digest, text=mine.replace("\n", "\r\n"))
    assert told.status_code == 409
    assert '<li class="del"><code dir="auto">- Written by somebody else.</code></li>' in told.text
    assert '<li class="add"><code dir="auto">- Mine, with ünïcode &amp; &lt;tags&gt;.</code></li>' in told.text
    assert "somebody else" in (workspace(house) / "MEMORY.md").read_text("utf-8")
    told = await send(browser, "/memory/edit", path="MEMORY.md", digest=field(told.text, "digest"), text=mine)
    assert told.status_code == 200
    assert (workspace(house) / "MEMORY.md").read_text("utf-8") == mine


async def test_a_file_that_others_read_is_changed_only_on_purpose(house: House, browser: Browser) -> None:
    """The view names who reads it; without the owner's word nothing is written."""
    put(house, SHARED, "# 2026-03-03\n\n- 10:00 Dinner on Friday.\n")
    assert "telegram.home.-100" in await look(browser, "/memory/shared")
    page = await look(browser, "/memory/edit", path=SHARED)
    fields = {"path": SHARED, "digest": field(page, "digest"), "text": "- 10:00 Dinner on Saturday.\n"}
    assert (await send(browser, "/memory/edit", **fields)).status_code == 400
    assert "Friday" in (workspace(house) / SHARED).read_text("utf-8")
    assert (await send(browser, "/memory/edit", **fields, for_others="yes")).status_code == 200
    assert (workspace(house) / SHARED).read_text("utf-8") == "- 10:00 Dinner on Saturday.\n"


async def test_no_other_file_is_shown_or_written(house: House, browser: Browser) -> None:
    """Neither what is no note nor what lies outside of the workspace."""
    put(house, "attachments/a.md", "secret")
    for path in ("attachments/a.md", "../config.toml", "/etc/passwd", "skills/x/SKILL.md"):
        assert (await browser.http.get("/agents/main/memory/note", params={"path": path})).status_code == 400
        assert (await send(browser, "/memory/edit", path=path, text="x")).status_code == 400
    assert (await browser.http.get("/agents/nobody/memory")).status_code == 404


async def test_days_show_how_much_was_written(house: House, browser: Browser) -> None:
    """A calendar of one month, which leads to its days and to other months."""
    put(house, "memory/2026-03-03.md", "# 2026-03-03\n\n- 10:00 One.\n")
    put(house, "memory/2026-03-03-trip.md", "# Trip\n\n- 11:00 Two.\n" + "- 12:00 more words\n" * 200)
    put(house, "memory/2026-01-09.md", "# 2026-01-09\n\n- 10:00 Old.\n")
    page = await look(browser, "/memory/days", month="2026-03")
    assert 'class="w3" href="/agents/main/memory/day?day=2026-03-03"' in page
    assert 'aria-label="Earlier: January 2026"' in page
    day = await look(browser, "/memory/day", day="2026-03-03")
    assert day.count('<section class="file"') == 2
    assert f"from={SHOWN}" in day


async def test_search_as_of_a_day_shows_what_was_known_then(house: House, browser: Browser) -> None:
    """With the parts of each score; a day that is none is refused."""
    put(house, "MEMORY.md", MEMORY)
    page = await look(browser, "/memory/search", q="allergic to penicillin")
    assert re.findall(r"<dt>(.*?)</dt>", page)[:5] == ["score", "meaning", "word by word", "words", "BM25"]
    assert "Nothing found as of 2020-01-01" in await look(browser, "/memory/search", q="Miguel", as_of="2020-01-01")
    today = await look(browser, "/memory/search", q="Miguel", as_of=str(date.max), kind="long")
    assert "MEMORY.md" in today
    assert (await browser.http.get("/agents/main/memory/search?q=x&as_of=yesterday")).status_code == 400


async def test_nothing_hostile_in_a_note_is_more_than_text(house: House, browser: Browser) -> None:
    """Tags are escaped, links lead to the web, hidden characters are written out, and the form keeps them."""
    put(house, "MEMORY.md", f"# Notes\n\n- {HOSTILE}\n")
    page = await look(browser, "/memory")
    assert "<script>alert" not in page
    assert 'href="javascript' not in page
    assert "\u202e" not in page
    assert r"\u202e" in page
    assert "\U000e0041" not in page
    assert HOSTILE in unescape(await look(browser, "/memory/edit", path="MEMORY.md"))


async def test_signing_in_and_reading_work_without_scripts(house: House, browser: Browser) -> None:
    """A form signs in and out; a wrong code is refused on the same page."""
    code = await a_code(house)
    browser.http.cookies.clear()
    refused = await browser.http.post("/sign-in", data={"code": "WRONG"}, headers=browser.origin)
    assert (refused.status_code, "wrong or expired" in refused.text) == (401, True)
    signed = await browser.http.post("/sign-in", data={"code": code}, headers=browser.origin, follow_redirects=True)
    assert signed.url.path == "/agents/main/memory"
    token = field(signed.text, "csrf")
    out = await browser.http.post("/sign-out", data={"csrf": token}, headers=browser.origin, follow_redirects=True)
    assert "Sign in" in out.text
    assert (await browser.http.get("/agents/main/memory")).status_code == 401


async def test_the_last_month_that_a_calendar_has_is_shown(house: House, browser: Browser) -> None:
    """A note may have a day of any year from 1900 to 2099 in its name, and the page begins with the latest month."""
    put(house, "memory/2099-12-31.md", "- the end\n")
    for query in ({}, {"month": "2099-12"}, {"month": "9999-12"}, {"month": "0001-01"}):
        await look(browser, "/memory/days", **query)
    assert "the end" in await look(browser, "/memory/day", day="2099-12-31")
