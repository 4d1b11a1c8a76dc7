"""Commands, given at the terminal and in Telegram, on a whole gateway; no model is asked for any of them."""

import re
from pathlib import Path

from gateway.control.stream_wire import ChatOrder
from gateway.control.wire import SearchOrder, WhyOrder
from tests.fakes.botapi import BotApi
from tests.fakes.openai_stub import OpenAIStub
from tests.fakes.provider_stub import Body, Step
from tests.journeys.house import GROUP, OWNER, make_home, openai_section, running

FACT = "the staging database moved to port 5433"


async def test_a_fact_is_remembered_found_forgotten_and_purged_at_the_terminal(tmp_path: Path) -> None:
    """From the first word to the last byte; the gateway is started anew in between."""
    home = make_home(tmp_path / "home")
    told: list[str] = []

    async def show(text: str, is_answer: bool) -> None:
        told.append(text)

    async def say(text: str) -> str:
        await app.operator.chat(ChatOrder(text), show)
        return told[-1]

    async with running(home) as app:
        assert "Noted in `MEMORY.md#L" in await say(f"/remember projects: {FACT}")
        assert "5433" in await say("/memory staging database")
        assert "Strandline" in await say("/status")
        await say("Which port has the staging database?")
        assert "MEMORY.md#L" in await say("/why")
        assert (await app.operator.ask(WhyOrder())).question == "Which port has the staging database?"
        assert "/forget" in await say("/help")
    async with running(home) as app:
        forgotten = await say("/forget staging database")
        if everything := re.search(r"All of them: `([^`]+)`", forgotten):  # the day's log may quote the conversation
            forgotten = await say(everything[1])
        assert forgotten.startswith("Forgotten:")
        found = await app.operator.ask(SearchOrder("staging database port"))
        assert not [hit for hit in found.hits if "5433" in hit.snippet]
        offered = re.findall(r"`(/purge [^`]+)`", forgotten)
        assert offered
        for line in offered:
            assert (await say(line)).startswith("Purged:"), line
    below = [home.agent("main").workspace, home.agent("main").sessions]
    assert not [file for root in below for file in root.rglob("*") if file.is_file() and FACT in file.read_text()]


async def test_in_telegram_a_command_costs_no_model_call(tmp_path: Path) -> None:
    """The owner's, a member's of a group, and a stranger's, who is told a code and nothing else."""

    def nobody(_: Body) -> Step:
        raise AssertionError("a command was sent to a model")

    async with BotApi() as bot, OpenAIStub(nobody) as provider:
        home = make_home(tmp_path / "home", bot.url, openai_section(provider.url))
        async with running(home):
            bot.says(OWNER, "/whoami")
            (owner,) = await bot.wait_for_sent(1)
            bot.says(999, "/whoami")
            stranger, told = sorted((await bot.wait_for_sent(3))[1:], key=lambda each: -each.chat)
            bot.says(GROUP, "/whoami@strand_bot", user_id=8, chat_type="supergroup")
            member = (await bot.wait_for_sent(4))[3]
        assert f"telegram:{OWNER}, my owner" in owner.text
        assert (stranger.chat, told.chat) == (999, OWNER)
        assert "999" not in stranger.text
        assert "code" in stranger.text
        assert "telegram:8. " in member.text
        assert "group chat" in member.text
        assert provider.bodies == []
