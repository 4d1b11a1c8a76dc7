"""Conversations at rest are let go of, and whoever speaks again is answered as if they had not been."""

import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from aiohttp import web

from gateway.agent.models.prefix_cache import PrefixCache
from gateway.app.resources import Machine
from gateway.home import Home
from gateway.transcripts import store
from gateway.transcripts.writer import Transcript
from tests.fakes.botapi import BotApi
from tests.fakes.clock import START, ManualClock
from tests.fakes.openai_stub import OpenAIStub
from tests.fakes.patience import PATIENCE_S
from tests.fakes.provider_stub import instant
from tests.journeys.house import GROUP, OWNER, make_home, openai_section, running

CHATS = [GROUP - number for number in range(5)]
SAID = [(chat, f"{number} {'harbour ' * 100}") for number in range(6) for chat in CHATS]
"""Everybody speaks in turn: who spoke least lately is who speaks next."""


class Listening(OpenAIStub):
    """A model that keeps the bytes of each request."""

    def __init__(self) -> None:
        super().__init__(instant)
        self.sent: list[bytes] = []

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.sent.append(await request.read())
        return await super()._answer(request)


def home_of(path: Path, bot: BotApi, model: OpenAIStub) -> Home:
    """Write a home in which each of the groups is answered."""
    home = make_home(path, bot.url, f"{openai_section(model.url)}\nwindow_tokens = 128000")
    groups = ", ".join(f'"{chat}" = {{ mention = false }}' for chat in CHATS)
    text = home.config_file.read_text("utf-8")
    home.write(home.config_file, text.replace(f'"{GROUP}" = {{ mention = true }}', groups))
    return home


async def requests(path: Path, said: Sequence[tuple[int, str]]) -> list[bytes]:
    """Return what the model of a new home is asked when this is said, each after the answer to the one before.

    Behind that come the requests to save notes, when the gateway ends.
    """
    async with BotApi() as bot, Listening() as model:
        async with running(home_of(path, bot, model), machine=Machine(ManualClock())):
            for number, (chat, text) in enumerate(said, 1):
                bot.says(chat, text, user_id=OWNER, chat_type="supergroup", date=int(START.timestamp()))
                await bot.until(lambda number=number: len(bot.sent) >= number, PATIENCE_S)  # type: ignore[misc]
        assert model.problems == []
        return model.sent


async def test_who_speaks_again_is_answered_as_if_nothing_had_been_let_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Byte for byte the model is asked the same, though each conversation is read anew for each message."""
    opened: list[str] = []
    read = Transcript._read

    def note(transcript: Transcript) -> None:
        opened.append(transcript._path.name)
        read(transcript)

    monkeypatch.setattr(Transcript, "_read", note)
    kept = await requests(tmp_path / "kept", SAID)
    assert len(kept) > len(SAID)
    assert len(opened) == len(CHATS), "each was read once"
    opened.clear()
    monkeypatch.setattr(store, "OPEN_BYTES", 1_000)
    monkeypatch.setattr(PrefixCache.__init__, "__defaults__", (1_000, time.monotonic))
    let_go = await requests(tmp_path / "let go", SAID)
    assert len(opened) >= len(SAID), "each was read again for each message"
    assert let_go[: len(SAID)] == kept[: len(SAID)]
    assert sorted(let_go) == sorted(kept), "notes are saved of the same"
