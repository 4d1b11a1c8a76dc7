"""A message's whole way through real parts: Bot API server, aiogram, gateway, a model's SDK, Qdrant, files."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from gateway.control.status_wire import StatusOrder
from gateway.control.stream_wire import ChatOrder
from gateway.control.wire import WhyOrder
from tests.fakes.anthropic_stub import AnthropicStub
from tests.fakes.botapi import BotApi
from tests.fakes.cohere_stub import CohereStub
from tests.fakes.google_stub import GoogleStub
from tests.fakes.openai_stub import OpenAIStub
from tests.fakes.patience import PATIENCE_S
from tests.fakes.provider_stub import Body, ProviderStub, Refusal, Reply, Step, call, without_note
from tests.journeys.house import (
    OWNER,
    anthropic_section,
    cohere_section,
    google_section,
    make_home,
    openai_section,
    running,
)

FACT = "the staging database moved to port 5433"


def assistant(body: Body) -> Step:
    """A model that notes what it is told, searches when it is asked, and quotes what it found."""
    *_, last = body["messages"]
    if last["role"] == "tool":
        return _after_tool(_text(last))
    said = _text(last)
    if said.startswith("remember"):
        return Reply(plan="I shall note it.", calls=(call("add_note", text=FACT),))
    if "staging" in said:
        return Reply(calls=(call("memory_search", "call_2", query=said),))
    return f"You asked {sum(message['role'] == 'user' for message in body['messages'])} things."


def _after_tool(result: str) -> Step:
    if result.startswith("Noted"):
        return "Noted."
    hit = json.loads(result)["hits"][0]
    return f"It is **5433** ({hit['citation']})." if "5433" in hit["snippet"] else "I do not know."


def _text(message: Body) -> str:
    """Return what a person or a tool said, without the gateway's note before it."""
    content = message["content"]
    if not isinstance(content, str):
        part = content[0]
        content = str(part["text"] if part["type"] == "text" else part["document"]["data"])
    return without_note(str(content))


@pytest.mark.parametrize(
    ("stub", "section"),
    [
        (OpenAIStub, openai_section),
        (CohereStub, cohere_section),
        (AnthropicStub, anthropic_section),
        (GoogleStub, google_section),
    ],
    ids=["openai", "cohere", "anthropic", "google"],
)
async def test_a_fact_told_on_telegram_is_noted_found_and_cited(
    tmp_path: Path, stub: Callable[[Callable[[Body], Step]], ProviderStub], section: Callable[[str], str]
) -> None:
    """Told, written to a real file, indexed, found by a tool call, answered with its source, followed up."""
    async with BotApi() as bot, stub(assistant) as provider:
        home = make_home(tmp_path / "home", bot.url, section(provider.url))
        async with running(home) as app:
            bot.says(OWNER, f"remember that {FACT}")
            await bot.wait_for_sent(1)
            bot.says(OWNER, "Where is the staging database?")
            await bot.wait_for_sent(2)
            why = await app.operator.ask(WhyOrder())
            bot.says(OWNER, "thanks, what did I ask?")
            sent = await bot.wait_for_sent(3)
            await bot.until(lambda: len(bot.confirmed) == 3)
            assert len(provider.bodies) == 5
        (note,) = (home.agent("main").workspace / "memory").glob("*.md")
        assert FACT in note.read_text()
        assert [message.text for message in sent] == [
            "Noted.\n\n— ✓ noted 1 line",
            f"It is 5433 (memory/{note.name}#L3-L3).",
            "You asked 3 things.",
        ]
        assert why.question == "Where is the staging database?"
        assert [used.text[6:] for used in why.used if used.citation.startswith("memory/")] == [FACT]
        origins = {used.citation: used.origin for used in why.used}
        assert ", from main/main, message " in origins[f"memory/{note.name}#L3-L3"]
        assert {message.chat for message in sent} == {OWNER}
        assert sent[1].entities == [{"type": "bold", "offset": 6, "length": 4}]
        assert provider.problems == []


async def test_a_model_that_is_down_delays_the_answer_and_loses_nothing(tmp_path: Path) -> None:
    """One short sentence at first; the answer itself when the model is back, and then the next message's."""
    is_down = True

    def script(body: Body) -> Step:
        return Refusal(503) if is_down else f"Answer to: {_text(body['messages'][-1])}"

    async with BotApi() as bot, OpenAIStub(script) as provider:
        home = make_home(tmp_path / "home", bot.url, openai_section(provider.url))
        async with running(home):
            bot.says(OWNER, "first")
            (notice,) = await bot.wait_for_sent(1)
            assert "cannot be reached" in notice.text
            is_down = False
            bot.says(OWNER, "second")
            sent = await bot.wait_for_sent(3)
        assert [message.text for message in sent[1:]] == ["Answer to: first", "Answer to: second"]


async def test_without_a_model_the_gateway_notes_and_quotes(tmp_path: Path) -> None:
    """No key, no account: what was told today is quoted with its source after a restart."""
    async with BotApi() as bot:
        home = make_home(tmp_path / "home", bot.url)
        async with running(home):
            bot.says(OWNER, f"remember that {FACT}")
            await bot.wait_for_sent(1)
        async with running(home) as app:
            bot.says(OWNER, "which port has the staging database?")
            sent = await bot.wait_for_sent(2)
            status = await app.operator.ask(StatusOrder())
        assert FACT in sent[1].text
        assert "#L3" in sent[1].text
        assert (status.inbox_waiting, status.outbox_dead, status.unsure) == (0, 0, ())


async def test_strangers_cost_nothing(tmp_path: Path) -> None:
    """Fifty messages of a stranger: no model request, one code, one notice to the owner, each one counted."""
    async with BotApi() as bot, OpenAIStub(lambda _: "never") as provider:
        home = make_home(tmp_path / "home", bot.url, openai_section(provider.url))
        bot.join(OWNER)
        async with running(home) as app:
            for number in range(50):
                bot.says(OWNER + 1, f"message {number}")
            await bot.until(lambda: len(bot.confirmed) == 50)
            reasons = (await app.operator.ask(StatusOrder())).reasons
            told = await bot.wait_for_sent(2)
        assert provider.bodies == []
        assert sorted(each.chat for each in told) == sorted(each.chat for each in bot.sent) == [OWNER, OWNER + 1]
        assert reasons["refused.unpaired"] + reasons["refused.rate"] == 50
        assert reasons.keys() == {"refused.unpaired", "refused.rate", "pairing_told"}


async def test_a_chat_in_the_terminal_shares_the_owners_conversation(tmp_path: Path) -> None:
    """What the owner says on Telegram is known at the terminal: it is one session, whatever the channel."""
    async with BotApi() as bot, OpenAIStub(assistant) as provider:
        home = make_home(tmp_path / "home", bot.url, openai_section(provider.url))
        replies: list[str] = []

        async def on_reply(text: str, _: bool) -> None:
            replies.append(text)

        async with running(home) as app:
            bot.says(OWNER, "hello")
            await bot.wait_for_sent(1)
            async with asyncio.timeout(PATIENCE_S):
                await app.operator.chat(ChatOrder("and again"), on_reply)
        assert replies == ["You asked 2 things."]
