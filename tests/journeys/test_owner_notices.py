"""What the owner is told of in their own chat, and in no other, when nobody asked."""

import json
import shutil
from pathlib import Path

from gateway.control.status_wire import StatusOrder
from gateway.delivery.refused_messages import NOT_SHOWN
from tests.fakes.botapi import BotApi
from tests.fakes.openai_stub import OpenAIStub
from tests.fakes.telegram import Fault
from tests.journeys.house import GROUP, OWNER, make_home, openai_section, running


async def test_the_owner_is_told_of_a_memory_that_is_cut_in_the_prompt(tmp_path: Path) -> None:
    """Once over two starts, in their own chat, though it is a group that talks; status names it too.

    An editor makes it too long while the gateway runs.
    """
    async with BotApi() as bot, OpenAIStub(lambda _: "Good day.") as provider:
        home = make_home(tmp_path / "home", bot.url, openai_section(provider.url))
        bot.join(GROUP)
        bot.join(OWNER)
        (home.agent("main").workspace / "MEMORY.md").write_text(
            "# Memory\n\n" + "- The boat is called Ondine.\n" * 1_000
        )
        for start in range(2):
            async with running(home) as app:
                bot.says(GROUP, "@strand_bot hello", user_id=OWNER, chat_type="supergroup")
                await bot.wait_for_sent(2 + start)
                (agent,) = (await app.operator.ask(StatusOrder())).agents
                assert agent.cut_files.startswith("MEMORY.md (")
        private = [each.text for each in bot.sent if each.chat != GROUP]
    assert {each.chat for each in bot.sent if each.text in private} == {OWNER}
    (told,) = private
    assert told.startswith("MEMORY.md of agent main is too long for its prompt, which contains ")
    assert "of its 29,010 characters" in told


async def test_the_model_and_the_owner_are_told_of_a_tool_server_that_is_away(tmp_path: Path) -> None:
    """The model in each turn, by name alone; the owner once over two starts, in their own chat, with the reason."""
    async with BotApi() as bot, OpenAIStub(lambda _: "Good day.") as provider:
        home = make_home(tmp_path / "home", bot.url, openai_section(provider.url))
        section = '[mcp.gone]\ncommand = ["/nowhere/at-all"]\nsessions = ["main", "group"]\n'
        home.write(home.config_file, f"{home.config_file.read_text('utf-8')}\n{section}")
        bot.join(GROUP)
        bot.join(OWNER)
        for start in range(2):
            async with running(home) as app:
                bot.says(GROUP, "@strand_bot hello", user_id=OWNER, chat_type="supergroup")
                await bot.wait_for_sent(2 + start)
                (trouble,) = (await app.operator.ask(StatusOrder())).troubles
                assert trouble == "tool server gone: /nowhere/at-all cannot be started: No such file or directory"
    (told,) = [each for each in bot.sent if each.chat == OWNER]
    assert told.text.startswith(
        "The tool server gone is unavailable: /nowhere/at-all cannot be started: No such file or directory. "
    )
    for request in provider.bodies:
        last = json.dumps(request["messages"][-1])
        assert "The tools of gone are not available now; if you need one, say so and go on without it." in last
        assert "/nowhere" not in json.dumps(request)


async def test_a_reply_that_telegram_refuses_is_sent_plain_or_told_of_there(tmp_path: Path) -> None:
    """In the owner's own chat; before, both replies vanished, and only a terminal that nobody reads said so."""
    refusal = Fault(status=400, description="Bad Request: BUTTON_DATA_INVALID")
    async with BotApi() as bot, OpenAIStub(lambda _: "The **heron** is back.") as provider:
        home = make_home(tmp_path / "home", bot.url, openai_section(provider.url))
        bot.join(OWNER)
        async with running(home) as app:
            bot.fault(*[refusal] * 2)
            bot.says(OWNER, "where is the heron?")
            (plain,) = await bot.wait_for_sent(1)
            bot.fault(*[refusal] * 3)
            bot.says(OWNER, "where is it now?")
            sentence = (await bot.wait_for_sent(2))[1]
            bot.says(OWNER, "hello?")
            await bot.wait_for_sent(3)
            state = await app.operator.ask(StatusOrder())
    assert (plain.chat, plain.text, plain.entities) == (OWNER, "The heron is back.", [])
    assert (sentence.chat, sentence.text) == (OWNER, NOT_SHOWN)
    assert (state.outbox_dead, state.reasons["resent_plain"], state.reasons["dead_letter"]) == (1, 1, 1)


