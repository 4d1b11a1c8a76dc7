"""A conversation through a whole gateway: noted when that stops, going on afterwards, ended by `/new`."""

from pathlib import Path

from gateway.admission.routing import SessionKey
from gateway.agent.entries import UserEntry
from gateway.control.stream_wire import ChatOrder
from gateway.control.wire import SessionsOrder
from tests.fakes.loop_probe import LoopProbe
from tests.fakes.openai_stub import OpenAIStub
from tests.journeys.house import make_home, openai_section, running
from workspaces.access import AgentId

MAIN = SessionKey(AgentId("main"), "main")
PORT = "The staging database moved to port 5433."


async def _unread(_text: str, _is_answer: bool) -> None:
    """Nobody looks."""


async def test_a_conversation_is_noted_goes_on_and_ends(tmp_path: Path) -> None:
    """The shutdown's note is there once, the next start knows what was said, and the message after `/new` does not."""
    async with OpenAIStub(lambda _: "staging port") as provider:
        home = make_home(tmp_path / "home", model=openai_section(provider.url))
        agent = home.agent("main")
        async with running(home) as app:
            await app.operator.chat(ChatOrder(PORT), _unread)
        noted = [file for file in (agent.workspace / "memory").iterdir() if PORT in file.read_text("utf-8")]
        assert len(noted) == 1
        assert noted[0].read_text("utf-8").count("Conversation until") == 1
        async with running(home) as app:
            await app.operator.chat(ChatOrder("And now?"), _unread)
            assert PORT in str(provider.bodies[-1]["messages"])
            await app.operator.chat(ChatOrder("/new"), _unread)
            await app.operator.chat(ChatOrder("Hello again."), _unread)
            [only] = provider.bodies[-1]["messages"][1:]  # below the note, which tells today's notes
            assert only["content"].rpartition("[End of the note]")[2].strip() == "Hello again."
            said = [
                entry.text
                for entry in (await app.parts.resources.sessions.open(MAIN)).entries
                if isinstance(entry, UserEntry)
            ]
            assert said == ["Hello again."]
            rows = (await app.operator.ask(SessionsOrder("list"))).sessions
            found = (await app.operator.ask(SessionsOrder("search", query="5433"))).matches
            assert [(row.session.partition(".")[0], row.ended is None) for row in rows] == [
                ("main", True),
                ("main", False),
            ]
            assert PORT in found[-1].text
        assert len(list((agent.sessions / "archive").iterdir())) == 1
        notes = {file.name: file.read_text("utf-8") for file in (agent.workspace / "memory").iterdir()}
        (session_note,) = (text for name, text in notes.items() if name.endswith("-staging-port.md"))
        assert session_note.count(PORT) == 1
        assert "And now?" in session_note
        assert not any("Hello again." in text for text in notes.values())


async def test_reading_a_long_conversation_holds_up_no_other(tmp_path: Path) -> None:
    """It is read for a summary, for the day's notes, and for facts that are to be found: 100,000 characters here."""
    async with (
        OpenAIStub(lambda _: "Yes.") as provider,
        running(make_home(tmp_path / "home", model=openai_section(provider.url))) as app,
    ):
        with LoopProbe() as probe:
            for text in ("- a\n" * 12_000, "- b\n" * 12_000, "/new"):
                await app.operator.chat(ChatOrder(text), _unread)
    assert probe.longest_s < 0.2, probe.culprit
