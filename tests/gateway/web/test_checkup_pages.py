"""The view of a check-up: figures, proposals and decisions, as the command line has them."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.gateway.web.browsing import Browser, echo
from tests.gateway.web.house import House, open_house
from workspaces.access import AgentId

CHECKUP = "/agents/main/memory/checkup"
NOTES = "# Notes\n\n- The cat is called Miso.\n- <b>Ann</b> has the key.\n- the cat is called Miso\n"


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with open_house(tmp_path, echo) as house:
        memory(house).write_text(NOTES, "utf-8")
        yield house


def memory(house: House) -> Path:
    return house.app.parts.resources.agents[AgentId("main")].workspace.folder.root / "MEMORY.md"


async def decide(browser: Browser, **form: str) -> str:
    """Send the form of the view, and return the view that follows."""
    response = await browser.http.post(CHECKUP, data={"csrf": browser.csrf, **form}, headers=browser.origin)
    return (await browser.http.get(response.headers["location"])).text if response.is_redirect else response.text


def mark_in(view: str) -> str:
    return view.partition('name="mark" value="')[2].partition('"')[0]


async def test_a_check_up_is_begun_and_shows_scores_and_the_trend(house: House, browser: Browser) -> None:
    """Before the first one nothing but how to begin; the junk is the share of the notes that should change."""
    assert "No check-up yet." in (await browser.http.get(CHECKUP)).text
    first = await decide(browser, act="check")
    assert "3 notes" in first
    assert "33.3 % of the notes should change" in first
    assert "A second check-up shows the trend." in first
    assert "&lt;b&gt;Ann&lt;/b&gt;" in first
    assert memory(house).read_text("utf-8") == NOTES
    memory(house).write_text(NOTES.replace("- the cat is called Miso\n", ""), "utf-8")
    second = await decide(browser, act="check")
    assert "0.0 % of the notes should change" in second
    assert "33.3 %</title>" in second
    assert "Nothing waits for a decision." in second
    for part in ("stable", "specific", "confirmed", "recent", "used"):
        assert f"<dt>{part}</dt>" in second


async def test_a_proposal_is_accepted_reworded_refused_and_undone(house: House, browser: Browser) -> None:
    """Each decision does what the command line's does; one that is made already is refused in words."""
    mark = mark_in(await decide(browser, act="check"))
    await decide(browser, act="accept", mark=mark)
    assert memory(house).read_text("utf-8").count("Miso") == 1
    assert "accepted already" in await decide(browser, act="accept", mark=mark)
    await decide(browser, act="undo", mark=mark)
    await decide(browser, act="edit", mark=mark, text="Miso naps.")
    assert memory(house).read_text("utf-8").endswith("- Miso naps.\n")
    await decide(browser, act="undo", mark=mark)
    assert memory(house).read_text("utf-8") == NOTES
    refused = await decide(browser, act="refuse", mark=mark)
    assert "refused: double" in refused
    assert "Nothing waits for a decision." in refused


@pytest.mark.parametrize("form", [{}, {"act": "burn"}, {"act": "accept"}, {"act": "accept", "mark": "<b>"}])
async def test_what_the_view_does_not_offer_is_refused(browser: Browser, form: dict[str, str]) -> None:
    """With a sentence, as text."""
    response = await browser.http.post(CHECKUP, data={"csrf": browser.csrf, **form}, headers=browser.origin)
    assert response.status_code == 400
    assert "<b>" not in response.text
