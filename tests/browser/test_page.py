"""The page in a real browser: what people see and do there, and what it never lets happen."""

import asyncio
import os
from pathlib import Path

import pytest
from playwright.async_api import BrowserContext, Locator, Page, Route, expect

from adapters.channel import Address, Body, Button, OutboundMessage
from gateway.app.app import App
from tests.browser.conftest import PATIENCE_MS, Complaints, House, opened

expect.set_options(timeout=PATIENCE_MS)

HOSTILE = """<script>document.title = "stolen"</script>
<img src=x onerror="document.title = 'stolen'"> ![p](http://127.0.0.1:9/p.png) <svg/onload="document.title='stolen'">

<iframe src="javascript:document.title='stolen'"></iframe> <style>body { display: none }</style>

[script](javascript:document.title='stolen') [shouted](JaVaScRiPt:document.title='stolen')
[data](data:text/html,<script>alert(1)</script>) [good](https://example.org/a?b=c "t")

| <b>cell</b> | `<i>` |
|---|---|
| [x](vbscript:x) | &lt;img src=x onerror=alert(1)&gt; |
"""
HTML = """<img src=x onerror="stolen = 1"><script>stolen = 1</script><iframe src="javascript:1"></iframe>
<svg><script>stolen = 1</script></svg><math><mtext></mtext></math><form action="/"><input></form><b>bold</b>"""
INTRUDE = """() => new Promise(resolve => {
  const violated = new Set();
  document.addEventListener("securitypolicyviolation", (event) => {
    violated.add(event.effectiveDirective);
    if (violated.size === 5) resolve([...violated].sort());
  });
  setTimeout(() => resolve([...violated].sort()), 100_000);
  const add = (tag, facts) => document.body.append(Object.assign(document.createElement(tag), facts));
  add("script", { textContent: "window.stolen = 1" });
  add("img", { src: "http://127.0.0.1:9/p.png" });
  add("iframe", { src: "http://127.0.0.1:9/" });
  document.body.setAttribute("style", "display: none");
  fetch("http://127.0.0.1:9/").catch(() => null);
})"""
WIDE = f"""Here is `{"a-very-long-name-" * 12}` and https://example.org/{"path/" * 60}

| {" | ".join(f"column {n}" for n in range(12))} |
|{"---|" * 12}
| {" | ".join(f"value number {n}" for n in range(12))} |

```python
{"x = " + "1 + " * 120}1
```

> {"quoted " * 80}
"""


def answers(page: Page) -> Locator:
    return page.locator("#talk article.answer")


def said(page: Page) -> Locator:
    return page.locator("#talk article.said")


async def say(page: Page, text: str) -> None:
    await page.get_by_label("Message").fill(text)
    await page.get_by_label("Message").press("Enter")


async def texts(articles: Locator) -> list[str]:
    """Return what they say, without the line below it."""
    inner = (
        "all => all.map(e => { const foot = e.querySelector('footer'); foot.hidden = true; "
        "const text = e.innerText; foot.hidden = false; return text.trim(); })"
    )
    found: list[str] = await articles.evaluate_all(inner)
    return found


async def photograph(page: Page, name: str) -> None:
    """Keep a picture of the page, where the environment says so: for people who want to look."""
    if folder := os.environ.get("STRANDLINE_PICTURES"):
        await page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)


