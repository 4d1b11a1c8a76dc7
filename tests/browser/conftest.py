"""The page of a real gateway in a real browser, with a check of the browser's error log."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import pytest_asyncio
from aiohttp import web
from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Page, Request, async_playwright

from gateway.app.app import App
from gateway.control.browsers import BrowserOrder
from gateway.control.stream_wire import ChatOrder
from gateway.home import Home
from tests.browser.standby_address import StandbyAddress, standby_address
from tests.fakes.openai_stub import OpenAIStub
from tests.fakes.patience import PATIENCE_S
from tests.fakes.provider_stub import Body, Reply, Step, without_note
from tests.gateway.web.house import door, make_web_home

PATIENCE_MS = 1_000 * PATIENCE_S
"""For whatever a browser does: other tests may keep both cores busy."""
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
ALONE = ["--disable-background-networking", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
"""The browser asks nobody but us, not even for itself."""
in_one_loop = pytest_asyncio.fixture(loop_scope="session")


class Model(OpenAIStub):
    """Answers with what it was told to say, or repeats what was said.

    It stops half way while `go_on` is not set, or before the first word.
    """

    def __init__(self) -> None:
        super().__init__(self._next)
        self.says: list[Step] = []
        self.stops_at_once = False
        self.go_on = asyncio.Event()
        self.go_on.set()

    def _next(self, body: Body) -> Step:
        content = body["messages"][-1]["content"]
        said = without_note(content if isinstance(content, str) else str(content[0]["text"]))
        return self.says.pop(0) if self.says else f"You said: {said}"

    @contextmanager
    def held(self, *, at_once: bool = False) -> Iterator[None]:
        """Let no answer be finished, or begun, until the block ends."""
        self.stops_at_once = at_once
        self.go_on.clear()
        yield
        self.go_on.set()

    async def _stream(self, request: web.Request, reply: Reply) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        events = list(self.events(reply))
        half = 0 if self.stops_at_once else (len(events) - self.finishing_events + 1) // 2
        try:
            for number, event in enumerate(events):
                if number == half:
                    await self.go_on.wait()
                await response.write(event)
        except ConnectionError:
            pass  # the gateway was stopped
        return response


@dataclass
class House:
    """A gateway that can be stopped and started, and the way to its page."""

    home: Home
    model: Model
    way: StandbyAddress
    app: App | None = None

    @asynccontextmanager
    async def open(self) -> AsyncIterator[App]:
        """Run the gateway while the block runs."""
        async with door(self.home) as (app, address):
            self.app, self.way.target = app, urlsplit(address).port
            try:
                yield app
            finally:
                self.way.target = None

    async def code(self) -> str:
        """Return a code to sign in with."""
        assert self.app is not None
        return (await self.app.operator.ask(BrowserOrder("link"))).code

    async def say_at_the_terminal(self, text: str) -> None:
        """Say *text* as the owner, and return once it was answered there."""
        assert self.app is not None

        async def hear(_: str, __: bool) -> None:
            """Leave it."""

        await self.app.operator.chat(ChatOrder(text), hear)


@dataclass
class Complaints:
    """What a browser said of the pages that it had open."""

    said: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)
    """Requests to anywhere but the gateway."""
    bears_breaks: bool = False
    """The test breaks connections: a browser may say so."""
    bears_refusals: bool = False
    """The test has something refused as a conflict: a browser says so too."""

    def watch(self, page: Page, url: str) -> None:
        """Listen to *page*, which is to ask *url* alone."""

        def on_console(message: ConsoleMessage) -> None:
            is_break = self.bears_breaks and ("net::ERR" in message.text or "503" in message.text)
            is_signed_out = "401" in message.text  # how the page learns that nobody is signed in
            is_refused = self.bears_refusals and "409" in message.text
            if message.type in {"error", "warning"} and not is_break and not is_signed_out and not is_refused:
                self.said.append(message.text)

        def on_request(request: Request) -> None:
            if not request.url.startswith((f"{url}/", "data:")):
                self.elsewhere.append(request.url)

        page.on("console", on_console)
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("request", on_request)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the tests of this folder in one event loop, which the browser belongs to."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent) and pytest_asyncio.is_async_test(item):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@in_one_loop
async def house(tmp_path: Path) -> AsyncIterator[House]:
    """A gateway that is not running yet."""
    async with Model() as model, standby_address() as way:
        yield House(make_web_home(tmp_path, model.url), model, way)


@in_one_loop
async def gateway(house: House) -> AsyncIterator[App]:
    async with house.open() as app:
        yield app


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    """The system's browser; without one these tests are skipped."""
    program = os.environ.get("STRANDLINE_CHROMIUM") or next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        pytest.skip("no Chromium here (apt install chromium), so the page is not opened in a browser")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program, args=ALONE, timeout=PATIENCE_MS)
        try:
            yield browser
        finally:
            await browser.close()


@in_one_loop
async def chromium(browser: Browser) -> AsyncIterator[Browser]:
    """The browser, for contexts that share nothing and are closed with the test."""
    yield browser
    for context in browser.contexts:
        await context.close()


@pytest.fixture
def complaints() -> Iterator[Complaints]:
    """What the browser complained of, which must be nothing by the end."""
    complaints = Complaints()
    yield complaints
    assert complaints.said == []
    assert complaints.elsewhere == []


@in_one_loop
async def context(chromium: Browser) -> BrowserContext:
    return await chromium.new_context(viewport={"width": 1100, "height": 760})


async def opened(house: House, context: BrowserContext, complaints: Complaints) -> Page:
    """Return the page, as it stands before signing in."""
    page = await context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    complaints.watch(page, house.way.url)
    await page.goto(house.way.url)
    return page


@in_one_loop
async def page(house: House, gateway: App, context: BrowserContext, complaints: Complaints) -> Page:
    """The page, signed in."""
    page = await opened(house, context, complaints)
    await page.get_by_label("Code").fill(await house.code())
    await page.get_by_role("button", name="Sign in").click()
    await page.get_by_label("Message").wait_for()
    return page
