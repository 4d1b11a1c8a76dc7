"""The bench of several gateways runs what it says: one with its own state, then more and more of them on one Redis."""

import pytest

from bench.gateways import Talk, measure, plans
from tests.fakes.redis_server import KINDS, program


def test_each_number_of_gateways_gets_the_same_talk() -> None:
    """A burst and a steady talk, in the same chats, with a model that takes no time."""
    made = list(plans(Talk(burst=40, steady=30, a_second=10, chats=6), most=3))
    assert [(burst.gateways, burst.on_redis) for _, burst, _ in made] == [(1, False), (1, True), (2, True), (3, True)]
    for _, burst, steady in made:
        assert (burst.pace.messages, burst.pace.minutes, burst.pace.chats) == (40, 0, 6)
        assert (steady.pace.messages, steady.pace.minutes * 60, steady.gateways) == (30, 3, burst.gateways)
        assert burst.model_s == steady.model_s == 0


@pytest.mark.nightly
async def test_two_gateways_are_measured_and_lose_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """A short run of the whole; each row is printed when it is there."""
    if not any(map(program, KINDS)):
        pytest.skip("no Redis or Valkey server is installed here")
    rows = await measure(Talk(burst=24, steady=12, a_second=4, chats=6), most=2)
    assert all(row.is_right for row in rows)
    assert capsys.readouterr().out.splitlines() == [row.line() for row in rows]