async def test_from_the_code_to_an_answer_that_is_written_as_you_read(
    house: House, gateway: App, context: BrowserContext, complaints: Complaints
) -> None:
    """A wrong code is refused in words; the right one lets in once; a draft grows, and becomes the answer."""
    page = await opened(house, context, complaints)
    await photograph(page, "entrance")
    await page.get_by_label("Code").fill("WRONG-CODES")
    await page.get_by_label("Code").press("Enter")
    await expect(page.get_by_role("alert")).to_contain_text("wrong or expired")
    code = await house.code()
    await page.get_by_label("Code").fill(code.lower())
    await page.get_by_label("Code").press("Enter")
    await expect(page.get_by_role("heading", name="main")).to_be_visible()
    await photograph(page, "empty")
    house.model.says = ["The first half of what I have to say. **The second half**, with `code`."]
    with house.model.held():
        await say(page, "hello\nwith two lines")
        await expect(said(page)).to_contain_text("with two lines")
        await expect(page.locator("article.draft")).to_contain_text("The first half")
        await expect(answers(page)).to_have_count(0)
        await photograph(page, "draft")
    await expect(answers(page).locator("strong")).to_have_text("The second half")
    await expect(page.locator("article.draft")).to_have_count(0)
    await expect(page.get_by_label("Message")).to_have_value("")
    await photograph(page, "answer")
    await page.reload()
    await expect(answers(page)).to_have_count(1)
    await context.clear_cookies()
    await page.goto(f"{house.way.url}/#{await house.code()}")
    await page.reload()
    await expect(page.get_by_role("heading", name="main")).to_be_visible()
    assert page.url == f"{house.way.url}/"
    await context.clear_cookies()
    other = await opened(house, context, complaints)
    await other.get_by_label("Code").fill(code)
    await other.get_by_label("Code").press("Enter")
    await expect(other.get_by_role("alert")).to_contain_text("wrong or expired")


async def test_a_sign_stands_while_there_is_nothing_to_read_yet(house: House, page: Page) -> None:
    """A model that thinks, or works with its tools, is at work: the sign gives way to what it says."""
    with house.model.held(at_once=True):
        await say(page, "think")
        await expect(page.locator("article.draft")).to_have_text("")
        await photograph(page, "writing")
    await expect(answers(page)).to_have_count(1)
    await expect(page.locator("article.draft")).to_have_count(0)


async def test_what_an_answer_holds_can_only_be_read(house: House, page: Page, complaints: Complaints) -> None:
    """No tag, picture, style or script of a model's works; a link leads to the web or nowhere."""
    house.model.says = [HOSTILE]
    await say(page, f"look: {HOSTILE}")
    await expect(answers(page)).to_have_count(1)
    await photograph(page, "hostile")
    shown = page.locator("#talk *")
    tags = set(await shown.evaluate_all("elements => elements.map(e => e.tagName.toUpperCase())"))
    assert not tags & {"SCRIPT", "IMG", "SVG", "IFRAME", "STYLE"}
    names = "elements => elements.flatMap(e => e.getAttributeNames())"
    assert set(await page.locator("#talk article").evaluate_all(names)) == {"class", "aria-label"}
    attributes = set(await page.locator("#talk article *").evaluate_all(names))
    assert attributes == {"class", "datetime", "href", "rel", "target"}
    links = await answers(page).locator("a").evaluate_all("links => links.map(a => [a.href, a.rel, a.target])")
    why = [link for link in links if link[0].startswith(f"{house.way.url}/agents/main/memory/why?turn=")]
    links = [link for link in links if link not in why]
    assert len(why) == 1
    kept = ["noopener noreferrer", "_blank"]
    assert links == [["http://127.0.0.1:9/p.png", *kept], ["https://example.org/a?b=c", *kept]]
    await expect(answers(page)).to_contain_text("<script>document.title")
    await expect(said(page)).to_contain_text("<img src=x onerror=")
    assert await page.title() == "main · Strandline"
    assert complaints.said == []
    assert await page.evaluate("html => harmless(html).children.length", HTML) == 0
    assert await page.evaluate("window.stolen") is None
    complaints.said.clear()  # the policy names the handler while it is read, before it is dropped


async def test_the_browser_runs_and_loads_nothing_else(page: Page, complaints: Complaints) -> None:
    """Whatever got into the page in spite of all that: the policy that comes with it holds."""
    assert await page.evaluate(INTRUDE) == ["connect-src", "frame-src", "img-src", "script-src-elem", "style-src-attr"]
    assert await page.evaluate("window.stolen") is None
    assert len(complaints.said) >= 5
    complaints.said.clear()
    complaints.elsewhere.clear()


