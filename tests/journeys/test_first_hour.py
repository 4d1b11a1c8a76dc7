"""The first hour as a newcomer lives it: from nothing to an agent in Telegram that knows a fact after a restart.

No file is edited, and nothing is restarted but to see that the fact is still known.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gateway.config import read_config
from gateway.home import Home
from tests.fakes.botapi import TOKEN, BotApi
from tests.fakes.openai_stub import OpenAIStub
from tests.fakes.patience import PATIENCE_S
from tests.fakes.provider_stub import Body, Refusal, Step, without_note
from tests.fakes.screen import on_screen
from tests.journeys.prompt import Prompt, prompt

OWNER, STRANGER = 777, 666
KEY = "a-key-for-tests"
ANSWERED_WITHIN_S = 60.0
WITHIN_S = 180
"""The whole way, as the page promises."""


def knows(body: Body) -> Step:
    """A model that knows what its request tells it, and only with the right key."""
    said = next(message["content"] for message in reversed(body["messages"]) if message["role"] == "user")
    question = without_note(said) or str(said)
    if "ready" in question:
        return "ready"
    if "Which port" in question:
        return "It is 5433." if "5433" in json.dumps(body["messages"]) else "I do not know."
    if "Who am I" in question:
        return "You are Nia." if "owner's name is Nia" in json.dumps(body["messages"]) else "I do not know."
    return f"You said: {question}"


@pytest.fixture
async def model() -> AsyncIterator[OpenAIStub]:
    async with OpenAIStub(knows) as stub:
        yield stub


@pytest.fixture
async def telegram() -> AsyncIterator[BotApi]:
    async with BotApi() as server:
        yield server


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


async def asked(telegram: BotApi, text: str, *, person: int = OWNER) -> str:
    """Write to the bot and return its next answer."""
    before = len(telegram.sent)
    telegram.says(person, text)
    return (await telegram.wait_for_sent(before + 1, ANSWERED_WITHIN_S))[before].text


async def connect_telegram(at: str, telegram: BotApi) -> None:
    async with prompt("connect", "telegram", "--base-url", telegram.url, "--home", at) as shown:
        await shown.sees("Token (not shown)")
        shown.types(TOKEN)
        await shown.sees("any message")
        telegram.says(STRANGER, "hello bot")
        await shown.sees(f"Is it you, Person {STRANGER} ({STRANGER})? [Y/n]")
        shown.types("n")
        telegram.says(OWNER, "it is me")
        await shown.sees(f"Is it you, Person {OWNER} ({OWNER})? [Y/n]")
        shown.types("y")
        said = await shown.ends()
    assert "Taken up by the running gateway." in said
    assert TOKEN not in said


async def set_up(at: str, model: OpenAIStub) -> None:
    """Answer what `init` asks."""
    words = ("--provider", "openai", "--model", "stub-1", "--base-url", model.url)
    async with prompt("init", *words, "--home", at) as shown:
        for question, answer in (
            ("Your name", "Nia"),
            ("Your time zone [Europe/Berlin]", ""),
            ("Key of openai", KEY),
            ("Chat platform", "none"),
        ):
            await shown.sees(question)
            shown.types(answer)
        said = await shown.ends()
    assert 'stub-1 answered "ready"' in said
    assert "Kept the first memory, and found it again: MEMORY.md" in said
    assert "connect telegram" in said
    assert KEY not in said


async def until_running(shown: Prompt) -> None:
    await shown.sees("is running at")
    await shown.sees("Ctrl-C")


async def test_from_nothing_to_a_fact_that_is_known_after_a_restart(
    home: Home, model: OpenAIStub, telegram: BotApi
) -> None:
    """Within three minutes: nothing but what the commands ask for, and only the owner is answered."""
    began, at = time.monotonic(), str(home.path)
    async with prompt("up", "--home", at) as gateway:
        await until_running(gateway)
        await set_up(at, model)
        await connect_telegram(at, telegram)
        assert (await telegram.wait_for_sent(1, ANSWERED_WITHIN_S))[0].text == "You said: it is me"
        assert "Noted" in await asked(telegram, "/remember the staging database moved to port 5433")
    async with prompt("up", "--home", at) as gateway:
        await until_running(gateway)
        assert await asked(telegram, "Which port does the staging database use?") == "It is 5433."
        assert await asked(telegram, "Who am I?") == "You are Nia."
    assert time.monotonic() - began < WITHIN_S
    assert {sent.chat for sent in telegram.sent} == {OWNER}
    assert read_config(home.config_file).owner.people == (f"telegram:{OWNER}",)
    assert oct(home.secrets_file.stat().st_mode)[-3:] == "600"


async def test_a_bot_without_an_owner_is_claimed_by_the_code_of_its_terminal(home: Home, telegram: BotApi) -> None:
    """Nobody is answered before, guesses included; the code works once, and its sender is answered at once."""
    at = str(home.path)
    async with prompt("up", "--home", at) as gateway:
        await until_running(gateway)
        async with prompt("connect", "telegram", "--claim", "--base-url", telegram.url, "--home", at) as shown:
            await shown.sees("Token (not shown)")
            shown.types(TOKEN)
            said = await shown.ends()
        assert "It has no owner yet" in said
        link = said[said.index("https://t.me/strand_bot?start=") :].split()[0]
        code = link.partition("=")[2]
        assert f"telegram.home: send it the code {code}" in said
        await gateway.sees("has no owner: send it the code ")
        for guess in ("hello", "AAAAA-AAAAA", "/start"):
            telegram.says(STRANGER, guess)
        await telegram.until(lambda: len(telegram.confirmed) >= 3)
        assert telegram.sent == []
        assert "You are my owner now" in await asked(telegram, f"/start {code}")
        await gateway.sees("Taken up: the changed settings.")
        telegram.says(STRANGER, code)
        assert "me" in await asked(telegram, "me again")
        assert [sent.chat for sent in telegram.sent[:2]] == [OWNER, OWNER]
    assert read_config(home.config_file).owner.people == (f"telegram:{OWNER}",)


async def test_a_key_in_the_wrong_prompt_goes_nowhere(home: Home, telegram: BotApi) -> None:
    """Neither to the platform, nor into a file, nor onto the screen; a wrong token is named by its status."""
    canary = "sk-ant-api03-canary0123456789"
    for token, told in ((canary, "another kind of key (Anthropic key)"), ("123456:wrong-token-of-nobody", "HTTP 401")):
        async with prompt("connect", "telegram", "--base-url", telegram.url, "--home", str(home.path)) as shown:
            await shown.sees("Token (not shown)")
            shown.types(token)
            said = await shown.ends(2)
        assert told in said
        assert token not in said
    assert not any(canary in json.dumps(request.params) for request in telegram.requests)
    assert not home.secrets_file.exists()


async def test_a_key_in_a_prompt_that_shows_it_is_taken_off_the_screen(home: Home) -> None:
    """It becomes neither the owner's name nor a memory, and stands in no file of the home."""
    canary = "sk-ant-api03-canary0123456789"
    async with prompt("init", "--home", str(home.path)) as shown:
        for question, wanted in (
            ("Your name", "Nia"),
            ("Your time zone [Europe/Berlin]", ""),
            ("Language model", "offline"),
            ("Chat platform", "none"),
        ):
            await shown.sees(question)
            shown.types(canary)
            await shown.sees("That is a key (Anthropic key)")
            await shown.sees(question)
            shown.types(wanted)
        said = await shown.ends()
    assert canary not in on_screen(said)
    assert not any(canary.encode() in file.read_bytes() for file in home.path.rglob("*") if file.is_file())


