"""Drafts, reactions and menus."""

from collections.abc import AsyncIterator

import pytest

from adapters.abilities import HasMenu, MenuEntry, Moves, Reacts, ShowsDrafts, TakesUpdates
from adapters.channel import Address, ChannelConfigError, ChannelUnavailableError, SendRefusedError
from adapters.telegram import Groups, TelegramAdapter
from tests.fakes.botapi import TOKEN, BotApi
from tests.fakes.tally import Tally
from tests.fakes.telegram import Fault

ANNA, GROUP = Address("telegram", "home", "42"), Address("telegram", "home", "-1001", "77")
HELP = MenuEntry("help", "", "what I understand", for_owner=False)
MEMORY = MenuEntry("memory", "[words]", "what I remember", for_owner=True)


@pytest.fixture(autouse=True)
def joined(server: BotApi) -> None:
    server.join(42)
    server.join(-1001, 77)


@pytest.fixture
async def adapter(server: BotApi) -> AsyncIterator[TelegramAdapter]:
    adapter = TelegramAdapter("home", TOKEN, Tally().count, base_url=server.url, groups=Groups(moved={"-5": "-1001"}))
    yield adapter
    await adapter.close()


async def test_the_channel_has_these_abilities(adapter: TelegramAdapter) -> None:
    """The gateway finds them by their protocols."""
    for ability in (HasMenu, Moves, Reacts, ShowsDrafts, TakesUpdates):
        assert isinstance(adapter, ability)


async def test_a_draft_is_shown_formatted_and_changes(server: BotApi, adapter: TelegramAdapter) -> None:
    """Of a long one the end, within what Telegram takes; all under one number, so that the change is animated."""
    await adapter.show_draft(ANNA, "so **far**")
    await adapter.show_draft(ANNA, "word " * 2000 + "the end")
    first, long = server.drafts
    assert (first["text"], [entity["type"] for entity in first["entities"]]) == ("so far", ["bold"])
    assert long["text"].endswith("the end")
    assert len(long["text"]) <= 4096
    assert first["draft_id"] == long["draft_id"] != "0"


async def test_a_draft_is_shown_where_telegram_shows_drafts(server: BotApi, adapter: TelegramAdapter) -> None:
    """In a group nothing is asked of Telegram, nor for a blank text."""
    await adapter.show_draft(GROUP, "so far")
    await adapter.show_draft(ANNA, " ")
    assert server.requests == []
    server.join(42, 9)
    await adapter.show_draft(Address("telegram", "home", "42", "9"), "in a topic")
    assert server.drafts[0]["message_thread_id"] == "9"


async def test_a_reaction_is_put_and_taken_away(server: BotApi, adapter: TelegramAdapter) -> None:
    """On the message that is meant, wherever its group is now."""
    for chat in (42, -1001):
        server.says(chat, "hello", chat_type="private" if chat > 0 else "supergroup")
    moved = Address("telegram", "home", "-5")
    await adapter.react(ANNA, "1", "👀")
    await adapter.react(moved, "1@-1001", "👍")
    assert server.reactions == {(42, 1): ["👀"], (-1001, 1): ["👍"]}
    await adapter.react(ANNA, "1", "")
    assert server.reactions[42, 1] == []


async def test_a_message_that_stayed_behind_gets_no_reaction(server: BotApi, adapter: TelegramAdapter) -> None:
    """Its number means another message where the group is now."""
    server.says(-1001, "hello", chat_type="supergroup")
    await adapter.react(Address("telegram", "home", "-5"), "1", "👀")
    assert server.requests == []


async def test_a_reaction_that_telegram_refuses_says_so(server: BotApi, adapter: TelegramAdapter) -> None:
    """An emoji that is none of its reactions is refused for good; a lost connection is not."""
    server.says(42, "hello")
    with pytest.raises(SendRefusedError, match="REACTION_INVALID"):
        await adapter.react(ANNA, "1", "🥨")
    with pytest.raises(SendRefusedError, match="not found"):
        await adapter.react(ANNA, "9", "👀")
    server.fault(Fault("setMessageReaction", drops=True))
    with pytest.raises(ChannelUnavailableError):
        await adapter.react(ANNA, "1", "👀")


async def test_everybody_has_a_menu_and_the_owner_a_longer_one(server: BotApi, adapter: TelegramAdapter) -> None:
    """Commands for the owner are shown in the owner's own chats and nowhere else."""
    await adapter.show_menu([HELP, MEMORY], ["42"])
    help_entry = {"command": "help", "description": "what I understand"}
    assert server.menus == {
        "default": [help_entry],
        "all_group_chats": [help_entry],
        "chat:42": [help_entry, {"command": "memory", "description": "[words] – what I remember"}],
    }


async def test_a_menu_fits_what_telegram_takes(server: BotApi, adapter: TelegramAdapter) -> None:
    """A hundred commands of 256 characters each."""
    entries = [MenuEntry(f"c{number}", "", "x" * 300, for_owner=False) for number in range(120)]
    await adapter.show_menu(entries, [])
    assert len(server.menus["default"]) == 100
    assert {len(command["description"]) for command in server.menus["default"]} == {256}


async def test_an_owner_who_has_not_written_yet_is_passed_over(server: BotApi, adapter: TelegramAdapter) -> None:
    """Telegram refuses a menu for a chat that there is not; the others have theirs. Other faults are told."""
    await adapter.show_menu([HELP, MEMORY], ["41", "42"])
    assert set(server.menus) == {"default", "all_group_chats", "chat:42"}
    server.fault(Fault("setMyCommands", status=401, description="Unauthorized"))
    with pytest.raises(ChannelConfigError):
        await adapter.show_menu([HELP], [])
    server.fault(*[Fault("setMyCommands", status=200, body='{"ok": true, "result": true}')] * 2)
    server.fault(Fault("setMyCommands", drops=True))
    with pytest.raises(ChannelUnavailableError):
        await adapter.show_menu([HELP], ["42"])


async def test_a_closed_channel_shows_nothing(server: BotApi, adapter: TelegramAdapter) -> None:
    """No connection is opened again."""
    await adapter.close()
    for sign in (adapter.show_draft(ANNA, "x"), adapter.react(ANNA, "1", "👀"), adapter.show_menu([HELP], [])):
        with pytest.raises(ChannelUnavailableError):
            await sign
    assert server.requests == []
