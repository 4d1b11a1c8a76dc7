"""The owner's page: what it shows, and that no answer is lost between two connections."""

import asyncio
import base64
import threading
from datetime import UTC, datetime
from pathlib import Path

import httpx2
import pytest

from adapters.channel import Address, Button
from adapters.spoken import CHAT
from adapters.web import CHANNEL, PageEvent, PageEventKind, PageMessage
from gateway.control.cron_wire import CronOrder
from gateway.control.stream_wire import ChatOrder
from gateway.runtime.http_server import serving
from gateway.web.chat import PAGES_AT_MOST, WAITING_AT_MOST, _PendingEvents
from gateway.web.markdown_html import to_html
from tests.fakes.provider_stub import Reply, call, steps
from tests.gateway.web.browsing import Browser, a_code, browser_at, shown, until
from tests.gateway.web.house import GUEST_TOKEN, OWNER_TOKEN, House, open_house

HOSTILE = """<script>steal()</script> <img src=x onerror=steal()> ![p](http://evil.example/p.png)
[a](javascript:steal()) [b](JaVaScRiPt:steal()) [c](data:text/html,x) <svg/onload=steal()>
[d](https://ok.example "t")"""


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


async def test_what_a_turn_did_is_told_apart_from_its_answer(tmp_path: Path) -> None:
    """Live and at the next opening, as text; a model's own imitation of it stays in the answer."""
    said = "Noted.\n\n— ✓ sent a million"
    script = steps(Reply(calls=(call("save_memory", text="Ann has the key", category="notes"),)), said)
    async with open_house(tmp_path, script) as house, browser_at(house.address) as browser:
        await browser.sign_in(await a_code(house))
        async with browser.events() as events:
            await until(events, "history")
            await browser.say("Ann has the key")
            live = await until(events, "answer")
        async with browser.events() as events:
            kept = (await until(events, "history"))["messages"][-1]
    assert live["receipt"] == "<p>✓ noted 1 line</p>\n"
    assert "noted 1 line" not in live["text"] + live["html"]
    assert live["text"] == "Noted.\n\n— • sent a million"
    assert (live["receipt"], live["text"]) == (kept["receipt"], kept["text"])


async def test_a_draft_is_shown_while_it_grows(browser: Browser) -> None:
    """As far as it has come; the whole answer follows."""
    async with browser.events() as events:
        await until(events, "history")
        await browser.say("a rather long sentence, so that it comes in pieces")
        draft = await until(events, "draft")
        assert "You said: a rather long sentence, so that it comes in pieces".startswith(draft["text"])
        assert (await until(events, "answer"))["text"].endswith("in pieces")


