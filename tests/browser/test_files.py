"""Photos and files that are sent from the page."""

from pathlib import Path

from playwright.async_api import FilePayload, Page, expect

from gateway.app.app import App
from tests.browser.conftest import PATIENCE_MS, House
from tests.browser.test_page import answers, photograph, said, say
from tests.browser.test_views import workspace

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
