"""The page for somebody who leaves it and comes back: another view, a reload, a restart, another day."""

from datetime import UTC, datetime

from playwright.async_api import BrowserContext, Page, Route, expect

from adapters.channel import Address, Body, OutboundMessage
from gateway.admission.routing import SessionKey
from gateway.agent.entries import ReplyEntry, Usage, UserEntry
from gateway.app.app import App
from gateway.stores.rows import TurnId
from tests.browser.conftest import PATIENCE_MS, Complaints, House, opened
from tests.browser.test_page import answers, photograph, said, say, texts
from workspaces.access import AgentId, SessionType

expect.set_options(timeout=PATIENCE_MS)


async def test_a_tab_stays_with_its_agent(house: House, page: Page) -> None:
    """A reload, or a way through the memory, leads back to the agent whose chat or memory was read: a message that is
    written without looking goes to no other.
    """
    who = page.locator("#who")
    await page.get_by_role("button", name="work").click()
    await page.reload()
    await expect(who).to_have_text("work")
    for view in ("Memory", "People"):
        await page.get_by_role("link", name=view).click()
        await page.get_by_role("link", name="Chat", exact=True).click()
        await expect(who).to_have_text("work")
    await page.get_by_role("link", name="Memory").click()
    await page.get_by_role("navigation", name="Agents").get_by_role("link", name="main").click()
    await page.get_by_role("link", name="Chat", exact=True).click()
    await expect(who).to_have_text("main")
    assert page.url == f"{house.way.url}/"


async def test_a_proxy_whose_gateway_starts_anew_signs_nobody_out(
    house: House, page: Page, complaints: Complaints
) -> None:
    """Its own error page is no answer: the text stays with a word, and the page connects again by itself."""
    complaints.bears_breaks = True
    is_up = False

    async def proxy(route: Route) -> None:
        if is_up:
            await route.continue_()
        else:
            await route.fulfill(status=503, body="<html>Bad gateway</html>", content_type="text/html")

    await page.route("**/chat/**", proxy)
    await say(page, "through the proxy")
    await expect(page.get_by_role("status")).to_have_text("The gateway did not answer; try again.")
    async with page.expect_response("**/chat/me"):
        house.way.drop()
    await expect(page.get_by_role("status")).to_have_text("connecting…")
    await expect(page.get_by_label("Message")).to_be_visible()
    is_up = True
    await expect(page.get_by_role("status")).to_be_empty()
    await page.get_by_label("Message").press("Enter")
    await expect(answers(page)).to_have_count(1)
    assert await texts(said(page)) == ["through the proxy"]


async def test_what_could_not_be_copied_is_not_said_to_be(page: Page) -> None:
    """Without TLS, at another machine's address, a browser has no clipboard API: the older way copies, or the button
    says that nothing was copied.
    """
    await page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    await page.evaluate("addEventListener('copy', () => { window.copied = String(document.activeElement.value); })")
    await say(page, "hello")
    copy = answers(page).get_by_role("button").first
    await copy.click()
    await expect(copy).to_have_text("Copied")
    assert await page.evaluate("window.copied") == "You said: hello"
    await expect(copy).to_be_focused()
    await page.evaluate("document.execCommand = () => false")
    await copy.click()
    await expect(copy).to_have_text("Not copied")


LONG = "\n\n".join(f"Paragraph {number}." for number in range(60))
SCROLLED = "document.getElementById('talk').scrollTop"


async def test_a_reader_of_earlier_messages_is_left_there_and_told_of_new_ones(house: House, page: Page) -> None:
    """What comes meanwhile, from another channel too, moves nothing; a button leads to it."""
    house.model.says = [LONG, LONG]
    await say(page, "a long one")
    await expect(answers(page)).to_have_count(1)
    await page.evaluate(f"{SCROLLED} = 120")
    await house.say_at_the_terminal("from the terminal")
    await expect(answers(page)).to_have_count(2)
    assert await page.evaluate(SCROLLED) == 120
    newest = page.get_by_role("button", name="New messages")
    await newest.click()
    await expect(newest).to_be_hidden()
    await page.evaluate(f"{SCROLLED} = 120")
    await say(page, "what I write myself is at the end")
    await expect(answers(page).nth(2)).to_be_in_viewport()


