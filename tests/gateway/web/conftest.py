"""Fixtures of the web tests: a gateway with an open page, and a signed-in browser."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.gateway.web.browsing import Browser, a_code, browser_at, echo
from tests.gateway.web.house import House, open_house


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with open_house(tmp_path, echo) as house:
        yield house


@pytest.fixture
async def browser(house: House) -> AsyncIterator[Browser]:
    """Somebody who is signed in."""
    async with browser_at(house.address) as browser:
        assert (await browser.sign_in(await a_code(house))).status_code == 204
        yield browser
