"""What an answer wrote into memory is undone and corrected by presses, from each platform's own SDK to the files."""

from pathlib import Path
from typing import Any

from tests.fakes.botapi import BotApi
from tests.fakes.discord import Discord
from tests.fakes.discord_shapes import BOT_ID, CHANNEL, DIRECT
from tests.fakes.openai_stub import OpenAIStub
from tests.fakes.provider_stub import Body, Reply, Step, call
from tests.fakes.telegram_shapes import BOT
from tests.journeys.house import GROUP, OWNER, make_home, openai_section, running
from tests.journeys.test_discord import STRANGER, at_home

EVE, SAM = 99, 8


def keeps(body: Body) -> Step:
    """Keep what is said, if it is to be kept."""
    *_, last = body["messages"]
    said = str(last["content"])
    kept = said.rpartition("keep: ")[2].splitlines()[0]
    return Reply(calls=(call("save_memory", text=kept, category="notes"),)) if "keep: " in said else "Fine."


async def test_on_telegram_a_note_is_corrected_by_a_reply_and_undone_by_a_press(tmp_path: Path) -> None:
    """Each press counts once, however often; a stranger's and one from elsewhere change nothing and show nothing."""
    async with BotApi() as bot, OpenAIStub(keeps) as provider:
        home = make_home(tmp_path / "home", bot.url, openai_section(provider.url))
        memory = home.agent("main").workspace / "MEMORY.md"
        before = memory.read_text()
        async with running(home):
            bot.says(OWNER, "keep: Ann likes tea")
            (answer,) = await bot.wait_for_sent(1)
            ((undo, correct),) = answer.buttons
            assert [undo["text"], correct["text"]] == ["Undo", "Correct"]
            assert "- Ann likes tea\n" in memory.read_text()

            bot.join(EVE)
            bot.join(GROUP)
            bot.presses(EVE, answer.message_id, undo["callback_data"])
            bot.presses(GROUP, answer.message_id, undo["callback_data"], user_id=SAM)
            bot.presses(GROUP, answer.message_id, undo["callback_data"], user_id=OWNER)
            told = (await bot.wait_for_sent(4))[1:]
            (elsewhere,) = [each.text for each in told if each.chat == GROUP]
            assert elsewhere.startswith("I find nothing in the notes of this chat")
            assert [each for each in told if "tea" in each.text] == []
            assert "- Ann likes tea\n" in memory.read_text()

            bot.presses(OWNER, answer.message_id, correct["callback_data"])
            question = (await bot.wait_for_sent(5))[4]
            assert "Ann likes tea" in question.text
            asked = {
                "message_id": question.message_id,
                "date": 1,
                "chat": {"id": OWNER, "type": "private"},
                "from": BOT,
                "text": question.text,
            }
            bot.says(OWNER, "Ann likes milk", reply_to_message=asked)
            corrected = (await bot.wait_for_sent(6))[5]
            assert corrected.text.startswith("Corrected in MEMORY.md")
            assert "- Ann likes milk\n" in memory.read_text()
            assert "tea" not in memory.read_text()

            ((back, _),) = corrected.buttons
            for button in (undo, back, back):
                bot.presses(OWNER, answer.message_id, button["callback_data"])
            texts = [each.text for each in (await bot.wait_for_sent(9))[6:]]
            assert texts[0] == "MEMORY.md: it has changed there since, so nothing was written"
            assert "Ann likes milk" in texts[1]
            assert texts[2] == "That was already undone."
            assert "- Ann likes tea\n" in memory.read_text()
            bot.presses(OWNER, answer.message_id, undo["callback_data"])
            assert "Ann likes tea" in (await bot.wait_for_sent(10))[9].text
    assert memory.read_text() == before
    assert len(provider.bodies) == 2


async def test_on_discord_a_note_is_undone_in_its_channel_by_the_owner_alone(tmp_path: Path) -> None:
    """Everybody there sees the buttons; another's press does nothing, and the buttons of a direct chat find nothing."""
    async with Discord() as server, OpenAIStub(keeps) as provider:
        async with at_home(tmp_path / "home", server, provider) as app:
            workspace = next(iter(app.operator.agents)).workspace.folder.root
            server.says("keep: the vault is behind the heron", DIRECT)
            (private,) = await server.wait_for_posted(1)
            server.says(f"<@{BOT_ID}> /remember we meet at ten", CHANNEL)
            (_, noted) = await server.wait_for_posted(2)
            (note,) = (workspace / "memory/shared").glob("*/*.md")
            assert "we meet at ten" in note.read_text()

            undo, hidden = command_of(noted.body, "Undo"), command_of(private.body, "Undo")
            assert len({undo, hidden}) == 2
            server.presses(undo, noted.id, STRANGER)
            server.presses(hidden, noted.id)
            (*_, elsewhere) = await server.wait_for_posted(3)
            assert elsewhere.channel == CHANNEL
            assert elsewhere.text.startswith("I find nothing in the notes of this chat")
            assert "we meet at ten" in note.read_text()

            server.presses(undo, noted.id)
            server.presses(undo, noted.id)
            (*_, first, second) = await server.wait_for_posted(5)
            assert "we meet at ten" in first.text
            assert second.text == "That was already undone."
            assert not note.exists()
            assert "behind the heron" in (workspace / "MEMORY.md").read_text()
        assert [posted for posted in server.posted[1:] if "heron" in posted.text] == []
        assert server.problems == []


def command_of(body: Any, label: str) -> str:
    """Return what the button with *label* says."""
    (row,) = body["components"]
    return str(next(each["custom_id"] for each in row["components"] if each["label"] == label))


async def test_buttons_can_be_left_out(tmp_path: Path) -> None:
    """The commands stay."""
    async with BotApi() as bot:
        home = make_home(tmp_path / "home", bot.url)
        home.write(home.config_file, f"{home.config_file.read_text()}\n[memory]\nundo_buttons = false\n")
        async with running(home):
            bot.says(OWNER, "/remember Ann likes tea")
            bot.says(OWNER, "/undo")
            noted, undone = await bot.wait_for_sent(2)
    assert noted.buttons == []
    assert "Ann likes tea" in undone.text