async def test_a_stream_that_breaks_loses_nothing_and_shows_nothing_twice(
    house: House, page: Page, complaints: Complaints
) -> None:
    """What came meanwhile is there when the page has connected again."""
    complaints.bears_breaks = True
    await say(page, "before")
    await expect(answers(page)).to_have_count(1)
    for number in range(2):
        port, house.way.target = house.way.target, None
        house.way.drop()
        await expect(page.get_by_role("status")).not_to_be_empty()
        await house.say_at_the_terminal(f"meanwhile {number}")
        house.way.target = port
        await expect(answers(page)).to_have_count(2 + number)
    await say(page, "after")
    await expect(answers(page)).to_have_count(4)
    everything = ["before", "meanwhile 0", "meanwhile 1", "after"]
    assert await texts(said(page)) == everything
    assert await texts(answers(page)) == [f"You said: {each}" for each in everything]
    await expect(page.get_by_role("status")).to_be_empty()


async def test_a_message_that_may_have_been_lost_is_sent_again_and_counts_once(
    house: House, page: Page, complaints: Complaints
) -> None:
    """The gateway had it, the browser could not know: the text stays, and to send it again changes nothing."""
    complaints.bears_breaks = True

    async def lose_the_answer(route: Route) -> None:
        await route.fetch()
        await route.abort()

    await page.route("**/chat/messages", lose_the_answer, times=1)
    await say(page, "only once")
    await expect(page.get_by_role("status")).to_have_text("The gateway did not answer; try again.")
    await expect(page.get_by_label("Message")).to_have_value("only once")
    await page.get_by_label("Message").press("Enter")
    await expect(page.get_by_label("Message")).to_have_value("")
    await say(page, "something else")
    await expect(answers(page)).to_have_count(2)
    assert await texts(said(page)) == ["only once", "something else"]


async def test_a_gateway_that_starts_anew_is_found_again(
    house: House, context: BrowserContext, complaints: Complaints
) -> None:
    """By an open page itself, with the conversation; what was written meanwhile is still there to be sent."""
    complaints.bears_breaks = True
    async with house.open():
        page = await opened(house, context, complaints)
        await page.get_by_label("Code").fill(await house.code())
        await page.get_by_label("Code").press("Enter")
        await say(page, "first")
        await expect(answers(page)).to_have_count(1)
    house.way.drop()
    await expect(page.get_by_role("status")).not_to_be_empty()
    await say(page, "to nobody")
    await expect(page.get_by_role("status")).to_have_text("The gateway did not answer; try again.")
    async with house.open():
        await expect(page.get_by_role("status")).to_be_empty()
        await expect(answers(page)).to_have_count(1)
        await page.get_by_label("Message").press("Enter")
        await expect(answers(page)).to_have_count(2)
        assert await texts(said(page)) == ["first", "to nobody"]


async def test_what_is_said_elsewhere_appears(house: House, page: Page) -> None:
    """The owner's conversation is one, wherever it goes on."""
    await house.say_at_the_terminal("from the terminal")
    await expect(answers(page)).to_have_count(1)
    assert await texts(said(page)) == ["from the terminal"]


async def test_a_button_says_its_command_once(gateway: App, page: Page) -> None:
    """As if it were typed; then it can be pressed no more."""
    await say(page, "hello")
    await expect(answers(page)).to_have_count(1)
    adapter = gateway.parts.resources.channels.adapters.loaded["web", "main"]
    buttons = (Button("Who <b>am</b> I?", "/whoami"), Button("Refuse", "/refuse"))
    await adapter.send(OutboundMessage(Address("web", "main", "owner"), Body("Shall I?"), "k.0", buttons=buttons))
    button = answers(page).get_by_role("button", name="Who <b>am</b> I?")
    await button.focus()
    await photograph(page, "buttons")
    await page.keyboard.press("Enter")
    await expect(answers(page)).to_have_count(3)
    assert await texts(said(page)) == ["hello", "/whoami"]
    await expect(answers(page).nth(2)).to_contain_text("owner")
    await expect(button).to_be_disabled()
    await expect(answers(page).get_by_role("button", name="Refuse")).to_be_disabled()