async def test_a_transcript_that_is_gone_is_told_to_the_owner_once(tmp_path: Path) -> None:
    """Though it is a group that talks; the conversation goes on, and status and doctor's source name it."""
    async with BotApi() as bot, OpenAIStub(lambda _: "Good day.") as provider:
        home = make_home(tmp_path / "home", bot.url, openai_section(provider.url))
        bot.join(GROUP)
        bot.join(OWNER)
        expected, transcript = 1, Path()
        for start in range(3):
            async with running(home) as app:
                bot.says(GROUP, f"@strand_bot hello {start}", user_id=OWNER, chat_type="supergroup")
                await bot.wait_for_sent(expected)
                repairs = (await app.operator.ask(StatusOrder())).repairs
                assert start != 1 or "was missing or empty, although it had records since" in repairs[0]
            if start == 0:
                (transcript,) = home.agent("main").sessions.glob("group*.jsonl")
                transcript.write_bytes(b"")
                expected += 1
            expected += 1
    (told,) = [each.text for each in bot.sent if each.chat == OWNER]
    assert str(transcript) in told
    assert "insert that file from a backup" in told
    assert len(transcript.read_bytes().splitlines()) > 2
    assert len([each for each in bot.sent if each.chat == GROUP]) == 3


async def test_a_lost_state_is_told_to_the_owner_once(tmp_path: Path) -> None:
    """Over two starts, in their own chat, though the state knew it; status says it both times."""
    async with BotApi() as bot, OpenAIStub(lambda _: "Good day.") as provider:
        home = make_home(tmp_path / "home", bot.url, openai_section(provider.url))
        bot.join(OWNER)
        for start in range(3):
            async with running(home) as app:
                bot.says(OWNER, f"hello {start}")
                await bot.wait_for_sent(start + 1 + (start > 0))
                repairs = (await app.operator.ask(StatusOrder())).repairs
                assert any("state.db was missing or empty" in each for each in repairs) is (start > 0)
            if start == 0:
                home.state_db.unlink()
    (told,) = [each for each in bot.sent if each.text != "Good day."]
    assert (told.chat, told.text.partition(" was missing")[0]) == (OWNER, str(home.state_db))


async def test_commits_of_a_damaged_log_are_told_to_the_owner_once(tmp_path: Path) -> None:
    """A kill leaves a log, a disk spoils it: SQLite goes on without a word, and the gateway says so."""
    async with BotApi() as bot, OpenAIStub(lambda _: "Good day.") as provider:
        home = make_home(tmp_path / "home", bot.url, openai_section(provider.url))
        bot.join(OWNER)
        log, copies = home.state_db.with_name("state.db-wal"), tmp_path / "copies"
        copies.mkdir()
        async with running(home):
            bot.says(OWNER, "hello")
            await bot.wait_for_sent(1)
            for file in (home.state_db, log):
                shutil.copy(file, copies)
        for file in (home.state_db, log):
            shutil.copy(copies / file.name, file)
        content = bytearray(log.read_bytes())
        content[len(content) // 2] ^= 0xFF
        log.write_bytes(content)
        for start in range(2):
            async with running(home) as app:
                bot.says(OWNER, f"hello {start}")
                await bot.until(lambda: len([each for each in bot.sent if each.chat == OWNER]) >= 3)
                state = await app.operator.ask(StatusOrder())
                assert state.reasons["state_frames_lost"] == 1
                assert "was damaged when I started" in state.repairs[0]
    (told,) = [each for each in bot.sent if "was damaged when I started" in each.text]
    (kept,) = (home.path / "damaged").iterdir()
    assert told.chat == OWNER
    assert str(kept) in told.text
    assert kept.read_bytes() == bytes(content)
