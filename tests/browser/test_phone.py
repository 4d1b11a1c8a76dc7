"""The page on a phone: a narrow screen, touched, with a keyboard that covers half of it."""

from playwright.async_api import Browser, Dialog, Page, expect

from gateway.app.app import App
from tests.browser.conftest import PATIENCE_MS, Complaints, House, in_one_loop, opened
from tests.browser.test_page import answers, photograph, said, texts
from tests.browser.test_views import VIEWS

expect.set_options(timeout=PATIENCE_MS)

TABLE = """| When | Where | What |
|---|---|---|
| 08:10 | Central station, platform 4 | Train to Lakeside, change at Oakfield |
"""
LONG = "\n\n".join(f"Paragraph {number}." for number in range(40))


@in_one_loop
async def phone(house: House, gateway: App, chromium: Browser, complaints: Complaints) -> Page:
    """The page, signed in."""
    context = await chromium.new_context(
        viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True, device_scale_factor=2
    )
    page = await opened(house, context, complaints)
    await page.get_by_label("Code").fill(await house.code())
    await page.get_by_role("button", name="Sign in").tap()
    await page.get_by_label("Message").wait_for()
    return page


async def send(phone: Page, text: str) -> None:
    await phone.get_by_label("Message").fill(text)
    await phone.get_by_role("button", name="Send").tap()


async def test_enter_begins_a_new_line(phone: Page) -> None:
    """An on-screen keyboard has no Shift+Enter: only the button sends."""
    await phone.get_by_label("Message").press_sequentially("one")
    await phone.keyboard.press("Enter")
    await phone.keyboard.type("two")
    await phone.get_by_role("button", name="Send").tap()
    await expect(answers(phone)).to_have_count(1)
    assert await texts(said(phone)) == ["one\ntwo"]


async def test_the_end_stays_in_sight_while_something_is_written(house: House, phone: Page) -> None:
    """Behind a text that grows, the commands on offer, and the keyboard; a reader of earlier text is left there."""
    house.model.says = [LONG]
    await send(phone, "a long one")
    await expect(answers(phone)).to_have_count(1)
    last = phone.get_by_text("Paragraph 39.")
    await phone.evaluate("toTheEnd()")
    await expect(last).to_be_in_viewport(ratio=1)
    for text in ("/", "one\n" * 8, "one"):
        await phone.get_by_label("Message").fill(text)
        await expect(last).to_be_in_viewport(ratio=1)
    await phone.set_viewport_size({"width": 390, "height": 480})
    await expect(last).to_be_in_viewport(ratio=1)
    await photograph(phone, "phone-writing")
    await phone.evaluate("document.getElementById('talk').scrollTop = 100")
    await phone.get_by_label("Message").fill("one\n" * 8)
    await phone.set_viewport_size({"width": 390, "height": 844})
    assert await phone.evaluate("document.getElementById('talk').scrollTop") == 100


async def test_to_choose_an_agent_opens_no_keyboard(phone: Page) -> None:
    """It would cover the conversation that is to be read."""
    await phone.get_by_role("button", name="work").tap()
    await expect(phone.locator("#who")).to_have_text("work")
    await expect(phone.get_by_label("Message")).not_to_be_focused()


async def test_a_table_breaks_no_word(house: House, phone: Page) -> None:
    """Its columns are as wide as their longest word; it scrolls within itself."""
    house.model.says = [TABLE]
    await send(phone, "the plan")
    await expect(answers(phone)).to_have_count(1)
    await photograph(phone, "phone-table")
    lines = "cells => cells.map(e => e.getClientRects().length && Math.round(e.clientHeight / 24.8))"
    heights = await phone.get_by_role("row").nth(0).get_by_role("columnheader").evaluate_all(lines)
    assert set(heights) == {1}


async def test_whatever_can_be_pressed_is_large_enough(house: House, phone: Page) -> None:
    """24 pixels on each side at least (WCAG 2.2, 2.5.8)."""
    await send(phone, "remember that the cabin wifi is trout-77")
    await expect(answers(phone)).to_have_count(1)
    await photograph(phone, "phone")
    small = "all => all.filter(e => e.checkVisibility() && e.getBoundingClientRect().height < 24).map(e => e.outerHTML)"
    assert await phone.locator("button, a, summary").evaluate_all(small) == []


async def test_no_field_is_zoomed_into(house: House, phone: Page) -> None:
    """An iPhone zooms into a field with letters of less than 16 pixels, and stays there."""
    small = "all => all.filter(e => parseFloat(getComputedStyle(e).fontSize) < 16).map(e => e.outerHTML)"
    for view in ("search", "edit", "rooms", "conversations", "settings"):
        await phone.goto(f"{house.way.url}{VIEWS[view]}")
        fields = phone.locator("input:not([type=checkbox], [type=hidden]), textarea, select")
        assert await fields.count(), view
        assert await fields.evaluate_all(small) == []


async def test_a_finger_that_slips_ends_nothing(house: House, phone: Page) -> None:
    """Signing out needs a new code, from the computer at home: a dialog asks before it, and before the end of a
    conversation; a view has no such button.
    """
    await send(phone, "hello")
    await expect(answers(phone)).to_have_count(1)
    asked: list[str] = []

    async def refuse(dialog: Dialog) -> None:
        asked.append(dialog.message)
        await dialog.dismiss()

    phone.on("dialog", refuse)
    new, out = phone.get_by_role("button", name="New conversation"), phone.get_by_role("button", name="Sign out")
    await new.tap()
    await out.tap()
    assert ["conversation" in each for each in asked] == [True, False]
    await phone.goto(f"{house.way.url}{VIEWS['memory']}")
    await expect(out).to_be_hidden()
    await phone.goto(house.way.url)
    await expect(answers(phone)).to_have_count(1)
    phone.remove_listener("dialog", refuse)
    phone.on("dialog", lambda dialog: dialog.accept())
    await new.tap()
    await expect(answers(phone)).to_have_count(2)
    await out.tap()
    await expect(phone.get_by_label("Code")).to_be_visible()
