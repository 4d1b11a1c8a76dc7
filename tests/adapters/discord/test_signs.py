"""A bot's typing indicator, reactions and menu, and missing settings."""

import pytest

from adapters.abilities import Examines, HasMenu, MenuEntry, Reacts
from adapters.channel import Address, ChannelConfigError, ChannelUnavailableError, SendRefusedError
from adapters.discord import DiscordAdapter
from tests.fakes.discord import Discord, Fault
from tests.fakes.discord_shapes import BOT_ID, CHANNEL, THREAD

HERE = Address("discord", "home", CHANNEL)
MAY_READ, MAY_READ_AS_A_LARGE_BOT = 1 << 19, 1 << 18
COMMANDS = f"/applications/{BOT_ID}/commands"
MENU = [
    MenuEntry("help", "", "List what you can say", for_owner=False),
    MenuEntry("forget", "[words]", "Take a note out", for_owner=True),
]


async def test_a_reaction_takes_the_place_of_our_last_one(server: Discord, adapter: DiscordAdapter) -> None:
    """And nothing takes the place of that; somebody else's stays."""
    asked = server.says("why?", CHANNEL)
    server.message(asked)["reactions"] = [{"emoji": {"id": None, "name": "🎉"}, "me": False, "count": 1}]
    assert isinstance(adapter, Reacts)
    for emoji, shown in (("👀", ["🎉", "👀"]), ("👀", ["🎉", "👀"]), ("✅", ["🎉", "✅"]), ("", ["🎉"]), ("", ["🎉"])):
        await adapter.react(HERE, asked, emoji)
        assert server.signs(asked) == shown
    written = [method for method, path, _ in server.requests if "/reactions/" in path]
    assert written == ["PUT", "DELETE", "PUT", "DELETE"]


async def test_a_reaction_in_a_thread(server: Discord, adapter: DiscordAdapter) -> None:
    """A thread is a channel of its own."""
    asked = server.says("why?", THREAD)
    await adapter.react(Address("discord", "home", CHANNEL, THREAD), asked, "👀")
    assert server.signs(asked) == ["👀"]


async def test_a_reaction_that_cannot_be_is_a_channel_error(server: Discord, adapter: DiscordAdapter) -> None:
    """The gateway passes over it."""
    asked = server.says("why?", CHANNEL)
    server.fault(Fault("/👀/@me", status=403, answer={"message": "Missing Permissions", "code": 50013}))
    with pytest.raises(ChannelUnavailableError, match="50013"):
        await adapter.react(HERE, asked, "👀")
    with pytest.raises(SendRefusedError, match="by number"):
        await adapter.react(HERE, "1/../2", "👀")


async def test_the_menu_is_written_when_it_differs(server: Discord, adapter: DiscordAdapter) -> None:
    """Discord counts every writing, so one that changes nothing is not made; one field takes what follows a name."""
    assert isinstance(adapter, HasMenu)
    await adapter.show_menu(MENU, ["42"])
    assert [(command["name"], command["description"]) for command in server.commands] == [
        ("help", "List what you can say"),
        ("forget", "Take a note out"),
    ]
    assert [command["options"] for command in server.commands] == [
        [],
        [{"type": 3, "name": "arguments", "description": "[words]", "required": False}],
    ]
    assert {tuple(command["contexts"]) for command in server.commands} == {(0, 1)}
    for command in server.commands:
        for option in command["options"]:
            del option["required"]  # Discord leaves out what is the default
    await adapter.show_menu(MENU, ["42"])
    assert [method for method, path, _ in server.requests if path == COMMANDS] == ["GET", "PUT", "GET"]
    await adapter.show_menu(MENU[:1], ["42"])
    assert [command["name"] for command in server.commands] == ["help"]
    await adapter.show_menu([MENU[0], MenuEntry("help2", "x" * 200, "y" * 200, for_owner=False)], [])
    assert server.commands[1]["description"] == "y" * 99 + "…"


async def test_a_menu_that_cannot_be_written_is_a_channel_error(server: Discord, adapter: DiscordAdapter) -> None:
    """The gateway goes on without."""
    server.fault(Fault("/commands", status=503))
    with pytest.raises(ChannelUnavailableError):
        await adapter.show_menu(MENU, [])


@pytest.mark.parametrize("flags", [MAY_READ, MAY_READ_AS_A_LARGE_BOT])
async def test_a_bot_that_may_read_lacks_nothing(server: Discord, adapter: DiscordAdapter, flags: int) -> None:
    """A small one by the switch, a large one by Discord's leave."""
    server.application["flags"] = flags | 1
    assert isinstance(adapter, Examines)
    assert await adapter.examine() == []


async def test_a_bot_that_may_not_read_is_told_where_the_switch_is(server: Discord, adapter: DiscordAdapter) -> None:
    """Before it tries to listen."""
    (lacks,) = await adapter.examine()
    assert "[channels.discord.home]" in lacks
    assert "MESSAGE CONTENT INTENT" in lacks


async def test_a_bot_whose_token_is_wrong_is_told_so(server: Discord, adapter: DiscordAdapter) -> None:
    """As when it listens."""
    server.token = "another"
    with pytest.raises(ChannelConfigError, match="rejects the bot token"):
        await adapter.examine()
