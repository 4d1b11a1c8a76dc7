"""Photos and files that are sent from the page, and files that an agent sends to it."""

from pathlib import Path

from playwright.async_api import BrowserContext, FilePayload, Page, expect

from gateway.app.app import App
from tests.browser.conftest import PATIENCE_MS, Complaints, House, opened
from tests.browser.test_page import answers, photograph, said, say
from tests.browser.test_views import workspace
from tests.fakes.pictures import png
from tests.fakes.provider_stub import Reply, call

expect.set_options(timeout=PATIENCE_MS)

PAINTED = """() => new Promise((resolve) => {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [2400, 1200];
  const pen = canvas.getContext("2d"), dots = pen.createImageData(2400, 1200);
  for (let at = 0; at < dots.data.length; at += 1) dots.data[at] = at % 4 === 3 ? 255 : 120 + Math.random() * 4;
  pen.putImageData(dots, 0, 0);
  canvas.toBlob((blob) => {
    const given = new DataTransfer();
    given.items.add(new File([blob], "boat.png", { type: "image/png" }));
    document.getElementById("chosen").files = given.files;
    document.getElementById("chosen").dispatchEvent(new Event("change"));
    resolve(blob.size);
  });
})"""
"""Choose a photo as a phone takes it."""


def contents(folder: Path) -> dict[str, bytes]:
    """Return the stored files, by the names that their sender gave."""
    return {each.name.partition("-")[2]: each.read_bytes() for each in folder.iterdir()}


async def test_a_photo_and_a_file_are_sent_with_a_message(house: House, gateway: App, page: Page) -> None:
    """They are chosen, left out again, sent, and stored; a large photo is made small enough to be sent."""
    chosen = page.locator("#files button")
    async with page.expect_file_chooser() as choosing:
        await page.get_by_role("button", name="Attach files").click()
    files = [FilePayload(name=name, mimeType="text/plain", buffer=b"The plan.") for name in ("plan.txt", "other.txt")]
    await (await choosing.value).set_files(files)
    await page.get_by_role("button", name="Leave out other.txt").click()
    assert await page.evaluate(PAINTED) > 400_000
    await expect(chosen).to_have_count(2)
    await photograph(page, "files")
    await say(page, "look at these")
    await expect(said(page)).to_contain_text("[document: plan.txt]")
    await expect(answers(page)).to_have_count(1)
    await expect(chosen).to_have_count(0)
    stored = contents(workspace(gateway) / "attachments")
    assert stored.keys() == {"plan.txt", "boat.png"}
    assert stored["plan.txt"] == b"The plan."
    assert stored["boat.png"].startswith(b"\xff\xd8")
    await page.reload()
    await expect(said(page)).to_contain_text("plan.txt, text/plain, 9 bytes")
    await expect(said(page)).to_contain_text("[photo: ")


SENT = {
    "plans/trip.md": b"# The trip",
    "page.html": b"<script>document.title = 'stolen'</script>",
    "a boat.png": png(2, 2),
    "lease \u00e4.pdf": b"%PDF-1.7\xff",
}


async def test_files_of_an_agent_are_opened_or_saved(
    house: House, context: BrowserContext, complaints: Complaints
) -> None:
    """Below an answer that says nothing, too; after a reload and a restart, until the file is deleted. A text and a
    picture open in a tab of their own, as nothing else than that; any other file is saved.
    """
    complaints.bears_breaks = True
    async with house.open() as app:
        for name, content in SENT.items():
            (workspace(app) / name).parent.mkdir(exist_ok=True)
            (workspace(app) / name).write_bytes(content)
        page = await opened(house, context, complaints)
        await page.goto(f"{house.way.url}/#{await house.code()}")
        await page.reload()
        calls = [call("send_file", f"c{n}", path=name, caption=f"*No. {n}*") for n, name in enumerate(SENT)]
        house.model.says = [Reply(calls=(*calls[:2],)), "NO_REPLY", Reply(calls=(*calls[2:],)), "Here they are."]
        await say(page, "send me the trip")
        links = page.locator(".enclosed a")
        await expect(links).to_have_text(["trip.md", "page.html"])
        await say(page, "and the boat")
        await expect(links).to_have_count(4)
        await photograph(page, "enclosed")
        await page.reload()
        await expect(links).to_have_text(["trip.md", "page.html", "a boat.png", "lease \u00e4.pdf"])
        await expect(page.locator(".enclosed em")).to_have_text(["No. 0", "No. 1", "No. 2", "No. 3"])
    house.way.drop()
    async with house.open() as app:
        await page.reload()
        await expect(answers(page)).to_have_count(2)
        for number, shown in enumerate(["# The trip", SENT["page.html"].decode(), ""]):
            async with page.expect_popup() as opening:
                await links.nth(number).click()
            tab = await opening.value
            await expect(tab.locator("pre")).to_have_text([shown] if shown else [])
            assert await tab.title() != "stolen"
            assert await tab.locator("body > img").count() == (not shown)
            if shown:
                async with tab.expect_download() as saving:
                    await tab.get_by_role("link", name="Save").click()
                assert (await (await saving.value).path()).read_text() == shown
        async with page.expect_download() as saving:
            await links.nth(3).click()
        saved = await saving.value
        assert saved.suggested_filename == "lease \u00e4.pdf"
        assert (await saved.path()).read_bytes() == SENT["lease \u00e4.pdf"]
        (workspace(app) / "page.html").unlink()
        async with page.expect_popup() as opening:
            await links.nth(1).click()
        await expect((await opening.value).locator("main")).to_contain_text("page.html: there is no such file")
