"""A conversation that outgrows its model goes on, through the real SDK: flushed, summarised, every word kept."""

from pathlib import Path

from gateway.control.status_wire import StatusOrder
from gateway.control.stream_wire import ChatOrder
from gateway.sessions.flush import AGAIN, PROMPT
from tests.fakes.keeping import SUMMARY
from tests.fakes.openai_stub import OpenAIStub
from tests.fakes.provider_stub import Body, Refusal, Reply, Step, call
from tests.journeys.house import make_home, openai_section, running

ORDER = "Don't act on the offer until I say so."
MOST = 14_000
"""Characters of conversation that the provider takes: far fewer than the configuration assumes."""


def _said(body: Body) -> list[str]:
    return [str(message.get("content") or "") for message in body["messages"] if message["role"] != "system"]


def _small(body: Body) -> Step:
    """Take little, flush and summarise as asked."""
    said = _said(body)
    if sum(map(len, said)) > MOST:
        return Refusal(400, message="maximum context length exceeded", code="context_length_exceeded")
    if body["messages"][0]["content"].startswith("Summarise"):
        return SUMMARY
    if any(prompt in text for text in said[-3:] for prompt in (PROMPT, AGAIN)):
        is_done = body["messages"][-1]["role"] == "tool"
        return "NO_REPLY" if is_done else Reply(calls=(call("add_note", text="The offer stands until Friday."),))
    return "Understood."


async def test_a_provider_that_takes_less_than_assumed_is_talked_to_for_ever(tmp_path: Path) -> None:
    """Each overflow is followed by one summary and an answer; the order is in every later request, word for word."""
    answers: list[str] = []

    async def hear(text: str, _is_answer: bool) -> None:
        answers.append(text)

    said = [ORDER, *(f"Message {number}: {'about the harbour ' * 90}" for number in range(20))]
    async with OpenAIStub(_small) as provider:
        home = make_home(tmp_path / "home", model=openai_section(provider.url))
        async with running(home) as app:
            for text in said:
                await app.operator.chat(ChatOrder(text), hear)
            status = await app.operator.ask(StatusOrder())
        assert provider.problems == []
    assert answers == ["Understood."] * len(said)
    assert status.reasons["overflow"] >= 2
    assert "compaction_failed" not in status.reasons
    assert status.assumed == ("the window of model stub is 32,000 tokens; window_tokens is not set",)
    agent = home.agent("main")
    transcript = next(agent.sessions.glob("*.jsonl")).read_text("utf-8")
    assert all(text.strip() in transcript for text in said)
    assert transcript.count('"type":"summary"') == status.reasons["overflow"]
    notes = "".join(file.read_text("utf-8") for file in (agent.workspace / "memory").glob("*.md"))
    assert "The offer stands until Friday" in notes  # with its date, unless today is one
    assert ORDER in notes
    assert any(text.startswith("[Summary by the gateway") and ORDER in text for text in _said(provider.bodies[-1]))
