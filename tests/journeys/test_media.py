"""Files come and go through Telegram, buttons decide, signs show: the whole gateway with its owner's telephone."""

import asyncio
import re
import time
from base64 import b64encode
from pathlib import Path

from gateway.control.stream_wire import ChatOrder
from tests.fakes.botapi import BotApi
from tests.fakes.openai_stub import OpenAIStub
from tests.fakes.patience import PATIENCE_S
from tests.fakes.pictures import png
from tests.fakes.provider_stub import Body, Refusal, Reply, Step, call, steps
from tests.fakes.telegram import Json
from tests.journeys.house import OWNER, make_home, openai_section, running

PLAN = b"1. sand the hull\n2. paint it\n"
PATH = re.compile(r"attachments/[0-9a-f]{16}-\S+\.md")


def reads_and_returns(body: Body) -> Step:
    """Read the file that came with the message, then send it back."""
    *_, last = body["messages"]
    said = str(last["content"])
    if last["role"] != "tool":
        path = PATH.search(said)
        return Reply(calls=(call("read_file", path=path[0]),)) if path else "I see no file."
    if "sand the hull" in said:
        (path,) = {found for message in body["messages"] for found in PATH.findall(str(message["content"]))}
        return Reply(calls=(call("send_file", "c2", path=path, caption="Your plan"),))
    return "First sand, then paint."


def document(bot: BotApi, content: bytes, name: str = "boat plan.md") -> Json:
    bot.files["f1"] = content
    return {"file_id": "f1", "file_unique_id": "u1", "file_name": name, "mime_type": "text/markdown"} | {
        "file_size": len(content)
    }


def sends_file(bot: BotApi, file: Json, caption: str, number: int = 41) -> None:
    message = {"message_id": number, "date": int(time.time()), "caption": caption, "document": file}
    chat, person = {"id": OWNER, "type": "private"}, {"id": OWNER, "is_bot": False, "first_name": "Owner"}
    bot.join(OWNER, number)
    bot.update(message={**message, "chat": chat, "from": person})


async def test_a_file_is_read_and_sent_back_with_a_sign_on_its_message(tmp_path: Path) -> None:
    """It lies beside the notes, its content reaches the model by the tool, and the copy goes out after the answer."""
    async with BotApi() as bot, OpenAIStub(reads_and_returns) as provider:
        home = make_home(tmp_path / "home", bot.url, openai_section(provider.url))
        home.write(home.config_file, home.config_file.read_text() + '\n[signs]\nreaction = "👀"\n')
        home.agent("main").incoming.mkdir()
        (home.agent("main").incoming / "t9.0").write_bytes(b"half of a file, left by a crash")
        async with running(home):
            sends_file(bot, document(bot, PLAN), "What first?")
            sent = await bot.wait_for_sent(2)
            question, answer = sorted(sent, key=lambda each: each.text.startswith("First"))
            assert question.text.startswith("A call of send_file waits for your approval as #1")
            assert answer.text.startswith("First sand, then paint.")
            assert [each.file for each in sent] == [None, None]
            bot.says(OWNER, "/approve 1")
            file = next(each for each in await bot.wait_for_sent(4) if each.file is not None)
            assert file.text == "Your plan"
            assert file.file is not None
            assert (file.file["method"], file.file["size"]) == ("sendDocument", len(PLAN))
            await bot.until(lambda: bot.reactions.get((OWNER, 41)) == [])
            assert next(each["reaction"] for each in bot.calls("setMessageReaction"))[0]["emoji"] == "👀"
            assert "help" in {each["command"] for each in bot.menus["default"]}
    (kept,) = (home.agent("main").workspace / "attachments").iterdir()
    assert (kept.name.endswith("-boat_plan.md"), kept.read_bytes()) == (True, PLAN)
    assert [*home.agent("main").outgoing.iterdir(), *home.agent("main").incoming.iterdir()] == []


def photo(bot: BotApi, content: bytes) -> Json:
    return document(bot, content, "boat.png") | {"mime_type": "image/png"}


def what_is_seen(body: Body) -> list[str]:
    """Every picture in a request."""
    contents = [each["content"] for each in body["messages"] if isinstance(each["content"], list)]
    return [part["image_url"]["url"] for parts in contents for part in parts if part["type"] == "image_url"]