async def test_a_reader_stays_in_place_when_the_gateway_starts_anew(
    house: House, context: BrowserContext, complaints: Complaints
) -> None:
    """The conversation is drawn again around the line that is being read."""
    complaints.bears_breaks = True
    async with house.open():
        page = await opened(house, context, complaints)
        await page.get_by_label("Code").fill(await house.code())
        await page.get_by_label("Code").press("Enter")
        house.model.says = [LONG]
        await say(page, "a long one")
        await expect(answers(page)).to_have_count(1)
        await page.evaluate(f"{SCROLLED} = 120")
        await page.evaluate("document.querySelector('article').classList.add('old')")
    house.way.drop()
    await expect(page.get_by_role("status")).not_to_be_empty()
    async with house.open():
        await expect(page.locator("article.old")).to_have_count(0)
        await expect(answers(page)).to_have_count(1)
        assert await page.evaluate(SCROLLED) == 120


async def test_the_title_counts_what_came_while_nobody_looked(gateway: App, page: Page) -> None:
    """A reminder in a tab behind others is seen in its title, until the tab is looked at."""
    hide = "is => { Object.defineProperty(document, 'hidden', { value: is, configurable: true }); }"
    turn = "() => document.dispatchEvent(new Event('visibilitychange'))"
    await page.evaluate(hide, True)
    adapter = gateway.parts.resources.channels.adapters.loaded["web", "main"]
    address = Address("web", "main", "owner")
    await adapter.send(OutboundMessage(address, Body("Reminder: water the plants"), "k.0"))
    await expect(page).to_have_title("(1) main · Strandline")
    await page.evaluate(hide, False)
    await page.evaluate(turn)
    await expect(page).to_have_title("main · Strandline")


async def test_the_title_counts_what_came_while_the_gateway_started_anew(
    house: House, context: BrowserContext, complaints: Complaints
) -> None:
    """The conversation is drawn again, and what is new in it counts: all else was seen."""
    complaints.bears_breaks = True
    async with house.open():
        page = await opened(house, context, complaints)
        await page.get_by_label("Code").fill(await house.code())
        await page.get_by_label("Code").press("Enter")
        await say(page, "seen")
        await expect(answers(page)).to_have_count(1)
        await page.evaluate("Object.defineProperty(document, 'hidden', { value: true })")
    house.way.drop()
    async with house.open():
        port, house.way.target = house.way.target, None
        house.way.drop()
        await house.say_at_the_terminal("not seen")
        house.way.target = port
        await expect(answers(page)).to_have_count(2)
        await expect(page).to_have_title("(1) main · Strandline")


async def test_an_agent_whose_answer_waits_is_marked(house: House, page: Page) -> None:
    """At its name and in the title, also after a reload, until its chat is opened."""
    with house.model.held():
        await say(page, "a long question")
        await page.get_by_role("button", name="work").click()
        await expect(page.locator("#who")).to_have_text("work")
    unread = page.get_by_role("button", name="main, unread messages", exact=True)
    await expect(unread).to_be_visible()
    await expect(page).to_have_title("(1) work · Strandline")
    await photograph(page, "unread")
    await page.reload()
    await unread.click()
    await expect(answers(page)).to_have_count(1)
    await expect(unread).to_have_count(0)
    await expect(page).to_have_title("main · Strandline")


ARABIC = "\u0645\u0631\u062d\u0628\u0627"
PLACE = """e => {
  const words = document.createRange();
  words.selectNodeContents(e.firstChild.nodeType === Node.TEXT_NODE ? e.firstChild : e);
  const [text, box] = [words.getClientRects()[0], e.getBoundingClientRect()];
  return text.left - box.left > box.right - text.right ? "right" : "left";
}"""
"""The side of its paragraph that a text stands at."""


async def test_a_language_written_from_the_right_begins_there(house: House, page: Page) -> None:
    """In a message, in each paragraph, list and cell of an answer, and while it is typed; code and other paragraphs
    stay as they are.
    """
    row = "| a column wide enough | another wide column |\n|---|--:|\n"
    house.model.says = [f"{ARABIC} (12).\n\nEnglish.\n\n- {ARABIC} one\n\n{row}| {ARABIC} | 12 |"]
    message = page.get_by_label("Message")
    await message.fill(f"{ARABIC}, {ARABIC}!")
    assert await message.evaluate("e => getComputedStyle(e).direction") == "rtl"
    await say(page, f"{ARABIC}, {ARABIC}!\n{'a long line ' * 4}")
    await expect(answers(page)).to_have_count(1)
    assert await said(page).evaluate(PLACE) == "right"
    places = [await each.evaluate(PLACE) for each in await answers(page).locator("p, li, td").all()]
    assert places == ["right", "left", "right", "right", "right"]


