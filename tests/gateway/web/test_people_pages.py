"""The views of people and rooms: who asks, who is a guest, which groups answer, and who got no answer."""

import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import httpx2
import pytest

from adapters.channel import Address, ChatKind, InboundMessage, Sender
from gateway.channels.telegram import TelegramSettings
from gateway.config import read_config
from gateway.delivery.group_requests import KEY
from gateway.stores.admission import Silence
from tests.fakes.botapi import BotApi
from tests.gateway.web.browsing import Browser, a_code, browser_at, echo
from tests.gateway.web.house import House, open_house
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
    house: House

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
        yield Visit(browser, bot, house)


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


async def test_people_and_rooms_have_the_names_that_they_chose(visit: Visit) -> None:
    """Beside their numbers, as text, on every view that shows these; the latest name counts."""
    for name, person in (("Old <b>", "Mia"), ("Rowing <b>", "Mia <i>")):
        await visit.house.app.parts.reception.receive(
            InboundMessage(
                Address("telegram", "home", str(GROUP)),
                id=name,
                sender=Sender("5", person),
                kind=ChatKind.GROUP,
                text="hello",
                is_for_us=True,
                sent_at=datetime.now(UTC),
                chat_name=name,
            )
        )
    silences = visit.house.app.parts.resources.home.store.silences
    await silences.record(
        Silence(datetime.now(UTC), Address("telegram", "home", str(GROUP)), "telegram:5", "not_for_us")
    )
    rooms = await visit.look("/people/rooms")
    assert "Rowing &lt;b&gt;" in rooms
    assert "Mia &lt;i&gt;" in rooms
    assert "Old" not in rooms
    unanswered = await visit.look("/people/silences")
    assert ("Rowing &lt;b&gt;" in unanswered, "Mia &lt;i&gt;" in unanswered) == (True, True)
    assert f"Group Rowing &lt;b&gt; ({GROUP}) at home" in await visit.look("/settings")


async def test_an_unanswered_message_has_its_reason_and_a_way_in(visit: Visit) -> None:
    """No word of it is kept."""
    visit.bot.says(EVE, "a secret question")
    await visit.bot.wait_for_sent(1)
    page = await visit.look("/people/silences")
    assert '<span class="tag">unpaired</span>' in page
    assert "a secret question" not in page
    assert 'name="whom" value="telegram:99"' in page
    assert "Every message was answered." in await visit.look("/people/silences", chat="1")


async def test_a_group_that_asks_is_allowed_only_after_a_second_word(visit: Visit) -> None:
    """From the ledger of silences as well; it is then in the configuration. One that is kept closed asks no more."""
    home = visit.house.app.parts.resources.home
    await home.store.put(KEY, json.dumps([["telegram.home.-7", "Rowing <b>", False], ["telegram.home.-8", "", False]]))
    await home.store.silences.record(
        Silence(datetime.now(UTC), Address("telegram", "home", "-7"), "telegram:9", "group_not_allowed")
    )
    assert "Rowing &lt;b&gt;" in await visit.look("/people")
    assert 'value="telegram.home.-7"' in await visit.look("/people/silences")
    assert (await visit.decide(act="allow", whom="telegram.home.-7")).status_code == 400
    assert "Rowing &lt;b&gt;" in (await visit.decide(act="allow", whom="telegram.home.-7", sure="yes")).text
    assert "-7" in read_config(home.files.config_file).channels.of(TelegramSettings)["home"].groups
    assert "kept closed" in (await visit.decide(act="close", whom="telegram.home.-8")).text
    assert (await visit.decide(act="allow", whom="telegram.home.-9", sure="yes")).status_code == 400


@pytest.mark.parametrize(
    ("reason", "key"),
    [
        ("not_for_us", f"channels.telegram.home.groups.{GROUP}.mention"),
        ("person_not_allowed", f"channels.telegram.home.groups.{GROUP}.people"),
        ("stranger", "channels.telegram.home.direct"),
    ],
)
async def test_a_silence_leads_to_the_setting_that_made_it(visit: Visit, reason: str, key: str) -> None:
    """The setting is on the page, where it needs its second word; the route can be asked with the same facts."""
    silences = visit.house.app.parts.resources.home.store.silences
    await silences.record(Silence(datetime.now(UTC), Address("telegram", "home", str(GROUP)), "telegram:9", reason))
    page = await visit.look("/people/silences")
    assert f'href="/settings#{key}"' in page
    assert f'id="{key}"' in await visit.look("/settings")
    (route,) = re.findall(r'href="(/people/rooms[^"]*)#route"', page)
    assert "Agent main" in (explained := await visit.browser.http.get(route.replace("&amp;", "&"))).text
    assert (reason == "stranger") == ("session <code>guest" in explained.text)
