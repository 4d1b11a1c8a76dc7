"""The sign that an answer is being written."""

import asyncio

import pytest

from adapters.channel import Address, ChannelUnavailableError
from gateway.conversation.presence import Presence
from tests.fakes.adapter import FakeAdapter

HOME = Address("fake", "home", "alice")


class Signing(FakeAdapter):
    """A channel that shows the sign, or fails to."""

    def __init__(self, *, fails: bool = False) -> None:
        super().__init__()
        self.fails = fails
        self.shown = asyncio.Event()

    async def show_typing(self, address: Address) -> None:
        self.shown.set()
        if self.fails:
            raise ChannelUnavailableError("gone")


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.conversation.presence.FIRST_AFTER_S", 0.0)


@pytest.mark.parametrize("fails", [False, True])
async def test_the_sign_shows_while_a_turn_runs_and_never_disturbs_it(fails: bool) -> None:
    """It ends with the turn; a platform that refuses it changes nothing."""
    adapter = Signing(fails=fails)
    async with asyncio.timeout(5), Presence({("fake", "home"): adapter}) as presence, presence.typing(HOME):
        await adapter.shown.wait()


async def test_a_failed_turn_fails_as_it_did_without_a_sign() -> None:
    """What the turn raises comes through as it is, in no group of exceptions."""
    async with asyncio.timeout(5), Presence({("fake", "home"): Signing()}) as presence:
        with pytest.raises(ZeroDivisionError):
            async with presence.typing(HOME):
                raise ZeroDivisionError


async def test_a_channel_without_a_sign_needs_none() -> None:
    """An ability that a channel lacks is not asked of it."""
    async with Presence({("fake", "home"): FakeAdapter()}) as presence, presence.typing(HOME):
        for _ in range(5):  # long enough for a sign to have been asked for
            await asyncio.sleep(0)
