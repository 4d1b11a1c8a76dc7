"""The owner's page: who is let in, and that no answer is lost between two connections."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest

from adapters.web import Kind, Told
from gateway.control.browsers import BrowserOrder
from gateway.control.cron_wire import CronOrder
from gateway.control.wire import ChatOrder
from gateway.door.sign_in import WRONG_AT_MOST
from gateway.serving import serving
from gateway.web.chat import PAGES_AT_MOST
from gateway.web.guard import CONTENT_POLICY
from gateway.web.marked import marked
from tests.fakes.provider_stub import Body, Step, without_note
from tests.gateway.web.house import GUEST_TOKEN, OWNER_TOKEN, House, bearer, open_house

HOSTILE = """<script>steal()</script> <img src=x onerror=steal()> ![p](http://evil.example/p.png)
[a](javascript:steal()) [b](JaVaScRiPt:steal()) [c](data:text/html,x) <svg/onload=steal()>
[d](https://ok.example "t")"""


def echo(body: Body) -> Step:
    """A model that repeats what was said."""
    content = body["messages"][-1]["content"]
    return f"You said: {without_note(content if isinstance(content, str) else str(content[0]['text']))}"


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with open_house(tmp_path, echo) as house:
        yield house


@dataclass
class Browser:
    """A browser at the page: it keeps the cookie, and says where its requests come from."""

    http: httpx2.AsyncClient
    csrf: str = ""

    async def sign_in(self, code: str) -> httpx2.Response:
        response = await self.http.post("/sign-in", json={"code": code}, headers=self.origin)
        me = await self.http.get("/chat/me")
        self.csrf = me.json()["csrf"] if me.is_success else ""
        return response

    async def say(self, text: str, agent: str = "main", **headers: str) -> httpx2.Response:
        shown = self.origin | {"x-csrf-token": self.csrf} | headers
        return await self.http.post("/chat/messages", json={"agent": agent, "text": text}, headers=shown)

    @property
    def origin(self) -> dict[str, str]:
        return {"origin": str(self.http.base_url).rstrip("/")}

    @asynccontextmanager
    async def events(self, last: str = "", agent: str = "main") -> AsyncIterator[AsyncIterator[dict[str, str]]]:
        """Give the events of the stream as they come, each with what an EventSource tells of it."""
        headers = {"last-event-id": last} if last else {}
        async with self.http.stream("GET", "/chat/events", params={"agent": agent}, headers=headers) as response:
            assert response.status_code == 200, await response.aread()
            yield read(response.aiter_lines())


async def read(lines: AsyncIterator[str]) -> AsyncIterator[dict[str, str]]:
    event: dict[str, str] = {}
    async for line in lines:
        if line:
            name, _, value = line.partition(": ")
            event[name] = value
        elif "event" in event:
            yield event
            event = {}


async def until(events: AsyncIterator[dict[str, str]], kind: str) -> dict[str, Any]:
    """Return the next event of that *kind*, with its data read."""
    async with asyncio.timeout(10):
        async for event in events:
            if event["event"] == kind:
                return {"id": event.get("id", ""), **json.loads(event["data"])}
    raise AssertionError(f"the stream ended without {kind}")


async def shown(events: AsyncIterator[dict[str, str]], count: int) -> list[tuple[str, str]]:
    """Return the kinds and texts of the next events, whatever these are, but for drafts."""
    found: list[tuple[str, str]] = []
    async with asyncio.timeout(10):
        while len(found) < count:
            event = await anext(events)
            if event["event"] != "draft":
                found.append((event["event"], json.loads(event["data"])["text"]))
    return found


@asynccontextmanager
async def browser_at(address: str) -> AsyncIterator[Browser]:
    async with httpx2.AsyncClient(base_url=address, trust_env=False, timeout=20) as http:
        yield Browser(http)


@pytest.fixture
async def browser(house: House) -> AsyncIterator[Browser]:
    """Somebody who is signed in."""
    async with browser_at(house.address) as browser:
        assert (await browser.sign_in(await a_code(house))).status_code == 204
        yield browser


async def a_code(house: House) -> str:
    return (await house.app.desk.browsers(BrowserOrder("link"))).code


# --- what a page shows


async def test_what_is_said_is_answered_on_every_open_page(house: House, browser: Browser) -> None:
    """With the drafts in between; each agent has a chat of its own."""
    async with browser.events() as first, browser.events() as second, browser.events(agent="work") as other:
        for events in (first, second, other):
            await until(events, "history")
        assert (await browser.say("hello **you**")).status_code == 200
        for events in (first, second):
            assert (await until(events, "said"))["text"] == "hello **you**"
            answer = await until(events, "answer")
            assert answer["text"] == "You said: hello **you**"
            assert "<strong>you</strong>" in answer["html"]
        await browser.say("who are you?", agent="work")
        assert (await until(other, "said"))["text"] == "who are you?"
    assert [message["content"] for message in house.model.bodies[0]["messages"] if message["role"] == "user"]


async def test_a_draft_is_shown_while_it_grows(browser: Browser) -> None:
    """As far as it has come; the whole answer follows."""
    async with browser.events() as events:
        await until(events, "history")
        await browser.say("a rather long sentence, so that it comes in pieces")
        draft = await until(events, "draft")
        assert "You said: a rather long sentence, so that it comes in pieces".startswith(draft["text"])
        assert (await until(events, "answer"))["text"].endswith("in pieces")


async def test_a_connection_that_breaks_loses_no_answer(browser: Browser) -> None:
    """Who names the last event gets those that came after it, each once and in order."""
    async with browser.events() as events:
        start = (await until(events, "history"))["id"]
        answers = []
        for text in ("one", "two", "three"):
            await browser.say(text)
            answers.append(await until(events, "answer"))
    for last, missed in ((start, answers), (answers[0]["id"], answers[1:]), (answers[-1]["id"], [])):
        async with browser.events(last) as events:
            assert [await until(events, "answer") for _ in missed] == missed
    async with browser.events(answers[-1]["id"]) as events:
        await browser.say("four")
        assert (await until(events, "answer"))["text"] == "You said: four"


async def test_an_answer_that_came_while_no_page_was_open_is_there_at_the_next(house: House, browser: Browser) -> None:
    """It stands in the conversation, and is sent besides: the page knows by its turn that these are one."""
    said = (await browser.say("into the void")).json()["id"]
    await house.app.desk.outcomes.of(said)
    async with browser.events() as events:
        told = (await until(events, "history"))["messages"]
        sent = await until(events, "answer")
    assert [each["text"] for each in told] == ["into the void", "You said: into the void"]
    assert (sent["text"], sent["turn"]) == (told[1]["text"], told[1]["turn"])


async def test_what_is_said_elsewhere_is_shown_while_the_page_is_open(house: House, browser: Browser) -> None:
    """The owner's conversation is one: each message and answer once, in order, and to who comes back as well."""

    async def hear(_: str, __: bool) -> None:
        """Leave it."""

    async with browser.events() as events:
        start = (await until(events, "history"))["id"]
        await house.app.desk.chat(ChatOrder("said at the terminal"), hear)
        await house.owner.chat.completions.create(model="main", messages=[{"role": "user", "content": "by a program"}])
        await browser.say("said here")
        live = [await until(events, kind) for kind in ("said", "answer") * 3]
        await browser.say("the end")
        assert await shown(events, 2) == [("said", "the end"), ("answer", "You said: the end")]
    async with browser.events(start) as events:
        missed = [await until(events, kind) for kind in ("said", "answer") * 3]
    async with browser.events() as events:
        kept = (await until(events, "history"))["messages"]
    said = ["said at the terminal", "by a program", "said here"]
    assert [each["text"] for each in live] == [text for each in said for text in (each, f"You said: {each}")]
    assert missed == live
    facts = ("kind", "turn", "text")
    assert [[each[fact] for fact in facts] for each in kept[:-2]] == [[each[fact] for fact in facts] for each in live]


async def test_what_is_said_in_other_conversations_is_not_shown(house: House, browser: Browser) -> None:
    """Neither a guest's words nor what another agent is asked."""
    async with browser.events() as events:
        await until(events, "history")
        for program, agent in ((house.guest, "main"), (house.owner, "work")):
            await program.chat.completions.create(model=agent, messages=[{"role": "user", "content": "not for you"}])
        await browser.say("for me")
        assert await shown(events, 2) == [("said", "for me"), ("answer", "You said: for me")]


async def test_what_nobody_said_is_not_shown_as_said(house: House, browser: Browser) -> None:
    """A job that is a part of the conversation: its answer alone is shown, live and at the next opening."""
    async with browser.events() as events:
        await until(events, "history")
        await house.app.desk.cron(CronOrder("add", when="every 9h", what="water the plants", in_main=True))
        await house.app.desk.cron(CronOrder("run", number=1))
        ((kind, text),) = await shown(events, 1)
        assert kind == "answer"
        assert "water the plants" in text
    async with browser.events() as events:
        told = (await until(events, "history"))["messages"]
    assert [(each["kind"], each["text"]) for each in told] == [("answer", text)]


async def test_what_is_said_again_under_its_id_is_said_once(house: House, browser: Browser) -> None:
    """A page that does not know whether it was heard asks again, and loses nothing by it."""
    said = {"agent": "main", "text": "once", "id": "0123456789abcdef"}
    shown = browser.origin | {"x-csrf-token": browser.csrf}
    async with browser.events() as events:
        await until(events, "history")
        for _ in range(2):
            assert (await browser.http.post("/chat/messages", json=said, headers=shown)).json()["id"] == said["id"]
        await browser.say("twice")
        assert [(await until(events, "said"))["text"] for _ in range(2)] == ["once", "twice"]
        assert (await until(events, "answer"))["text"] == "You said: once"
        assert (await until(events, "answer"))["text"] == "You said: twice"
    assert (await browser.http.post("/chat/messages", json=said | {"id": "a b"}, headers=shown)).status_code == 400
    assert len(house.model.bodies) == 2


async def test_a_number_of_another_start_begins_with_the_conversation(house: House, browser: Browser) -> None:
    """It tells what was said anywhere: a page is the owner's conversation, whatever channel it went on."""

    async def hear(_: str, __: bool) -> None:
        """Leave it."""

    await house.app.desk.chat(ChatOrder("said at the terminal"), hear)
    for last in ("00000000-1", "x", "-", "00000000-99999999999999999999"):
        async with browser.events(last) as events:
            told = (await until(events, "history"))["messages"]
        assert [each["text"] for each in told] == ["said at the terminal", "You said: said at the terminal"]


def test_what_an_answer_holds_can_only_be_read() -> None:
    """No tag, no picture, no link but to the web or a mailbox."""
    html = marked(HOSTILE)
    for wicked in ("<script", "<img", "<svg", 'href="javascript', 'href="JaVaScRiPt', 'href="data'):
        assert wicked not in html
    assert "&lt;script&gt;" in html
    assert html.count("<a ") == 2


async def test_so_many_pages_and_no_more(house: House, browser: Browser) -> None:
    """What is open is bounded; one that is closed makes room."""
    adapter = house.app.adapters.loaded["web", "main"]
    readers = [adapter.attach(lambda _: None) for _ in range(PAGES_AT_MOST)]  # type: ignore[attr-defined]
    for reader in readers:
        reader.__enter__()
    assert (await browser.http.get("/chat/events", params={"agent": "main"})).status_code == 503
    readers.pop().__exit__(None, None, None)
    async with browser.events() as events:
        await until(events, "history")
    for reader in readers:
        reader.__exit__(None, None, None)


async def test_a_stop_ends_the_streams_at_once(house: House, browser: Browser) -> None:
    """An open page does not hold up the gateway's stop."""
    door = house.app.web({"OWNER_TOKEN": OWNER_TOKEN, "GUEST_TOKEN": GUEST_TOKEN})
    assert door is not None
    async with serving(door.app, "127.0.0.1", 0, grace_s=60, on_stop=door.close) as address:
        browser.http.base_url = httpx2.URL(address)
        stream = browser.events()
        events = await stream.__aenter__()
        await until(events, "history")
    async with asyncio.timeout(5):
        assert [event async for event in events] == []
    await stream.__aexit__(None, None, None)


# --- who is let in

SHUT = [
    ("GET", "/chat/me"),
    ("GET", "/chat/events?agent=main"),
    ("POST", "/chat/messages"),
    ("POST", "/sign-out"),
    ("GET", "/v1/models"),
    ("GET", "/v1/models/main"),
    ("POST", "/v1/chat/completions"),
]


async def test_every_path_is_shut_or_known_to_be_open(house: House) -> None:
    """From the table of routes: what is not named here as open refuses whoever shows nothing."""
    door = house.app.web({"OWNER_TOKEN": OWNER_TOKEN, "GUEST_TOKEN": GUEST_TOKEN})
    assert door is not None
    paths = {route.path for route in door.app.app.routes}  # type: ignore[attr-defined]
    opened = {"/", "/static/{name}", "/sign-in", "/telegram/{account}"}
    shut = {path.partition("?")[0].replace("/models/main", "/models/{name}") for _, path in SHUT}
    assert paths == opened | shut
    origin = {"origin": house.address}
    for method, path in SHUT:
        for shown in ({}, {"cookie": "strandline=wrong"}, bearer("wrong"), {"authorization": "Bearer"}):
            response = await house.http.request(method, path, headers=origin | dict(shown), json={})
            assert (response.status_code, path) == (401, path)
    assert house.model.bodies == []


async def test_a_code_counts_once_and_its_session_can_be_revoked(house: House, browser: Browser) -> None:
    """The cookie is for our own pages alone, and no script reads it."""
    code = await a_code(house)
    async with browser_at(house.address) as another:
        response = await another.sign_in(code.lower())
        cookie = response.headers["set-cookie"].lower()
        assert all(each in cookie for each in ("httponly", "samesite=strict", "path=/"))
    async with browser_at(house.address) as third:
        assert (await third.sign_in(code)).status_code == 401
    sessions = (await house.app.desk.browsers(BrowserOrder("sessions"))).sessions
    assert len(sessions) == 2
    async with browser.events() as events:
        await until(events, "history")
        await house.app.desk.browsers(BrowserOrder("revoke", sessions[0].session))
        adapter = house.app.adapters.loaded["web", "main"]
        adapter.tell(Told(Kind.SAID, "said elsewhere", datetime.now(UTC), "t1"))  # type: ignore[attr-defined]
        assert [event async for event in events] == []
    assert (await browser.say("hello")).status_code == 401


async def test_signing_out_ends_this_session_only(house: House, browser: Browser) -> None:
    """The browser forgets the cookie, and it counts no more."""
    async with browser_at(house.address) as another:
        await another.sign_in(await a_code(house))
        kept = {"cookie": f"strandline={browser.http.cookies['strandline']}"}
        shown = browser.origin | {"x-csrf-token": browser.csrf}
        assert (await browser.http.post("/sign-out", headers=shown)).status_code == 204
        assert (await house.http.get("/chat/me", headers=kept)).status_code == 401
        assert (await another.say("still here")).status_code == 200


async def test_wrong_codes_are_limited_on_loopback_too(house: House) -> None:
    """After five within a minute not even a right one is looked at."""
    async with browser_at(house.address) as stranger:
        wrong = [(await stranger.sign_in(f"WRONG-{n}")).status_code for n in range(WRONG_AT_MOST + 1)]
        assert wrong == [401] * WRONG_AT_MOST + [429]
        assert (await stranger.sign_in(await a_code(house))).status_code == 429


async def test_a_page_of_somebody_else_says_nothing(house: House, browser: Browser) -> None:
    """The cookie alone does not speak for the owner."""
    evil = {"origin": "http://evil.example"}
    for headers in ({"x-csrf-token": ""}, {"x-csrf-token": "0" * 32}, evil, {"origin": "null"}):
        assert (await browser.say("buy it", **headers)).status_code == 403
    assert house.model.bodies == []


async def test_a_request_that_names_no_origin_does_nothing(house: House, browser: Browser) -> None:
    """Browsers name it with whatever does something."""
    response = await browser.http.post(
        "/chat/messages", json={"agent": "main", "text": "hi"}, headers={"x-csrf-token": browser.csrf}
    )
    assert response.status_code == 403
    assert (await browser.http.post("/sign-in", json={"code": "x"})).status_code == 403
    assert house.model.bodies == []


async def test_a_name_that_somebody_else_resolves_is_refused(house: House) -> None:
    """Whatever it asks for, and whatever it shows."""
    for path in ("/", "/chat/me", "/v1/models"):
        shown = {"host": "evil.example", **bearer(OWNER_TOKEN)}
        assert (await house.http.get(path, headers=shown)).status_code == 421


async def test_what_is_answered_tells_a_browser_to_run_nothing_else(house: House) -> None:
    """Pages, files, refusals alike."""
    for path in ("/", "/static/page.js", "/chat/me", "/absent"):
        headers = (await house.http.get(path)).headers
        assert headers["content-security-policy"] == CONTENT_POLICY
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
    page = (await house.http.get("/")).text
    assert "<style" not in page
    assert " style=" not in page
    assert "onclick" not in page
    assert page.count("<script") == page.count('<script src="/static/')


async def test_behind_a_proxy_its_host_and_origin_count_and_the_cookie_is_for_tls(tmp_path: Path) -> None:
    """`public_url` lets its own name in beside addresses of this machine, and no other."""
    extra = '[web]\npublic_url = "https://agents.example.org"\n'
    async with open_house(tmp_path, echo, extra) as house:
        shown = {"host": "agents.example.org", "origin": "https://agents.example.org"}
        code = {"code": await a_code(house)}
        for wrong in ({"host": "agents.example.com"}, {"origin": "http://agents.example.org"}):
            assert (await house.http.post("/sign-in", json=code, headers=shown | wrong)).status_code in {403, 421}
        response = await house.http.post("/sign-in", json=code, headers=shown)
    assert response.status_code == 204
    assert "secure" in response.headers["set-cookie"].lower()
