"""The settings that people change on the page: checked, with comments kept, and nothing else."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

from tests.fakes.botapi import BotApi
from tests.gateway.web.browsing import Browser, a_code, browser_at, echo
from tests.gateway.web.house import House, open_house
from tests.gateway.web.test_people_pages import EXTRA
from tests.journeys.house import GROUP


@dataclass(frozen=True, slots=True)
class Desk:
    """A signed-in browser, and the file that it changes."""

    browser: Browser
    house: House

    @property
    def file(self) -> Path:
        return self.house.app.parts.resources.home.files.config_file

    async def save(self, key: str, value: str, **more: str) -> httpx2.Response:
        shown = {"csrf": self.browser.csrf, "key": key, "value": value, **more}
        return await self.browser.http.post("/settings", data=shown, headers=self.browser.origin, follow_redirects=True)


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    extra = "# how my agents live\n" + EXTRA
    async with (
        BotApi() as bot,
        open_house(tmp_path, echo, extra.format(url=bot.url, group=GROUP)) as house,
        browser_at(house.address) as browser,
    ):
        await browser.sign_in(await a_code(house))
        yield Desk(browser, house)


async def test_a_setting_is_saved_with_the_comments_of_the_file(desk: Desk) -> None:
    """As the command line does it; the new value is shown, also where it holds markup."""
    told = await desk.save("agents.main.heartbeat.active", "07:30-21:00")
    assert "Set agents.main.heartbeat.active to 07:30-21:00" in told.text
    assert 'value="07:30-21:00"' in told.text
    text = desk.file.read_text("utf-8")
    assert 'active = "07:30-21:00"' in text
    assert "# how my agents live" in text
    assert (await desk.save("agents.main.budget.money_a_day", "2.5")).status_code == 200
    assert "money_a_day = 2.5" in desk.file.read_text("utf-8")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("agents.main.model", "nobody"),
        ("agents.main.heartbeat.active", "noon"),
        ("agents.main.budget.tokens_a_day", "-1"),
        ("signs.receipts", "<b>"),
        ("signs.receipts", " "),
        ("web.allow_remote", "true"),
        ("owner.people", '["telegram:666"]'),
        ("channels.telegram.home.direct", "pairing"),
        (f"channels.telegram.home.groups.{GROUP}.mention", "false"),
        ("", ""),
    ],
)
async def test_nothing_wrong_and_nothing_else_is_written(desk: Desk, key: str, value: str) -> None:
    """A wrong value, a setting that is not on the page, and one that widens access without a second word."""
    before = desk.file.read_text("utf-8")
    told = await desk.save(key, value)
    assert (told.status_code, 'role="alert"' in told.text) == (400, True)
    assert desk.file.read_text("utf-8") == before


async def test_the_rules_of_a_group_are_changed_with_a_second_word(desk: Desk) -> None:
    """The tick beside the button."""
    key = f"channels.telegram.home.groups.{GROUP}.mention"
    assert (await desk.save(key, "false", sure="yes")).status_code == 200
    assert "mention = false" in desk.file.read_text("utf-8")
