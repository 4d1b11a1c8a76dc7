"""The owner's page: who is let in."""

import re
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import reduce
from pathlib import Path
from typing import Any

import pytest

from adapters.web import PageEventKind, PageMessage
from gateway.admission.sign_in import SESSION_FOR, STORED_AS, WRONG_AT_MOST
from gateway.control.browsers import BrowserOrder
from gateway.web.guard import CONTENT_POLICY
from tests.gateway.web.browsing import Browser, a_code, browser_at, echo, until
from tests.gateway.web.house import GUEST_TOKEN, OWNER_TOKEN, House, bearer, open_house

SHUT = [
    ("GET", "/chat/commands"),
    ("GET", "/chat/me"),
    ("GET", "/chat/events?agent=main"),
    ("POST", "/chat/messages"),
    ("POST", "/sign-out"),
    ("GET", "/memory"),
    *(("GET", f"/agents/main/memory{each}") for each in ("", "/days", "/day", "/note", "/shared", "/files", "/search")),
    ("GET", "/agents/main/memory/line"),
    ("GET", "/agents/main/memory/edit"),
    ("GET", "/agents/main/memory/why"),
    ("POST", "/agents/main/memory/edit"),
    ("POST", "/agents/main/memory/change"),
    ("GET", "/agents/main/memory/checkup"),
    ("POST", "/agents/main/memory/checkup"),
    ("GET", "/history"),
    *(("GET", f"/agents/main/history{each}") for each in ("", "/change", "/preview")),
    ("POST", "/agents/main/history/restore"),
    ("POST", "/agents/main/history/bundle"),
    ("GET", "/work"),
    *(("GET", f"/agents/main/work{each}") for each in ("", "/approvals", "/jobs", "/conversations", "/conversation")),
    *(("GET", f"/agents/main/work{each}") for each in ("/health", "/trends", "/tools", "/file")),
    *(("POST", f"/agents/main/work{each}") for each in ("/approvals", "/jobs", "/quarantine", "/health", "/exam")),
    *(("GET", f"/people{each}") for each in ("", "/rooms", "/silences")),
    ("POST", "/people/decide"),
    ("GET", "/settings"),
    ("POST", "/settings"),
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
    named = (("/models/main", "/models/{name}"), ("/agents/main", "/agents/{agent}"))
    shut = {reduce(lambda path, each: path.replace(*each), named, path.partition("?")[0]) for _, path in SHUT}
    assert paths == opened | shut
    origin = {"origin": house.address}
    for method, path in SHUT:
        none: dict[str, str] = {}
        shown_by_strangers = (none, {"cookie": "strandline=wrong"}, bearer("wrong"), {"authorization": "Bearer"})
        of_programs = () if path.startswith("/v1") else (bearer(OWNER_TOKEN), bearer(GUEST_TOKEN))
        for shown in (*shown_by_strangers, *of_programs):
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
    sessions = (await house.app.operator.ask(BrowserOrder("sessions"))).sessions
    assert len(sessions) == 2
    async with browser.events() as events:
        await until(events, "history")
        await house.app.operator.ask(BrowserOrder("revoke", sessions[0].session))
        adapter = house.app.parts.resources.channels.adapters.loaded["web", "main"]
        adapter.tell(PageMessage(PageEventKind.SAID, "said elsewhere", datetime.now(UTC), "t1"))  # type: ignore[attr-defined]
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


async def test_a_form_needs_the_sessions_token_and_our_own_origin(house: House, browser: Browser) -> None:
    """Every form of the page, from the table: with the cookie alone, and from another site, nothing is done."""
    forms = [
        path for method, path in SHUT if method == "POST" and path.startswith(("/agents/", "/people/", "/settings"))
    ]
    assert forms
    for path in forms:
        for fields, headers in (
            ({"csrf": ""}, browser.origin),
            ({"csrf": "0" * 32}, browser.origin),
            ({"csrf": browser.csrf}, {}),
            ({"csrf": browser.csrf}, {"origin": "http://evil.example"}),
            ({"csrf": browser.csrf}, {"origin": "null"}),
        ):
            response = await browser.http.post(path, data=fields, headers=headers)
            assert (response.status_code, path) == (403, path)


async def revoked(house: House) -> None:
    await house.app.operator.ask(BrowserOrder("revoke"))


async def expired(house: House) -> None:
    """Let the session be one whose thirty days are over."""
    store = house.app.parts.sign_ins._store
    ends = (datetime.now(UTC) + SESSION_FOR).year
    kept = re.sub(rf'"until": ?"{ends}-\d\d', '"until":"2001-01', await store.get(STORED_AS) or "")
    await store.put(STORED_AS, kept)


@pytest.mark.parametrize("end", [revoked, expired])
async def test_every_path_is_shut_once_its_session_ends(
    house: House, browser: Browser, end: Callable[[House], Awaitable[None]]
) -> None:
    """Views and acts alike, the token of the page's forms included, as the page or a script sends them."""
    paths = [(method, path) for method, path in SHUT if not path.startswith("/v1")]
    assert (await browser.http.get("/agents/main/memory")).status_code == 200
    await end(house)
    shown = browser.origin | {"x-csrf-token": browser.csrf}
    for method, path in paths:
        said = {"csrf": browser.csrf, "act": "check"}
        bodies: list[dict[str, Any]] = [{"data": said}, {"json": said}] if method == "POST" else [{}]
        for body in bodies:
            response = await browser.http.request(method, path, headers=shown, **body)
            assert (response.status_code, path) == (401, path)
            assert b"main" not in response.content.replace(b"main id", b"").replace(b"</main>", b"")


async def test_no_path_answers_to_another_name_or_another_site(house: House, browser: Browser) -> None:
    """A name that somebody else resolves, another site's page, a frame without an origin: despite the cookie."""
    for method, path in SHUT:
        shown = browser.origin | {"x-csrf-token": browser.csrf}
        for wrong, status in (
            ({"host": "evil.example"}, 421),
            ({"host": "localhost.evil.example"}, 421),
            ({"origin": "http://evil.example"}, 403),
            ({"origin": "null"}, 403),
        ):
            body: dict[str, Any] = {"data": {"csrf": browser.csrf}} if method == "POST" else {}
            response = await browser.http.request(method, path, headers=shown | wrong, **body)
            assert (response.status_code, path, wrong) == (status, path, wrong)
    assert house.model.bodies == []


async def test_an_unknown_address_is_a_page_for_a_browser_and_json_for_programs(house: House) -> None:
    """A browser that is not signed in is asked to do that first, as at any other address."""
    reads = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    async with browser_at(str(house.http.base_url)) as browser:
        stranger = await browser.http.get("/memroy", headers=reads)
        assert (stranger.status_code, "not signed in" in stranger.text) == (401, True)
        await browser.sign_in(await a_code(house))
        shown = await browser.http.get("/memroy", headers=reads)
        assert (shown.status_code, shown.headers["content-type"]) == (404, "text/html; charset=utf-8")
        assert "Nothing is at this address" in shown.text
        for answer in (await browser.http.get("/memroy"), await browser.http.post("/memory", headers=reads)):
            assert "there is no such path" in answer.text or "does not take that method" in answer.text
            assert answer.json()["error"]["type"] == "invalid_request_error"
