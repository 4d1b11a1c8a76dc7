"""Redis is away for longer than leases last and a start would wait: gateways stand by, and go on by themselves."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from tests.fakes.patience import PATIENCE_S
from tests.journeys.house import make_home, openai_section
from tests.journeys.processes import GATEWAY, ROOT, Gateway, post, server, state
from tests.journeys.several import CHATS, Kept, Trial, single, trial
from tests.zygote import FORKED

BEGIN = "import gateway.__main__; from gateway.stores.redis import leases; leases.START_PATIENCE_S = 0.5"
HASTY = "-c", f"{FORKED}{BEGIN}; gateway.__main__.main()"
"""A gateway whose start waits half a second for its server, not half a minute."""
STANDS_BY = {"ready": False, "standby": True, "loading": []}


@pytest.fixture
def kept() -> Iterator[Kept]:
    with single() as kept:
        yield kept


def told(gateway: Gateway, *words: str) -> str:
    argv = [sys.executable, *GATEWAY, *words, "--home", str(gateway.home.path)]
    done = subprocess.run(argv, cwd=ROOT, check=False, capture_output=True, text=True, timeout=PATIENCE_S)
    return done.stdout + done.stderr


def has_given_up(gateway: Gateway, _: object) -> bool:
    """Say whether it tried to start again for as long as a start tries."""
    return "on standby until the store answers" in gateway.log.read_text()


def take_away(made: Trial, at_least_s: float) -> None:
    """End Redis while every gateway has messages to answer; bring it back once all stand by and gave up a start."""
    for gateway in made.gateways:
        made.until_at_work(gateway)
    redis, begun = made.kept.history_writer(), time.monotonic()
    redis.kill()
    for gateway in made.gateways:
        gateway.until(lambda probe: probe == STANDS_BY)
        gateway.until(partial(has_given_up, gateway))
    for chat in CHATS.values():
        post(f"{made.bot}/control/says", {"chat": chat, "text": f"message {made.burst}"})
    one = made.gateways[0]
    assert one.get("/healthz") == {"alive": True}
    (why,) = one.status()["waits_for"]
    assert "does not answer" in why
    assert f"waits     {why}" in told(one, "status")
    assert "store     unavailable for 0:" in told(one, "status")
    assert f"this gateway is on standby: {why}" in told(one, "chat", "--message", "hello")
    time.sleep(max(0.0, begun + at_least_s - time.monotonic()))
    for gateway in made.gateways:
        assert gateway.process is not None
        assert gateway.process.poll() is None
        assert gateway.get("/healthz") == {"alive": True}
    redis.start()


def test_gateways_outlast_a_redis_that_is_away(kept: Kept, tmp_path: Path) -> None:
    """Nothing is accepted meanwhile; what was said waits at its platform, and each message is answered once."""
    with trial(tmp_path, kept, burst=20, program=HASTY) as made:
        state(made.bot, sent=5)
        take_away(made, at_least_s=0)
        replace(made, burst=made.burst + 1).judge("Redis was away", doubled_at_most=len(CHATS))


def test_status_says_that_redis_is_away_and_what_waits(kept: Kept, tmp_path: Path) -> None:
    """While the gateway still runs: in words and as JSON, for how long, and all as before afterwards."""
    record = str(tmp_path / "telegram.jsonl")
    with server("botapi", tmp_path, "--record", record) as bot, server("openai_stub", tmp_path) as model:
        home = make_home(tmp_path / "home", bot, openai_section(f"{model}/v1"))
        home.write(home.config_file, home.config_file.read_text() + f'[redis]\nurl = "{kept.url}"\nlease_s = 300\n')
        gateway = Gateway(home, tmp_path / "gateway.log")
        gateway.start()
        try:
            assert "store     " not in told(gateway, "status")
            kept.history_writer().kill()
            text = told(gateway, "status")
            assert "store     unavailable for 0:0" in text
            assert "does not answer" in text
            assert "inbox     0 waiting, as far as this gateway knows" in text
            assert "heartbeat" not in text
            first = json.loads(told(gateway, "status", "--json"))
            assert first["running"]
            assert "does not answer" in first["store_trouble"]
            assert json.loads(told(gateway, "status", "--json"))["store_away_s"] > first["store_away_s"] > 0
            kept.history_writer().start()
            gateway.until(lambda _: "store     " not in told(gateway, "status"))
            assert "counted   store_trouble: 1" in told(gateway, "status")
            assert gateway.stop() == 0
        finally:
            gateway.kill()


@pytest.mark.nightly
def test_gateways_outlast_a_redis_that_is_away_for_a_minute_and_a_half(kept: Kept, tmp_path: Path) -> None:
    """The same, with the gateways as they are, for three times as long as a start waits."""
    with trial(tmp_path, kept, burst=40) as made:
        state(made.bot, sent=20)
        take_away(made, at_least_s=90)
        replace(made, burst=made.burst + 1).judge("Redis was away for 90 s", doubled_at_most=len(CHATS))