async def test_a_narrow_screen_scrolls_one_way_only(house: House, page: Page) -> None:
    """At 360 pixels whatever is wide scrolls within itself, and everything is within reach."""
    await page.set_viewport_size({"width": 360, "height": 640})
    house.model.says = [WIDE]
    await say(page, f"a-long-word-{'x' * 300}")
    await expect(answers(page)).to_have_count(1)
    await photograph(page, "narrow")
    widths = await page.evaluate("[document.scrollingElement.scrollWidth, document.querySelector('#talk').scrollWidth]")
    assert max(widths) <= 360
    buttons = [page.get_by_role("button", name=name) for name in ("work", "Sign out", "Send")]
    for control in (*buttons, page.get_by_label("Message")):
        box = await control.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 360
        assert box["y"] + box["height"] <= 640


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_day_and_night_can_be_read(house: House, page: Page, scheme: str) -> None:
    """Text stands out from what is behind it by 4.5 to 1 at least (WCAG AA), and night is dark."""
    await page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    house.model.says = ["An answer with a [link](https://example.org), `code` and\n\n> a quotation"]
    await say(page, "hello")
    await expect(answers(page)).to_have_count(1)
    await photograph(page, scheme)
    pairs = await page.locator(READ).evaluate_all(COLOURS)
    assert len(pairs) > 8
    for name, ink, resources in pairs:
        assert contrast(ink, resources) >= 4.5, (name, ink, resources)
    resources = await page.locator("body").evaluate("e => getComputedStyle(e).backgroundColor")
    assert (luminance(rgb(resources)) < 0.1) is (scheme == "dark")


async def test_a_keyboard_is_enough(
    house: House, gateway: App, context: BrowserContext, complaints: Complaints
) -> None:
    """To sign in, say something over two lines, change the agent, and sign out; where one is can be seen."""
    page = await opened(house, context, complaints)
    await expect(page.get_by_label("Code")).to_be_focused()
    await page.keyboard.type(await house.code())
    await page.keyboard.press("Enter")
    await expect(page.get_by_label("Message")).to_be_focused()
    await page.keyboard.type("one")
    await page.keyboard.press("Shift+Enter")
    await page.keyboard.type("two")
    await page.keyboard.press("Enter")
    await expect(answers(page)).to_have_count(1)
    assert await texts(said(page)) == ["one\ntwo"]
    await page.keyboard.press("Tab")
    await expect(page.get_by_role("button", name="Send")).to_be_focused()
    for name in ("Message", "Attach files", "Why?", "Copy", "Conversation", "New conversation", "Sign out"):
        await page.keyboard.press("Shift+Tab")
        focused = await page.locator(":focus").evaluate("e => e.getAttribute('aria-label') || e.textContent")
        assert focused == name
    await page.keyboard.press("Shift+Tab")
    await expect(page.get_by_role("button", name="work")).to_be_focused()
    outline = await page.locator(":focus").evaluate("e => getComputedStyle(e).outlineStyle")
    assert outline == "solid"
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="work")).to_be_visible()
    await expect(said(page)).to_have_count(0)
    for _ in range(4):
        await page.keyboard.press("Shift+Tab")
    await page.keyboard.press("Enter")
    await expect(page.get_by_label("Code")).to_be_focused()


TABLE = (
    "Prices:\n\n| what | price |\n|:----|------:|\n| rope | 12 |\n\n1. **soak** it\n2. hang it\n\n" + "and rest. " * 40
)


async def test_a_growing_answer_is_formatted_and_its_table_keeps_its_columns(
    house: House, page: Page, complaints: Complaints
) -> None:
    """What is read while it is written is what stands there afterwards; the browser has nothing to complain about."""
    house.model.says = [TABLE]
    with house.model.held():
        await say(page, "prices?")
        await expect(page.locator("article.draft td")).to_have_text(["rope", "12"])
        await expect(page.locator("article.draft strong")).to_have_text("soak")
        await photograph(page, "draft-formatted")
    await expect(answers(page).locator("td").nth(1)).to_have_css("text-align", "right")
    await expect(answers(page).locator("td").nth(0)).to_have_css("text-align", "left")
    assert complaints.said == []