async def test_what_was_said_before_the_end_that_is_shown_can_be_read(gateway: App, page: Page) -> None:
    """The chat shows the end of a long conversation, and leads to the whole."""
    earlier = page.get_by_role("link", name="Earlier messages")
    await expect(earlier).to_have_count(0)
    transcript = await gateway.parts.resources.sessions.open(SessionKey(AgentId("main"), SessionType.MAIN))
    for number in range(40):
        turn, text = TurnId(f"t{number}"), f"The boat, part {number}."
        await transcript.append(turn, UserEntry(text, datetime.now(UTC), text, f"m{number}"))
        await transcript.append(turn, ReplyEntry(f"Noted {number}.", (), "stub", Usage()))
    await page.reload()
    await expect(answers(page)).to_have_count(30)
    await earlier.click()
    await expect(page.get_by_text("The boat, part 0.", exact=True)).to_be_visible()


async def test_a_note_that_could_not_be_saved_is_given_back(
    house: House, context: BrowserContext, page: Page, complaints: Complaints
) -> None:
    """The browser was signed out meanwhile, or signed in anew in another tab: what was written can be copied."""
    text = "# Long-term memory\n\n- what took me an hour <b>\n"
    for is_signed_in_anew in (False, True):
        await page.goto(f"{house.way.url}/agents/main/memory/edit?path=MEMORY.md")
        await page.get_by_label("MEMORY.md").fill(text)
        await context.clear_cookies()
        code = await house.code()
        if is_signed_in_anew:
            other = await opened(house, context, complaints)
            await other.get_by_label("Code").fill(code)
            await other.get_by_label("Code").press("Enter")
            await other.get_by_label("Message").wait_for()
        await page.get_by_role("button", name="Save").click()
        await expect(page.get_by_label("Nothing was saved.")).to_have_value(text)
        await photograph(page, f"unsaved-{is_signed_in_anew}")
        await page.goto(f"{house.way.url}/#{code}")
        await page.get_by_label("Message").wait_for()
    assert ["403" in each for each in complaints.said] == [True]
    complaints.said.clear()


async def test_what_was_not_sent_is_still_there(house: House, context: BrowserContext, page: Page) -> None:
    """After a look at the memory or at another agent, whose message it is not, and after a sign-in that had ended;
    signing out leaves nothing.
    """
    message, refusal = page.get_by_label("Message"), page.get_by_role("alert")
    await message.fill("to main")
    await page.get_by_role("button", name="work").click()
    await expect(message).to_have_value("")
    await message.fill("to work")
    await page.get_by_role("link", name="Memory").click()
    await page.get_by_role("link", name="Chat", exact=True).click()
    await expect(message).to_have_value("to work")
    await context.clear_cookies()
    await message.press("Enter")
    await expect(refusal).to_contain_text("no longer signed in")
    await page.get_by_label("Code").fill(await house.code())
    await page.get_by_label("Code").press("Enter")
    await expect(page.get_by_label("Code")).to_be_hidden()
    await message.press("Enter")
    await expect(answers(page)).to_have_count(1)
    assert await texts(said(page)) == ["to work"]
    await page.reload()
    await expect(answers(page)).to_have_count(1)
    await expect(message).to_have_value("")
    await page.get_by_role("button", name="main").click()
    await expect(message).to_have_value("to main")
    await page.get_by_role("button", name="Sign out").click()
    await expect(page.get_by_label("Code")).to_be_visible()
    await expect(refusal).to_be_empty()
    assert await page.evaluate("sessionStorage.length") == 0
    assert await page.locator("#talk").inner_text() == ""


async def test_a_reload_in_the_middle_of_an_answer_shows_what_was_written_so_far(house: House, page: Page) -> None:
    """Also if the model pauses there; the whole answer follows."""
    house.model.says = ["The first half of what I have to say, and the second half."]
    with house.model.held():
        await say(page, "tell me")
        draft = page.locator("article.draft")
        await expect(draft).to_contain_text("The first half")
        await page.reload()
        await expect(draft).to_contain_text("The first half")
    await expect(answers(page)).to_have_count(1)
    await expect(draft).to_have_count(0)
