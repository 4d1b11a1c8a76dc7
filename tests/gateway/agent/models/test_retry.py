"""When a model is tried again, and how long that waits."""

import pytest

from gateway.agent.models.retry import Retry
from gateway.errors import ModelRefusedError, ModelUnavailableError


class Attempts:
    """Fails as told, then answers; the waits in between are kept."""

    def __init__(self, *failures: Exception, chance: float = 1.0) -> None:
        self.failures = list(failures)
        self.made = 0
        self.waits: list[float] = []
        self.now = 0.0
        self.takes_s = 0.0
        self.retry = Retry(sleep=self.sleep, chance=lambda: chance, clock=lambda: self.now)

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)

    async def __call__(self) -> str:
        self.made += 1
        self.now += self.takes_s
        if self.failures:
            raise self.failures.pop(0)
        return "answer"


async def test_waits_grow_and_are_spread() -> None:
    """Each wait is a random part of twice the one before, so that clients do not come back together."""
    attempts = Attempts(*[ModelUnavailableError("down")] * 2, chance=0.5)
    assert await attempts.retry(attempts) == "answer"
    assert attempts.waits == [0.5, 1.0]


async def test_tries_are_bounded() -> None:
    """The last failure passes through, and nothing is waited for after it."""
    attempts = Attempts(*[ModelUnavailableError(str(n)) for n in range(9)])
    with pytest.raises(ModelUnavailableError, match="2"):
        await attempts.retry(attempts)
    assert (attempts.made, len(attempts.waits)) == (3, 2)


async def test_other_errors_are_not_tried_again() -> None:
    """A refusal passes at once."""
    attempts = Attempts(ModelRefusedError("bad key"))
    with pytest.raises(ModelRefusedError):
        await attempts.retry(attempts)
    assert attempts.made == 1


async def test_a_provider_that_hangs_is_not_given_a_second_chance() -> None:
    """A try that took a minute or more is the last: a turn has other things to do with its time."""
    attempts = Attempts(*[ModelUnavailableError("no answer within 120 seconds")] * 9)
    attempts.takes_s = 120.0
    with pytest.raises(ModelUnavailableError):
        await attempts.retry(attempts)
    assert attempts.made == 1
