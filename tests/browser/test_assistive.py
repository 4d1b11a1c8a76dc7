"""The page for people who hear it, or who use no pointer."""

from playwright.async_api import Page, expect

from tests.browser.conftest import PATIENCE_MS, House
from tests.browser.test_page import WIDE, answers, say
from tests.browser.test_views import AXE, SCHEMES, faults

expect.set_options(timeout=PATIENCE_MS)


async def test_a_screen_reader_reads_each_new_message_once(house: House, page: Page) -> None:
    """Not the conversation at its start, nor a draft at each of its words; and it names who speaks."""
    log = page.get_by_role("log")
    await expect(log).to_have_attribute("aria-live", "off")
    with house.model.held():
        await say(page, "a long question")
        await expect(page.locator("article.draft")).to_contain_text("You said")
        await expect(page.locator("article.draft")).to_have_attribute("aria-live", "off")
        await expect(log).to_have_attribute("aria-live", "polite")
    await expect(page.get_by_role("article", name="You", exact=True)).to_contain_text("a long question")
    await expect(page.get_by_role("article", name="main", exact=True)).to_contain_text("You said")
    await page.reload()
    await expect(answers(page)).to_have_count(1)
    await expect(log).to_have_attribute("aria-live", "off")


async def test_what_scrolls_within_an_answer_is_scrolled_by_keys(house: House, page: Page) -> None:
    """A wide table and long code can be reached; a narrow one is no stop on the way."""
    house.model.says = [WIDE, "| one |\n|---|\n| two |\n\n```\nshort\n```"]
    await say(page, "wide")
    await say(page, "narrow")
    await expect(answers(page)).to_have_count(2)
    for tag in ("table", "pre"):
        await expect(answers(page).nth(0).locator(tag)).to_have_attribute("tabindex", "0")
        await expect(answers(page).nth(1).locator(tag)).not_to_have_attribute("tabindex", "0")


async def test_the_chat_is_accessible(house: House, page: Page) -> None:
    """It has one main region, and axe finds nothing: with an answer that scrolls, with commands on offer, at night."""
    house.model.says = [WIDE]
    await say(page, "remember that the cabin wifi is trout-77")
    await expect(answers(page)).to_have_count(1)
    await expect(page.get_by_role("main")).to_have_count(1)
    await page.get_by_label("Message").fill("/")
    if AXE.exists():  # `make oracles` gets it
        await page.evaluate(AXE.read_text("utf-8"))
    for scheme in SCHEMES:
        await page.emulate_media(color_scheme=scheme)
        assert await faults(page, scheme) == []


async def test_a_command_is_chosen_by_arrow_keys(page: Page) -> None:
    """Down and up the list, and out of it at its upper end or by Escape, which closes it."""
    message, menu = page.get_by_label("Message"), page.locator("#menu")
    await message.fill("/he")
    await message.press("ArrowDown")
    await expect(menu.get_by_role("button").nth(0)).to_be_focused()
    await page.keyboard.press("ArrowDown")
    await expect(menu.get_by_role("button").nth(1)).to_be_focused()
    await page.keyboard.press("ArrowUp")
    await page.keyboard.press("ArrowUp")
    await expect(message).to_be_focused()
    await message.press("ArrowDown")
    await page.keyboard.press("Escape")
    await expect(menu).to_be_hidden()
    await expect(message).to_be_focused()
    await expect(message).to_have_value("/he")
