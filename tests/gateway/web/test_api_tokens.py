"""What the holder of a token may do."""

from datetime import date, timedelta
from pathlib import Path

import openai
import pytest

from gateway.web.api_tokens import ChatsOfToday, TokenHolder
from gateway.web.errors import HttpError
from tests.gateway.web.house import WEB, open_house


def test_a_token_holds_so_many_conversations_a_day() -> None:
    """Those that it holds go on, others begin tomorrow; another token has its own, and the owner no bound."""
    day = date(2026, 3, 1)
    chats = ChatsOfToday(lambda: day)
    visitor = TokenHolder("visitor", ("main", "work"), 3)
    for agent, chat in (("main", "a"), ("main", "b"), ("work", "a")):
        chats.check(visitor, agent, chat)
    with pytest.raises(HttpError, match=r"limit of 3 conversations today.*web\.tokens\.visitor\.chats_a_day"):
        chats.check(visitor, "main", "c")
    chats.check(visitor, "work", "a")
    chats.check(TokenHolder("other", ("main",), 1), "main", "c")
    for number in range(1_000):
        chats.check(TokenHolder("laptop", ("main",)), "main", str(number))
    day += timedelta(days=1)
    chats.check(visitor, "main", "c")


async def test_a_program_cannot_begin_conversation_after_conversation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under names of its own making; the one too many asks no model and leaves no transcript."""
    monkeypatch.setattr("tests.gateway.web.house.WEB", WEB.replace("[agents.work]", "chats_a_day = 2\n[agents.work]"))
    messages = [{"role": "user", "content": "hello"}]
    async with open_house(tmp_path, lambda _: "Good day.") as house:
        for user in ("a", "b", "a"):
            await house.guest.chat.completions.create(model="main", messages=messages, user=user)  # type: ignore[arg-type]
        asked = len(house.model.bodies)
        for number in range(5):
            with pytest.raises(openai.RateLimitError, match="limit of 2 conversations today"):
                await house.guest.chat.completions.create(model="main", messages=messages, user=f"new{number}")  # type: ignore[arg-type]
        assert len(house.model.bodies) == asked == 3
        for number in range(3):
            await house.owner.chat.completions.create(model="main", messages=messages, user=f"new{number}")  # type: ignore[arg-type]
    assert len(list((tmp_path / "home/agents/main/sessions").glob("guest*.jsonl"))) == 2