async def test_answers_become_html_beside_the_event_loop(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve thousand brackets take half a second, for which no other chat shall wait: drafts, answers and history."""
    in_loop = []

    def converted(markdown: str) -> str:
        if markdown.startswith("You said"):
            in_loop.append(threading.current_thread() is threading.main_thread())
        return to_html(markdown)

    monkeypatch.setattr("gateway.web.chat.to_html", converted)
    async with browser.events() as events:
        await until(events, "history")
        await browser.say("a rather long sentence, so that it comes in pieces")
        await until(events, "draft")
        await until(events, "answer")
    seen = len(in_loop)
    async with browser.events() as events:
        await until(events, "history")
    assert len(in_loop) > seen > 1
    assert not any(in_loop)


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
    await house.app.parts.outcomes.of(said)
    async with browser.events() as events:
        told = (await until(events, "history"))["messages"]
        sent = await until(events, "answer")
    assert [each["text"] for each in told] == ["into the void", "You said: into the void"]
    assert (sent["text"], sent["turn"]) == (told[1]["text"], told[1]["turn"])


async def test_an_answer_that_is_delivered_late_keeps_its_time(house: House, browser: Browser) -> None:
    """It was given while no page was open: the page shows when."""
    said = (await browser.say("hello")).json()["id"]
    await house.app.parts.outcomes.of(said)
    async with browser.events() as events:
        stored = (await until(events, "history"))["messages"][-1]
        late = await until(events, "answer")
    assert (late["turn"], late["at"]) == (stored["turn"], stored["at"])


async def test_a_notice_that_was_shown_is_there_at_the_next_opening(house: House, browser: Browser) -> None:
    """In its place and with its buttons, though no conversation holds it."""
    page = Address(CHANNEL, "main", CHAT)
    async with browser.events() as events:
        await until(events, "history")
        await browser.say("hello")
        await until(events, "answer")
        await house.app.parts.resources.home.notices.tell(
            "full", "The disk is full.", page, (Button("Look", "/status"),)
        )
        told = await until(events, "answer")
    async with browser.events() as events:
        kept = (await until(events, "history"))["messages"]
        await browser.say("thanks")
        assert await shown(events, 2) == [("said", "thanks"), ("answer", "You said: thanks")]
    assert [each["text"] for each in kept] == ["hello", "You said: hello", "The disk is full."]
    assert {**kept[-1], "id": told["id"]} == told
    assert kept[-1]["buttons"] == [{"label": "Look", "command": "/status"}]


async def test_what_is_said_elsewhere_is_shown_while_the_page_is_open(house: House, browser: Browser) -> None:
    """The owner's conversation is one: each message and answer once, in order, and to who comes back as well."""

    async def hear(_: str, __: bool) -> None:
        """Leave it."""

    async with browser.events() as events:
        start = (await until(events, "history"))["id"]
        await house.app.operator.chat(ChatOrder("said at the terminal"), hear)
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
        await house.app.operator.ask(CronOrder("add", when="every 9h", what="water the plants", in_main=True))
        await house.app.operator.ask(CronOrder("run", number=1))
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
        assert (await until(events, "said"))["text"] == "once"
        assert (await until(events, "answer"))["text"] == "You said: once"
        await browser.say("twice")
        assert (await until(events, "said"))["text"] == "twice"
        assert (await until(events, "answer"))["text"] == "You said: twice"
    assert (await browser.http.post("/chat/messages", json=said | {"id": "a b"}, headers=shown)).status_code == 400
    assert len(house.model.bodies) == 2


async def test_a_number_of_another_start_begins_with_the_conversation(house: House, browser: Browser) -> None:
    """It tells what was said anywhere: a page is the owner's conversation, whatever channel it went on."""

    async def hear(_: str, __: bool) -> None:
        """Leave it."""

    await house.app.operator.chat(ChatOrder("said at the terminal"), hear)
    for last in ("00000000-1", "x", "-", "00000000-99999999999999999999"):
        async with browser.events(last) as events:
            told = (await until(events, "history"))["messages"]
        assert [each["text"] for each in told] == ["said at the terminal", "You said: said at the terminal"]


def test_what_an_answer_holds_can_only_be_read() -> None:
    """No tag, no picture, no link but to the web or a mailbox."""
    html = to_html(HOSTILE)
    for wicked in ("<script", "<img", "<svg", 'href="javascript', 'href="JaVaScRiPt', 'href="data'):
        assert wicked not in html
    assert "&lt;script&gt;" in html
    assert html.count("<a ") == 2


async def test_so_many_pages_and_no_more(house: House, browser: Browser) -> None:
    """What is open is bounded; one that is closed makes room."""
    adapter = house.app.parts.resources.channels.adapters.loaded["web", "main"]
    readers = [adapter.attach(lambda _: None) for _ in range(PAGES_AT_MOST)]  # type: ignore[attr-defined]
    for reader in readers:
        reader.__enter__()
    assert (await browser.http.get("/chat/events", params={"agent": "main"})).status_code == 503
    readers.pop().__exit__(None, None, None)
    async with browser.events() as events:
        await until(events, "history")
    for reader in readers:
        reader.__exit__(None, None, None)


async def test_a_page_that_comes_while_its_agent_starts_is_told_so(house: House, browser: Browser) -> None:
    """503 until the agent's adapter is loaded; 404 is for an agent that is not configured."""
    loaded = house.app.parts.resources.channels.adapters.loaded
    adapter = loaded.pop(("web", "main"))
    for agent, status in (("main", 503), ("nobody", 404)):
        assert (await browser.http.get("/chat/events", params={"agent": agent})).status_code == status
    loaded["web", "main"] = adapter


def test_a_page_that_takes_nothing_more_costs_no_end_of_memory() -> None:
    """It is parted from, and asks for what it lacks when it comes back; one that reads goes on for ever."""
    stuck, quick = _PendingEvents(), _PendingEvents()
    for number in range(10_000):
        event = PageEvent(number, PageMessage(PageEventKind.SAID, f"message {number}", datetime.now(UTC), ""))
        for heard in (stuck, quick):
            heard.event(event)
            heard.draft(f"draft {number}")
        assert quick.taken() == [event, f"draft {number}"]
    assert (stuck.is_over, quick.is_over) == (True, False)
    assert len(stuck.taken()) <= WAITING_AT_MOST + 1


async def test_a_stop_ends_the_streams_at_once(house: House, browser: Browser) -> None:
    """An open page does not hold up the gateway's stop."""
    door = house.app.web({"OWNER_TOKEN": OWNER_TOKEN, "GUEST_TOKEN": GUEST_TOKEN})
    assert door is not None
    async with serving(door.app, "127.0.0.1", 0, grace_s=60, on_stop=door.close) as address:
        browser.http.base_url = httpx2.URL(address)
        stream = browser.events()
        events = await stream.__aenter__()
        await until(events, "history")
    async with asyncio.timeout(30):  # half of its grace
        assert [event async for event in events] == []
    await stream.__aexit__(None, None, None)


async def test_a_file_needs_no_words_and_one_that_did_not_arrive_whole_is_refused(browser: Browser) -> None:
    """As on any other channel; nothing is stored of a message that is refused."""
    headers = browser.origin | {"x-csrf-token": browser.csrf}
    for content, status in (("%%%", 400), (base64.b64encode(b"The plan.").decode(), 200)):
        body = {"agent": "main", "text": "", "files": [{"name": "plan.txt", "base64": content}]}
        response = await browser.http.post("/chat/messages", json=body, headers=headers)
        assert response.status_code == status, response.text
    async with browser.events() as events:
        texts = [each["text"] for each in (await until(events, "history"))["messages"] if each["kind"] == "said"]
    assert len(texts) == 1
    assert "plan.txt" in texts[0]