async def test_a_model_that_refuses_the_key_is_not_written(home: Home) -> None:
    """The provider's status is named, and nothing changes."""
    async with OpenAIStub(lambda _: Refusal(401)) as model, asyncio.timeout(PATIENCE_S):
        words = ("--provider", "openai", "--model", "stub-1", "--base-url", model.url)
        async with prompt("connect", "model", *words, "--home", str(home.path)) as shown:
            await shown.sees("Key of openai")
            shown.types("first-wrong-key")
            await shown.sees("HTTP 401")
            await shown.sees("Key of openai")
            shown.types("second-wrong-key")
            await shown.sees("Key of openai")
            shown.types("third-wrong-key")
            assert "nothing was written" in await shown.ends(2)
    assert not home.config_file.exists()
    assert not home.secrets_file.exists()


async def test_the_models_of_an_own_server_are_offered(home: Home) -> None:
    """The first that is no embedder is the default; a name that the server does not have is asked for again."""
    async with OpenAIStub(lambda _: "ready") as model, asyncio.timeout(PATIENCE_S):
        model.models = ("nomic-embed-text", "llama3.2:3b", "qwen3:8b")
        async with prompt("connect", "model", "--base-url", model.url, "--home", str(home.path)) as shown:
            await shown.sees("[openai]")
            shown.types("")
            await shown.sees("Key of openai (not shown; empty if it needs none)")
            shown.types("")
            await shown.sees("Model, one of nomic-embed-text, llama3.2:3b, qwen3:8b [llama3.2:3b]")
            shown.types("gpt-5-mini")
            await shown.sees("Model, one of nomic-embed-text")
            shown.types("qwen3:8b")
            assert 'qwen3:8b answered "ready"' in await shown.ends()
    assert [body["model"] for body in model.bodies] == ["qwen3:8b"]
    assert read_config(home.config_file).models["openai"].model == "qwen3:8b"


async def test_a_server_that_lists_no_models_is_asked_for_by_name(home: Home) -> None:
    """And one that has a single model needs no question."""
    async with OpenAIStub(lambda _: "ready") as model, asyncio.timeout(PATIENCE_S):
        words = ("--provider", "openai", "--base-url", model.url, "--home", str(home.path))
        async with prompt("connect", "model", *words) as shown:
            await shown.sees("Key of openai")
            shown.types("")
            await shown.sees("Name of the model at that server [gpt-5-mini]")
            shown.types("local-1")
            assert 'local-1 answered "ready"' in await shown.ends()
        model.models = ("only-1",)
        async with prompt("connect", "model", *words) as shown:
            await shown.sees("Key of openai")
            shown.types("")
            assert 'only-1 answered "ready"' in await shown.ends()
