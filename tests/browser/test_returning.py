"""The page for somebody who leaves it and comes back: another view, a reload, a restart, another day."""

from playwright.async_api import Page, expect

from tests.browser.conftest import PATIENCE_MS, House

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
