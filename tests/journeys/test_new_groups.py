"""A group that the bot was added to: the owner allows it by a press, and nothing is edited or restarted."""

from pathlib import Path

from gateway.cli.settings_report import taken_up
from gateway.config import read_config
from gateway.control.status_wire import StatusOrder
from gateway.home import Home
from tests.fakes.botapi import TOKEN, BotApi
from tests.fakes.discord import Discord
from tests.fakes.discord_shapes import BOT_ID, DIRECT, GUILD
from tests.fakes.openai_stub import OpenAIStub
from tests.journeys.prompt import prompt
from tests.journeys.test_discord import OTHER_CHANNEL, STRANGER, at_home, echo

OWNER, GUEST, EVE = 777, 55, 666
FAMILY, OTHERS = -1001, -1002
COMMENT = "# Keep this line."


async def test_a_press_allows_a_new_group_while_the_gateway_runs(tmp_path: Path) -> None:
    """Asked once, in the owner's own chat; nobody is answered there before, and a stranger's press does nothing."""
    home = Home(tmp_path / "home")
    at = str(home.path)
    async with BotApi() as telegram, prompt("up", "--home", at) as gateway:
        await gateway.sees("Ctrl-C")
        home.write(home.config_file, f"{COMMENT}\n{home.config_file.read_text('utf-8')}")
        words = ("connect", "telegram", "--owner", str(OWNER), "--base-url", telegram.url, "--home", at)
        async with prompt(*words) as shown:
            await shown.sees("Token (not shown)")
            shown.types(TOKEN)
            await shown.ends()
        telegram.join(OWNER)
        telegram.adds_bot(FAMILY, "Family", OWNER)
        (asked,) = await telegram.wait_for_sent(1, 30)
        assert asked.chat == OWNER
        assert f"the group Family (telegram.home.{FAMILY})" in asked.text
        ((allow, refuse),) = asked.buttons
        assert (allow["text"], refuse["text"]) == ("Allow Family?", "Keep closed")
        telegram.adds_bot(OTHERS, "Spam", EVE)
        (_, spam) = await telegram.wait_for_sent(2, 30)
        telegram.says(FAMILY, "@strand_bot hello", user_id=GUEST, chat_type="supergroup")
        telegram.presses(EVE, asked.message_id, allow["callback_data"])
        telegram.presses(OWNER, spam.message_id, spam.buttons[0][1]["callback_data"])
        telegram.presses(OWNER, asked.message_id, allow["callback_data"])
        assert "stays closed" in (await telegram.wait_for_sent(3, 30))[2].text
        assert "is allowed" in (await telegram.wait_for_sent(4, 30))[3].text
        assert await taken_up(home, "") == "Taken up by the running gateway."
        telegram.says(OTHERS, "@strand_bot hello", user_id=OWNER, chat_type="supergroup")
        telegram.says(FAMILY, "@strand_bot hello again", user_id=GUEST, chat_type="supergroup")
        assert (await telegram.wait_for_sent(5, 30))[4].chat == FAMILY
        assert {each.chat for each in telegram.sent[:4]} == {OWNER}
    assert read_config(home.config_file).channels.root["telegram"]["home"].groups.keys() == {str(FAMILY)}
    assert COMMENT in home.config_file.read_text("utf-8")


async def test_the_owners_mention_in_a_discord_channel_asks(tmp_path: Path) -> None:
    """With the channel's name; a stranger's mention there asks nobody."""
    async with Discord() as server, OpenAIStub(echo) as provider:
        server.channels[OTHER_CHANNEL] = {"id": OTHER_CHANNEL, "type": 0, "guild_id": GUILD, "name": "kitchen"}
        async with at_home(tmp_path / "home", server, provider) as app:
            server.says("it is me", DIRECT)
            await server.wait_for_posted(1)
            server.says(f"<@{BOT_ID}> here?", OTHER_CHANNEL, STRANGER)
            server.says(f"<@{BOT_ID}> here?", OTHER_CHANNEL)
            asked = (await server.wait_for_posted(2))[1]
            assert (asked.channel, "`#kitchen (discord.home." in asked.text) == (DIRECT, True)
            server.presses(f"/group allow discord.home.{OTHER_CHANNEL}", asked.id)
            await server.until(lambda: any("is allowed" in posted.text for posted in server.posted))
            assert (await app.operator.ask(StatusOrder())).reasons["group_asked"] == 1
        config = read_config(Home(tmp_path / "home").config_file)
        assert config.channels.root["discord"]["home"].groups[OTHER_CHANNEL].mention
        assert {posted.channel for posted in server.posted} == {DIRECT}


async def test_an_owner_who_has_not_written_to_the_discord_bot_is_asked_all_the_same(tmp_path: Path) -> None:
    """Most people mention a new bot in the channel first; the bot opens the direct chat with them."""
    async with Discord() as server, OpenAIStub(echo) as provider:
        server.channels[OTHER_CHANNEL] = {"id": OTHER_CHANNEL, "type": 0, "guild_id": GUILD, "name": "kitchen"}
        async with at_home(tmp_path / "home", server, provider):
            server.says(f"<@{BOT_ID}> hello", OTHER_CHANNEL)
            (asked,) = await server.wait_for_posted(1)
            server.presses(f"/group allow discord.home.{OTHER_CHANNEL}", asked.id)
            answered = (await server.wait_for_posted(2))[1]
        assert (asked.channel, answered.channel) == (DIRECT, DIRECT)
        assert "is allowed" in answered.text
        assert server.problems == []
