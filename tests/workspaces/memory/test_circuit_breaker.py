"""An index that gave no answer in time is left alone for longer each time, until it answers."""

import pytest

from workspaces.memory.circuit_breaker import CircuitBreaker
from workspaces.memory.client import MemoryUnavailableError


def test_only_an_answer_starts_the_pauses_anew() -> None:
    """Notes that were indexed end the pause alone; searches that time out together count once."""
    now_s = [100.0]
    breaker = CircuitBreaker(lambda: now_s[0])

    def fails_and_pauses_for(pause_s: float) -> None:
        for _ in range(3):
            breaker.begin()
        now_s[0] += 0.9 * pause_s
        with pytest.raises(MemoryUnavailableError, match="a moment ago"):
            breaker.check()
        now_s[0] += 0.1 * pause_s
        breaker.check()

    fails_and_pauses_for(0.5)
    breaker.begin()
    breaker.retry()
    breaker.check()
    for pause_s in (2.0, 4.0, 5.0, 5.0):
        fails_and_pauses_for(pause_s)
    breaker.end()
    fails_and_pauses_for(0.5)
