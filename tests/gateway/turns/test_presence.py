"""The signs that an answer is being written."""

import asyncio

import pytest
from msgspec import structs

from adapters.channel import Address, ChannelUnavailableError, InboundMessage, Via
from gateway.turns.presence import Presence, SignTimes
from strandline.testing.adapter import FakeAdapter, message
from tests.fakes.patience import PATIENCE_S

HOME = Address("fake", "home", "alice")
ASKED = message("Which colour?", id="7")


class Signing(FakeAdapter):
    """A channel that shows every sign, or fails to."""

    def __init__(self, *, fails: bool = False) -> None:
        super().__init__()
        self.fails = fails
        self.shown = asyncio.Event()
        self.drafts: asyncio.Queue[str] = asyncio.Queue()
        self.reactions: asyncio.Queue[tuple[str, str]] = asyncio.Queue()

    async def show_typing(self, address: Address) -> None:
        self.shown.set()
        self._may_fail()

    async def show_draft(self, address: Address, text: str) -> None:
        self.drafts.put_nowait(text)
        self._may_fail()

    async def react(self, address: Address, message_id: str, emoji: str) -> None:
        self.reactions.put_nowait((message_id, emoji))
        self._may_fail()

    def _may_fail(self) -> None:
        if self.fails:
            raise ChannelUnavailableError("gone")


AT_ONCE = SignTimes(first_after_s=0, draft_every_s=0)


def presence_of(adapter: FakeAdapter, reaction: str = "", times: SignTimes = AT_ONCE) -> Presence:
    return Presence({("fake", "home"): adapter}, reaction, times)


@pytest.mark.parametrize("fails", [False, True])
async def test_the_sign_shows_while_a_turn_runs_and_never_disturbs_it(fails: bool) -> None:
    """It ends with the turn; a platform that refuses it changes nothing."""
    adapter = Signing(fails=fails)
    async with asyncio.timeout(PATIENCE_S), presence_of(adapter) as presence, presence.answering(ASKED):
        await adapter.shown.wait()


async def test_a_failed_turn_fails_as_it_did_without_a_sign() -> None:
    """What the turn raises comes through as it is, in no group of exceptions."""
    async with asyncio.timeout(PATIENCE_S), presence_of(Signing(), "👀") as presence:
        with pytest.raises(ZeroDivisionError):
            async with presence.answering(ASKED):
                raise ZeroDivisionError


async def test_a_channel_without_a_sign_needs_none() -> None:
    """An ability that a channel lacks is not asked of it."""
    async with presence_of(FakeAdapter(), "👀") as presence, presence.answering(ASKED) as draft:
        await draft("Blue")
        for _ in range(5):  # long enough for a sign to have been asked for
            await asyncio.sleep(0)


@pytest.mark.parametrize("fails", [False, True])
async def test_a_channel_is_shown_the_draft_and_a_failure_disturbs_no_turn(fails: bool) -> None:
    """It gets the text so far; one that fails is not asked again in that turn."""
    adapter = Signing(fails=fails)
    async with asyncio.timeout(PATIENCE_S), presence_of(adapter) as presence, presence.answering(ASKED) as draft:
        await draft("It is")
        assert await adapter.drafts.get() == "It is"
        await draft(" blue")
        if not fails:
            assert await adapter.drafts.get() == "It is blue"


async def test_drafts_that_come_quickly_are_shown_together() -> None:
    """Between two drafts lies a while, and the next one is the newest."""
    adapter = Signing()
    presence = presence_of(adapter, times=structs.replace(AT_ONCE, draft_every_s=3600))
    async with asyncio.timeout(PATIENCE_S), presence, presence.answering(ASKED) as draft:
        await draft("a")
        await draft("b")
        assert await adapter.drafts.get() == "ab"
        await draft("c")
        for _ in range(5):  # long enough for a draft to have been shown
            await asyncio.sleep(0)
        assert adapter.drafts.empty()


async def test_an_answer_that_comes_soon_has_neither_sign_nor_draft() -> None:
    """Each would be a call of the platform; who follows along is told of every draft all the same."""
    adapter, heard = Signing(), list[str]()
    slow = structs.replace(AT_ONCE, first_after_s=3600)
    async with asyncio.timeout(PATIENCE_S), presence_of(adapter, times=slow) as presence:
        with presence.follow(HOME, lambda _, text: heard.append(text)):
            async with presence.answering(ASKED) as draft:
                await draft("It is blue")
                for _ in range(5):  # long enough for a sign to have been shown
                    await asyncio.sleep(0)
    assert (adapter.shown.is_set(), adapter.drafts.empty(), heard) == (False, True, ["It is blue"])


async def test_a_follower_hears_each_draft_of_its_address_while_it_follows() -> None:
    """With the message that is being answered; other chats' drafts are not told, nor what comes after."""
    heard: list[tuple[str, str]] = []
    async with presence_of(FakeAdapter()) as presence:
        with presence.follow(HOME, lambda asked, text: heard.append((asked, text))):
            async with (
                presence.answering(ASKED) as draft,
                presence.answering(message("?", id="8", chat="bob")) as other,
            ):
                await other("secret")
                await draft("Bl")
                await draft("ue")
        async with presence.answering(ASKED) as draft:
            await draft("late")
    assert heard == [("7", "Bl"), ("7", "Blue")]


def said(via: Via, target: str | None = None) -> InboundMessage:
    return InboundMessage(HOME, "9", ASKED.sender, ASKED.kind, "blue", True, ASKED.sent_at, via=via, target=target)


@pytest.mark.parametrize(("asked", "marked"), [(ASKED, "7"), (said(Via.EDIT, "7"), "7")])
async def test_a_reaction_stands_on_the_message_while_it_is_answered(asked: InboundMessage, marked: str) -> None:
    """It is put there when the turn begins and taken away when it ends; an edit's stands on what was edited."""
    adapter = Signing()
    async with asyncio.timeout(PATIENCE_S), presence_of(adapter, "👀") as presence:
        async with presence.answering(asked):
            assert await adapter.reactions.get() == (marked, "👀")
            assert adapter.reactions.empty()
        assert await adapter.reactions.get() == (marked, "")


@pytest.mark.parametrize(("via", "reaction"), [(Via.BUTTON, "👀"), (Via.SLASH, "👀"), (Via.TEXT, "")])
async def test_nothing_is_marked_that_the_person_did_not_write(via: Via, reaction: str) -> None:
    """A button's message is ours and a menu's command is none; without the setting there is no reaction at all."""
    adapter = Signing()
    async with presence_of(adapter, reaction) as presence, presence.answering(said(via, "3")):
        pass
    assert adapter.reactions.empty()


async def test_a_reaction_that_hangs_or_fails_holds_up_nothing() -> None:
    """The turn ends at once, and the gateway's stop waits for the sign no longer than its deadline."""

    class Hanging(Signing):
        async def react(self, address: Address, message_id: str, emoji: str) -> None:
            await asyncio.Event().wait()

    for adapter in (Hanging(), Signing(fails=True)):
        presence = presence_of(adapter, "👀", structs.replace(AT_ONCE, reaction_timeout_s=0.01))
        async with asyncio.timeout(PATIENCE_S), presence, presence.answering(ASKED):
            pass