async def test_a_message_that_waits_for_the_model_is_there_after_a_reload(house: House, page: Page) -> None:
    """It is marked as waiting, by a page that was not there when it was sent too, and is answered in the end."""
    with house.model.held(at_once=True):
        await say(page, "first")
        await say(page, "second")
        await expect(said(page)).to_have_count(2)
        await page.reload()
        await expect(said(page)).to_have_count(2)
        await expect(page.locator("article.waits")).to_contain_text(["second"])
        await photograph(page, "waiting")
    await expect(answers(page)).not_to_have_count(0)
    await expect(page.locator("article.waits")).to_have_count(0)


async def test_what_is_typed_while_a_message_is_sent_stays(house: House, page: Page) -> None:
    """The box is emptied of the message that was sent, and of nothing else."""
    may_go = asyncio.Event()

    async def slowly(route: Route) -> None:
        await may_go.wait()
        await route.continue_()

    await page.route("**/chat/messages", slowly)
    async with page.expect_response("**/chat/messages"):
        await say(page, "first")
        await page.get_by_label("Message").fill("second")
        may_go.set()
    await expect(answers(page)).to_have_count(1)
    await expect(page.get_by_label("Message")).to_have_value("second")


async def test_an_answer_is_stopped_and_a_conversation_ended_with_a_button(house: House, page: Page) -> None:
    """As with the commands, which are offered while they are typed."""
    with house.model.held():
        await say(page, "a long story")
        await page.get_by_role("button", name="Stop").click()
        await expect(answers(page)).to_contain_text(["Stopped."])
    await expect(page.get_by_role("button", name="Stop")).to_be_hidden()
    await page.get_by_role("button", name="New conversation").click()
    await expect(answers(page)).to_have_count(2)
    await page.get_by_label("Message").fill("/he")
    await expect(page.locator("#menu b")).to_contain_text(["/help", "/heartbeat"])
    await photograph(page, "menu")
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Enter")
    await expect(page.get_by_label("Message")).not_to_have_value("/he")


async def test_buttons_and_the_memories_in_view_are_there_after_a_reload(house: House, page: Page) -> None:
    """What was noted can be undone, and where an answer came from can be looked up, later too."""
    await say(page, "remember that the cabin wifi is trout-77")
    await expect(answers(page)).to_have_count(1)
    names = await answers(page).get_by_role("button").all_inner_texts()
    await page.reload()
    await expect(answers(page)).to_have_count(1)
    assert await answers(page).get_by_role("button").all_inner_texts() == names
    assert len(names) > 1, names


async def test_a_message_is_taken_as_soon_as_it_can_be_typed(page: Page) -> None:
    """Also while the list of commands is still on its way."""
    listed = asyncio.Event()

    async def late(route: Route) -> None:
        """Let the list come after the message."""
        await listed.wait()
        await route.continue_()

    await page.route("**/chat/commands", late)
    await page.reload()
    await page.get_by_label("Message").wait_for()
    await say(page, "remember that the cabin wifi is trout-77")
    await expect(answers(page)).to_have_count(1)
    listed.set()


READ = "#who, article.said, article.answer p, article a, article code, article blockquote p, time, #text, aside button"
COLOURS = """elements => elements.map(e => {
  let under = e;
  const of = (each) => getComputedStyle(each).backgroundColor;
  while (under.parentElement && of(under) === "rgba(0, 0, 0, 0)") under = under.parentElement;
  return [e.outerHTML.slice(0, 60), getComputedStyle(e).color, of(under)];
})"""


def rgb(colour: str) -> tuple[float, float, float]:
    """Return a browser's `rgb(…)` as fractions."""
    red, green, blue = (int(part) / 255 for part in colour.removeprefix("rgb(").removesuffix(")").split(","))
    return red, green, blue


def luminance(colour: tuple[float, float, float]) -> float:
    """Return how bright it is: https://www.w3.org/TR/WCAG21/#dfn-relative-luminance."""
    parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(one: str, other: str) -> float:
    """Return their ratio, from 1 to 21: https://www.w3.org/TR/WCAG21/#dfn-contrast-ratio."""
    darker, lighter = sorted((luminance(rgb(one)), luminance(rgb(other))))
    return (lighter + 0.05) / (darker + 0.05)
