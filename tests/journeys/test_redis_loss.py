"""A Redis that loses what it confirmed: what a gateway accepted is answered nevertheless, and the owner is told."""

from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path

import pytest

from tests.fakes.redis_server import USUAL, RedisServer, running
from tests.journeys.house import OWNER, make_home, openai_section
from tests.journeys.processes import Gateway, post, server, state

BURST = 10
LOSS = "The Redis server that keeps my state has lost messages"


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    with running(USUAL, "--appendonly", "no") as redis:
        yield redis


def emptied(redis: RedisServer, gateway: Gateway) -> None:
    redis.tell("FLUSHALL")


def emptied_and_killed(redis: RedisServer, gateway: Gateway) -> None:
    gateway.kill()
    redis.tell("FLUSHALL")
    gateway.start()


def older(redis: RedisServer, gateway: Gateway) -> None:
    redis.kill()
    redis.start()


def older_and_killed(redis: RedisServer, gateway: Gateway) -> None:
    redis.kill()
    gateway.kill()
    redis.start()
    gateway.start()


@pytest.mark.parametrize("lose", [emptied, emptied_and_killed, older, older_and_killed])
def test_what_redis_loses_is_answered_nevertheless(
    lose: Callable[[RedisServer, Gateway], None], redis: RedisServer, tmp_path: Path
) -> None:
    """Each message is answered, in order; what was on its way may come twice; the owner is told once."""
    record = str(tmp_path / "telegram.jsonl")
    with server("botapi", tmp_path, "--record", record) as bot, server("openai_stub", tmp_path) as model:
        home = make_home(tmp_path / "home", bot, openai_section(f"{model}/v1"))
        settings = f'[redis]\nurl = "{redis.url}"\nlease_s = 4\naccept_loss = true\n'
        home.write(home.config_file, home.config_file.read_text() + settings)
        gateway = Gateway(home, tmp_path / "gateway.log")
        gateway.start()
        try:
            redis.tell("SAVE")
            for number in range(BURST):
                post(f"{bot}/control/says", {"chat": OWNER, "text": f"message {number}"})
            state(bot, sent=2, confirmed=BURST)
            lose(redis, gateway)
            texts = until_told(bot)
            gateway.until(lambda probe: bool(probe["ready"]))
            status = gateway.status()
            assert gateway.stop() == 0
        finally:
            gateway.kill()
    answers = [text for text in texts if not text.startswith(LOSS)]
    assert sorted(set(answers)) == sorted(f"You said: message {number}" for number in range(BURST))
    assert [text for text, _ in groupby(answers)] == [f"You said: message {number}" for number in range(BURST)]
    assert len(answers) <= BURST + 1
    assert (status["reasons"]["state_lost"], status["inbox_waiting"], status["outbox_queued"]) == (1, 0, 0)


def until_told(bot: str) -> list[str]:
    """Return what was sent once all is answered and the owner was told of the loss."""
    known = 0
    while True:
        texts = [message["text"] for message in state(bot, sent=known)["sent"]]
        if sum(text.startswith(LOSS) for text in texts) == 1 and f"You said: message {BURST - 1}" in texts:
            return texts
        assert len(texts) >= known, f"it stays at {texts}"
        known = len(texts) + 1
