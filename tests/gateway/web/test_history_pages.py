"""The views of an agent's history: what is found there, and the ways back, each shown before it is done."""

import re

from gateway.web.history_pages import sides
from tests.gateway.web.browsing import Browser
from tests.gateway.web.house import House
from tests.gateway.web.test_memory_pages import look, put, send, workspace
from workspaces.access import AgentId

FIRST = "# Notes\n\n- One.\n- Two.\n"
SECOND = "# Notes\n\n- One.\n- Two, reworded.\n"
THIRD = "# Notes\n\n- Zero.\n- One.\n- Two, reworded.\n"


async def write_past(house: House, path: str, *texts: str) -> None:
    """Write *texts*, each as an edit of its own in the owner's editor, after all that is there already."""
    writer = house.app.parts.resources.agents[AgentId("main")].history_writer
    await writer.catch_up()
    for text in texts:
        put(house, path, text)
        await writer.catch_up()


def revisions(page: str) -> list[str]:
    return re.findall(r"revision=([0-9a-f]{40})\"", page)


async def test_changes_are_listed_by_kind_and_found_by_their_words(house: House, browser: Browser) -> None:
    """A search finds the changes in which words came or went, and those that name a file."""
    await write_past(house, "MEMORY.md", FIRST, SECOND, THIRD)
    await write_past(house, "memory/2026-03-03.md", "# 2026-03-03\n\n- 10:00 A day.\n")
    await write_past(house, "TOOLS.md", "Tools.\n")
    assert len(revisions(await look(browser, "/history"))) == 6  # the templates are the first
    assert len(revisions(await look(browser, "/history", topic="memory"))) == 4
    assert len(revisions(await look(browser, "/history", topic="daily"))) == 1
    assert len(revisions(await look(browser, "/history", path="TOOLS.md"))) == 2
    memory = revisions(await look(browser, "/history", topic="memory"))
    assert revisions(await look(browser, "/history", q="reworded")) == [memory[1]]
    assert len(revisions(await look(browser, "/history", q="tools.MD"))) == 2
    assert "mentions these words" in await look(browser, "/history", q="--output=/tmp/x")


async def test_one_change_is_undone_after_its_preview_and_later_ones_stay(house: House, browser: Browser) -> None:
    """The preview writes nothing; undoing is a change of its own, which can be undone as well."""
    await write_past(house, "MEMORY.md", FIRST, SECOND, THIRD)
    change = revisions(await look(browser, "/history", topic="memory"))[1]
    shown = await look(browser, "/history/change", revision=change)
    assert '<li class="add"><code dir="auto">- Two, reworded.</code></li>' in shown
    assert '<td class="add">' in await look(browser, "/history/change", revision=change, view="side")
    preview = await look(browser, "/history/preview", act="revert", revision=change)
    assert '<li class="add"><code dir="auto">- Two.</code></li>' in preview
    assert "Zero" in preview  # around the change
    assert (workspace(house) / "MEMORY.md").read_text("utf-8") == THIRD
    told = await send(browser, "/history/restore", act="revert", revision=change)
    assert "Undone: MEMORY.md" in told.text
    assert "undo: memory: update MEMORY.md" in told.text
    assert (workspace(house) / "MEMORY.md").read_text("utf-8") == "# Notes\n\n- Zero.\n- One.\n- Two.\n"
    again = await send(browser, "/history/restore", act="revert", revision=revisions(told.text)[0])
    assert (workspace(house) / "MEMORY.md").read_text("utf-8") == THIRD, again.text


async def test_a_change_whose_lines_changed_since_is_not_undone(house: House, browser: Browser) -> None:
    """It says so in the preview already, and writes nothing."""
    await write_past(house, "MEMORY.md", FIRST, SECOND, SECOND.replace("reworded", "reworded twice"))
    change = revisions(await look(browser, "/history", topic="memory"))[1]
    response = await browser.http.get(f"/agents/main/history/preview?act=revert&revision={change}")
    assert (response.status_code, "it has changed there since" in response.text) == (400, True)
    assert (await send(browser, "/history/restore", act="revert", revision=change)).status_code == 400
    assert "reworded twice" in (workspace(house) / "MEMORY.md").read_text("utf-8")


async def test_a_file_is_restored_and_the_history_goes_out_as_one_file(house: House, browser: Browser) -> None:
    """The present text is kept as a version; a file that others read needs the owner's word."""
    await write_past(house, "MEMORY.md", FIRST, THIRD)
    first = revisions(await look(browser, "/history", topic="memory"))[1]
    fields = {"act": "restore", "revision": first, "path": "MEMORY.md"}
    assert "Zero" in await look(browser, "/history/preview", **fields)
    assert "is again as it was" in (await send(browser, "/history/restore", **fields)).text
    assert (workspace(house) / "MEMORY.md").read_text("utf-8") == FIRST
    shared = "memory/shared/telegram.home.-100/2026-03-03.md"
    await write_past(house, shared, "- 10:00 Before.\n", "- 10:00 After.\n")
    fields |= {"path": shared, "revision": revisions(await look(browser, "/history", path=shared))[1]}
    assert "required" in await look(browser, "/history/preview", **fields)
    assert (await send(browser, "/history/restore", **fields)).status_code == 400
    assert (await send(browser, "/history/restore", **fields, for_others="yes")).status_code == 200
    assert (workspace(house) / shared).read_text("utf-8") == "- 10:00 Before.\n"
    bundle = await send(browser, "/history/bundle")
    assert bundle.content.startswith(b"# v2 git bundle")
    assert "attachment" in bundle.headers["content-disposition"]


async def test_an_unknown_revision_or_act_is_refused_in_words(house: House, browser: Browser) -> None:
    """Whatever the address holds."""
    for query in ("change?revision=HEAD", "preview?act=gc&revision=0000000", "preview?act=revert&revision=0000000"):
        response = await browser.http.get(f"/agents/main/history/{query}")
        assert (response.status_code, 'role="alert"' in response.text) == (400, True)


def test_removed_and_added_lines_stand_beside_each_other() -> None:
    """Rows of a unified diff; a longer side leaves the other empty."""
    diff = "--- a\n+++ b\n@@ -1,3 +1,3 @@\n same\n-old\n+new\n+more\n end\n-gone"
    assert [*sides(diff)] == [
        ("hunk", "@@ -1,3 +1,3 @@", ""),
        ("same", "same", "same"),
        ("change", "old", "new"),
        ("change", "", "more"),
        ("same", "end", "end"),
        ("change", "gone", ""),
    ]