async def test_a_photo_is_seen_in_its_own_turn(tmp_path: Path) -> None:
    """Also when the model is asked again; later its description stays, and a blind model has nothing else: its person
    is told so."""
    boat = png(640, 480)
    script = steps(Refusal(503), "A boat.", "As I said.", "I see none.")
    async with BotApi() as bot, OpenAIStub(script) as provider:
        section = openai_section(provider.url)
        home = make_home(tmp_path / "home", bot.url, f"{section}\nvision = true\n\n[models.blind]\n{section}")
        async with running(home):
            sends_file(bot, photo(bot, boat), "What is it?")
            assert (await bot.wait_for_sent(1))[-1].text == "A boat."
            bot.says(OWNER, "Sure?")
            assert (await bot.wait_for_sent(2))[-1].text == "As I said."
            bot.says(OWNER, "/model blind")
            await bot.wait_for_sent(3)
            sends_file(bot, photo(bot, boat), "And this?", 99)
            unseen = "I see none.\n\n— ✗ the picture was not seen: this model accepts none"
            assert (await bot.wait_for_sent(4))[-1].text == unseen
        refused, first, later, blind = provider.bodies[:4]
    assert what_is_seen(first) == [f"data:image/png;base64,{b64encode(boat).decode()}"]
    assert refused["messages"] == first["messages"]
    assert (what_is_seen(later), what_is_seen(blind)) == ([], [])
    assert "boat.png" in str(later["messages"])
    assert provider.problems == []


def saves(body: Body) -> Step:
    """Save what a forwarded text says."""
    *_, last = body["messages"]
    return "Done." if last["role"] == "tool" else Reply(calls=(call("save_memory", text="A lie.", category="notes"),))


async def test_the_owner_decides_by_a_button_and_a_second_press_changes_nothing(tmp_path: Path) -> None:
    """The press is a command of whoever presses; the menu is shown once, also over a restart."""
    async with BotApi() as bot, OpenAIStub(saves) as provider:
        home = make_home(tmp_path / "home", bot.url, openai_section(provider.url))
        memory = home.agent("main").workspace / "MEMORY.md"
        async with running(home):
            bot.says(OWNER, "look", forward_origin={"type": "hidden_user", "sender_user_name": "Sam", "date": 1})
            sent = await bot.wait_for_sent(2)
            (asked,) = [message for message in sent if message.buttons]
            commands = [button["callback_data"] for row in asked.buttons for button in row]
            assert commands == ["/approve 1", "/refuse 1"]
            bot.presses(OWNER, asked.message_id, commands[0])
            assert (await bot.wait_for_sent(3))[-1].text == "MEMORY.md written, as approved in #1."
            written = memory.read_text()
            bot.presses(OWNER, asked.message_id, commands[0])
            bot.presses(OWNER, asked.message_id, commands[1])
            texts = [message.text for message in await bot.wait_for_sent(5)]
            assert texts[3:] == ["change #1 of MEMORY.md was approved already"] * 2
            assert "A lie." in written
            menus = len(bot.calls("setMyCommands"))
        async with running(home):
            await bot.wait_for_polls(len(bot.calls("getUpdates")) + 1)
            assert memory.read_text() == written
            assert len(bot.calls("setMyCommands")) == menus > 0


async def test_what_a_model_saw_in_a_photo_is_remembered_only_with_approval(tmp_path: Path) -> None:
    """Whoever sent it: nobody knows whose words stand in it. A model that sees nothing has only its owner's."""
    async with BotApi() as bot, OpenAIStub(saves) as provider:
        section = openai_section(provider.url)
        home = make_home(tmp_path / "home", bot.url, f"{section}\nvision = true\n\n[models.blind]\n{section}")
        memory = home.agent("main").workspace / "MEMORY.md"
        before = memory.read_text()
        async with running(home):
            sends_file(bot, photo(bot, png(640, 480)), "Look!")
            sent = await bot.wait_for_sent(2)
            assert [text for text in (each.text for each in sent) if "waits for your approval as #1" in text]
            assert memory.read_text() == before
            bot.says(OWNER, "/new")  # the answer to the photo may repeat its words
            await bot.wait_for_sent(3)
            bot.says(OWNER, "/model blind")
            await bot.wait_for_sent(4)
            sends_file(bot, photo(bot, png(640, 480)), "And this!", 99)
            await bot.wait_for_sent(5)
        assert "A lie." in memory.read_text()


async def test_a_paste_of_a_hundred_thousand_lines_is_answered(tmp_path: Path) -> None:
    """At a terminal, where nothing splits it: kept as files, said once, and the conversation goes on."""
    shown: list[str] = []

    async def show(text: str, _: bool) -> None:
        shown.append(text)

    home = make_home(tmp_path / "home")
    async with running(home) as app, asyncio.timeout(PATIENCE_S):
        await app.operator.chat(
            ChatOrder("".join(f"{number:06}: a line of a log\n" for number in range(100_000))), show
        )
        await app.operator.chat(ChatOrder("/whoami"), show)
    assert sum("100,001 lines" in text for text in shown) == 1
    assert len(shown) == 3
    (transcript,) = home.agent("main").sessions.glob("*.jsonl")
    assert transcript.stat().st_size < 100_000
    kept = (home.agent("main").workspace / "attachments").iterdir()
    assert sum(path.stat().st_size for path in kept) == 100_000 * len("000000: a line of a log\n")
