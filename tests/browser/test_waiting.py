"""What waits for the owner's decision, in the page's chat."""

from playwright.async_api import BrowserContext, Page, expect

from tests.browser.conftest import PATIENCE_MS, Complaints, House, opened
from tests.browser.test_page import answers, photograph, say, texts
from tests.browser.test_views import workspace
from tests.fakes.provider_stub import Reply, call

expect.set_options(timeout=PATIENCE_MS)


def proposes(house: House, name: str) -> None:
    """Have the model propose a skill, which steers the agent."""
    arguments = {"path": f"skills/{name}/SKILL.md", "content": f"# {name}\n"}
    house.model.says = [Reply(calls=(call("write_file", **arguments),)), "I asked you."]


async def signed_in(house: House, context: BrowserContext, complaints: Complaints) -> Page:
    page = await opened(house, context, complaints)
    await page.get_by_label("Code").fill(await house.code())
    await page.get_by_label("Code").press("Enter")
    await page.get_by_label("Message").wait_for()
    return page


async def test_a_change_that_waits_is_decided_in_the_chat(
    house: House, context: BrowserContext, complaints: Complaints
) -> None:
    """Whatever chat it came from, once, after a reload and after a restart; once decided, its buttons are gone."""
    complaints.bears_breaks = True
    async with house.open():
        proposes(house, "calm")
        await house.say_at_the_terminal("be calm")
        page = await signed_in(house, context, complaints)
        requests = answers(page).filter(has_text="waits for your approval as")
        approve, refuse = (requests.get_by_role("button", name=name) for name in ("Approve", "Refuse"))
        await expect(approve).to_have_count(1)
        proposes(house, "angry")
        await say(page, "be angry")
        await expect(approve).to_have_count(2)
        await photograph(page, "approvals")
        await page.reload()
        await expect(approve).to_have_count(2)
    house.way.drop()
    async with house.open() as app:
        await expect(page.get_by_role("status")).to_be_empty()
        await page.reload()
        await expect(requests).to_have_count(2)
        await expect(requests.first).to_contain_text("+# calm")
        await expect(requests.get_by_role("link", name="Why?")).to_have_count(0)
        await approve.first.click()
        await expect(answers(page).last).to_contain_text("skills/calm/SKILL.md written, as approved in #1.")
        await refuse.last.click()
        await expect(answers(page).last).to_contain_text("#2 refused")
        assert (workspace(app) / "skills/calm/SKILL.md").read_text("utf-8") == "# calm\n"
        await page.reload()
        await expect(requests).to_have_count(2)
        await expect(approve).to_have_count(0)


async def test_what_an_answer_offers_is_offered_after_a_restart(
    house: House, context: BrowserContext, complaints: Complaints
) -> None:
    """Its buttons follow from the conversation: the one pressed does what it would have done before."""
    complaints.bears_breaks = True
    async with house.open():
        page = await signed_in(house, context, complaints)
        await say(page, "remember that the cabin wifi is trout-77")
        await expect(answers(page).get_by_role("button", name="Save it")).to_be_visible()
        before = await texts(answers(page))
    house.way.drop()
    async with house.open() as app:
        await expect(page.get_by_role("status")).to_be_empty()
        await page.reload()
        await expect(answers(page)).to_have_count(1)
        assert await texts(answers(page)) == before
        await page.get_by_role("button", name="Save it").click()
        await expect(answers(page)).to_have_count(2)
        assert "trout-77" in (workspace(app) / "MEMORY.md").read_text("utf-8")
        undo = answers(page).last.get_by_role("button", name="Undo")
        await expect(undo).to_be_visible()
    house.way.drop()
    async with house.open() as app:
        await expect(page.get_by_role("status")).to_be_empty()
        await page.reload()
        await undo.click()
        await expect(answers(page)).to_have_count(3)
        assert "trout-77" not in (workspace(app) / "MEMORY.md").read_text("utf-8")
