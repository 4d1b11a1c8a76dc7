"""A model that answers HTTP 500: commands that need no model are answered, and what was said keeps its place."""

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from gateway.control.stream_wire import ChatOrder, ChatSign
from gateway.turns.postponement import FIRST_RETRY_S
from tests.fakes.openai_stub import OpenAIStub
from tests.fakes.patience import PATIENCE_S
from tests.fakes.provider_stub import Body, Refusal, Step
from tests.gateway.web.house import OWNER_TOKEN, bearer, open_house
from tests.gateway.web.house import House as WebHouse
from tests.journeys.house import make_home, openai_section, running

AT_ONCE_S = 1.0
READING = {
    "/status": "HTTP 500",
    "/help all": "/promises",
    "/promises": "**Open**",
    "/why silence": "unanswered messages",
    "/whoami": "You are",
    "/model": "answers here",
    "/stauts": "Did you mean /status?",
}
"""Commands that need no model, and words of their answers."""


async def no_reply(_: str, __: bool) -> None:
    """Show nothing."""


@dataclass
class Away:
    """A gateway whose model is away."""

    web: WebHouse
    is_back: asyncio.Event

    async def says(self, text: str) -> tuple[str, list[str]]:
        """Say *text* at the terminal; return its answer, and the reasons that it must wait."""
        replies: list[str] = []
        signs: list[ChatSign] = []

        async def on_reply(text: str, is_answer: bool) -> None:
            replies.extend([text] if is_answer else [])

        await self.web.app.operator.chat(ChatOrder(text), on_reply, signs.append)
        return "\n".join(replies), [sign.text for sign in signs if sign.kind == "postponed"]

    async def asks(self, text: str) -> tuple[int, str]:
        """Say *text* by HTTP; return the status and the answer."""
        body = {"model": "main", "messages": [{"role": "user", "content": text}]}
        reply = await self.web.http.post("/v1/chat/completions", json=body, headers=bearer(OWNER_TOKEN))
        told = reply.json()
        return reply.status_code, told["choices"][0]["message"]["content"] if reply.is_success else str(told)

    def asked(self) -> list[str]:
        """Return the last words of each request that was answered."""
        return [str(body["messages"][-1]["content"]).splitlines()[-1] for body in self.web.model.bodies]


@pytest.fixture
async def away(tmp_path: Path) -> AsyncIterator[Away]:
    is_back = asyncio.Event()

    def script(_: Body) -> Step:
        return "I am here." if is_back.is_set() else Refusal(500)

    async with open_house(tmp_path, script) as web:
        yield Away(web, is_back)


async def test_commands_at_the_terminal_pass_a_message_that_waits_for_its_model(away: Away) -> None:
    """Each is answered at once; the message is answered once when the model is back, as the last of its request."""
    _, reasons = await away.says("are you there")
    assert len(reasons) == 1
    for text, words in READING.items():
        async with asyncio.timeout(AT_ONCE_S):
            answer, reasons = await away.says(text)
        assert words in answer
        assert (bool(answer), reasons) == (True, [])
    away.is_back.set()
    before = len(away.web.model.bodies)
    answer, _ = await away.says("and now?")
    assert answer == "I am here."
    assert away.asked()[before:] == ["are you there", "and now?"]
    assert not any("/status" in str(body) for body in away.web.model.bodies)


async def test_commands_by_http_pass_a_message_that_waits_for_its_model(away: Away) -> None:
    """None hangs behind the message that its sender was told to be kept."""
    status, told = await away.asks("are you there")
    assert (status, "postponed" in told) == (503, True)
    for text in ("/status", "/help", "/model"):
        async with asyncio.timeout(AT_ONCE_S):
            assert (await away.asks(text))[0] == 200
    away.is_back.set()
    before = len(away.web.model.bodies)
    assert await away.asks("and now?") == (200, "I am here.")
    assert away.asked()[before:] == ["are you there", "and now?"]


async def test_commands_that_change_the_conversation_keep_their_place(away: Away) -> None:
    """`/new` ends the conversation when the message before it is answered."""
    await away.says("are you there")
    answer, reasons = await away.says("/new")
    assert (answer, len(reasons)) == ("", 1)
    away.is_back.set()
    before = len(away.web.model.bodies)
    assert (await away.says("and now?"))[0] == "I am here."
    texts = away.asked()[before:]
    assert (texts[0], texts[-1]) == ("are you there", "and now?")


async def test_a_command_given_during_the_attempt_waits_for_its_end_alone(away: Away) -> None:
    """The terminal does not take the failure of the message before it for its own."""
    async with asyncio.TaskGroup() as tasks:
        first = tasks.create_task(away.says("are you there"))
        while not away.web.model.bodies:  # noqa: ASYNC110  # has no event
            await asyncio.sleep(0.01)
        answer, reasons = await away.says("/status")
    assert ("HTTP 500" in answer, reasons) == (True, [])
    assert len((await first)[1]) == 1


async def test_another_model_answers_the_message_that_waits(tmp_path: Path) -> None:
    """`/model` is answered at once, and the message need not wait for its next attempt."""

    def script(body: Body) -> Step:
        return "I am here." if body["model"] == "other-1" else Refusal(500)

    async with OpenAIStub(script) as model:
        home = make_home(tmp_path / "home", model=openai_section(model.url))
        other = openai_section(model.url).replace("stub-1", "other-1")
        home.write(home.config_file, f"{home.config_file.read_text('utf-8')}\n[models.other]\n{other}\n")
        async with running(home) as app:
            await app.operator.chat(ChatOrder("are you there"), no_reply)
            async with asyncio.timeout(PATIENCE_S):
                replies: list[str] = []

                async def on_reply(text: str, _: bool) -> None:
                    replies.append(text)

                await app.operator.chat(ChatOrder("/model other"), on_reply)
                assert "`other` answers here" in replies[0]
                begun = time.monotonic()
                while str(model.bodies[-1]["model"]) != "other-1":  # noqa: ASYNC110  # has no event
                    await asyncio.sleep(0.01)
                assert time.monotonic() - begun < FIRST_RETRY_S / 2
