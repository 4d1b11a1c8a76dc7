"""Retry policy for models; no other module retries them."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

import structlog
from msgspec import Struct

from gateway.errors import ModelUnavailableError
from workspaces.backoff import Backoff

log = structlog.get_logger()

T = TypeVar("T")

WAITS = Backoff(0.5, 20.0)


class Retry(Struct, frozen=True):
    """Retries while a model is unavailable: exponential delays with full jitter, or the provider's own delay."""

    tries: int = 3
    waits: Backoff = WAITS
    """A provider that asks for a longer wait is skipped at once, so that another model can answer."""
    patience_s: float = 60.0
    """No attempt begins later than this after the first: a provider that hangs must not use up the turn."""
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    chance: Callable[[], float] = random.random
    clock: Callable[[], float] = time.monotonic

    async def __call__(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Return the first result of *attempt*.

        Raises its last ModelUnavailableError, and every other error at once.
        """
        latest = self.clock() + self.patience_s
        for tried in range(1, self.tries):
            try:
                return await attempt()
            except ModelUnavailableError as failure:
                wait_s = self._wait_s(tried, failure.retry_after_s)
                if wait_s > self.waits.longest_s or self.clock() + wait_s > latest:
                    raise
                log.info("model call retried", why=str(failure), wait_s=round(wait_s, 1))
            await self.sleep(wait_s)
        return await attempt()

    def _wait_s(self, tried: int, retry_after_s: float | None) -> float:
        if retry_after_s is not None:
            return retry_after_s
        return self.waits.delay_s(tried) * self.chance()
