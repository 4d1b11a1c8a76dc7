"""The views of people and rooms: who asks, who is a guest, which groups answer, and who got no answer."""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

from tests.fakes.botapi import BotApi
from tests.gateway.web.browsing import Browser, a_code, browser_at, echo
from tests.gateway.web.house import open_house
from tests.journeys.house import GROUP

EVE = 99
EXTRA = """[channels.telegram.home]
token_env = "BOT_TOKEN"
base_url = "{url}"
direct = "pairing"
groups = {{ "{group}" = {{ mention = true, people = ["telegram:5"], heard = 10 }} }}
[web]
"""


@dataclass(frozen=True, slots=True)
class Visit:
    """A signed-in browser, and the platform beside it."""

    browser: Browser
    bot: BotApi

    async def look(self, path: str, **query: str) -> str:
        response = await self.browser.http.get(path, params=query)
        assert response.status_code == 200, response.text
        return response.text

    async def decide(self, **fields: str) -> httpx2.Response:
        shown = {"csrf": self.browser.csrf, **fields}
        return await self.browser.http.post(
            "/people/decide", data=shown, headers=self.browser.origin, follow_redirects=True
        )


@pytest.fixture
async def visit(tmp_path: Path) -> AsyncIterator[Visit]:
    async with (
        BotApi() as bot,
        open_house(tmp_path, echo, EXTRA.format(url=bot.url, group=GROUP)) as house,
        browser_at(house.address) as browser,
    ):
        await browser.sign_in(await a_code(house))
        yield Visit(browser, bot)


async def test_a_stranger_is_let_in_only_after_a_second_word_and_revoked(visit: Visit) -> None:
    """The name is shown as text; without the tick nobody is let in."""
    visit.bot.says(EVE, "hello?")
    await visit.bot.wait_for_sent(1)
    page = await visit.look("/people")
    code = re.findall(r'name="whom" value="([^"]+)"', page)[0]
    assert "telegram:99" in page
    assert (await visit.decide(act="approve", whom=code)).status_code == 400
    assert "telegram:99" not in (await visit.look("/people")).split("Guests")[1]
    told = await visit.decide(act="approve", whom=code, sure="yes")
    assert "telegram:99" in told.text.split("Guests")[1]
    assert "Nobody is waiting." in told.text
    told = await visit.decide(act="revoke", whom="telegram:99")
    assert "telegram:99" not in told.text.split("Guests")[1]
    assert (await visit.decide(act="revoke", whom="telegram:99")).status_code == 400


async def test_groups_are_shown_with_their_rules_and_a_route_is_explained(visit: Visit) -> None:
    """Also a refusal, with the reason and the remedy; a message that no chat could hold is refused in words."""
    page = await visit.look("/people/rooms")
    assert "Answers when mentioned or replied to" in page
    assert "<code>telegram:5</code>" in page
    assert "the last 10 messages" in page
    asked = {"channel": "telegram", "account": "home", "chat": str(GROUP), "mention": "yes"}
    assert "Admitted" in await visit.look("/people/rooms", **asked, person="5")
    refused = await visit.look("/people/rooms", **asked, person="6")
    assert ("Refused" in refused, "person_not_allowed" in refused) == (True, True)
    wrong = await visit.browser.http.get("/people/rooms?channel=telegram&account=home")
    assert (wrong.status_code, "name the chat" in wrong.text) == (400, True)


async def test_an_unanswered_message_has_its_reason_and_a_way_in(visit: Visit) -> None:
    """No word of it is kept."""
    visit.bot.says(EVE, "a secret question")
    await visit.bot.wait_for_sent(1)
    page = await visit.look("/people/silences")
    assert '<span class="tag">unpaired</span>' in page
    assert "a secret question" not in page
    assert 'name="whom" value="telegram:99"' in page
    assert "Every message was answered." in await visit.look("/people/silences", chat="1")
