"""JSON requests to a model provider, with their deadlines, retries, Retry-After and pauses.

Plain httpx2, not the providers' SDKs: small requests under one set of rules. They run on one thread's event loop, so
that a deadline really ends a request, and one that hangs does not hold up the worker's end.
"""

import asyncio
import logging
import random
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

import httpx2
from msgspec import Struct

from workspaces.memory.index.endpoint_errors import EndpointDownError, EndpointError, EndpointRefusedError

T = TypeVar("T")
_log = logging.getLogger(__name__)

_PASSING = {408, 409, 423, 425, 429, 499}
"""Client errors that a retry may cure."""


@dataclass(frozen=True, slots=True)
class ProviderAccount:
    """Address and credentials of a provider."""

    name: str
    """Name used in messages."""
    base_url: str
    api_key: str = field(repr=False)
    """Empty for a server without authentication."""
    timeout_s: float = 30.0
    """For one attempt during indexing."""


class Patience(Struct, frozen=True):
    """Retry policy, and pauses after a failure."""

    tries: int = 3
    first_wait_s: float = 0.5
    longest_wait_s: float = 20.0
    """A longer wait requested by the provider ends the retries, and pauses it for as long."""
    pause_s: float = 30.0
    """After the last attempt failed."""
    refused_pause_s: float = 300.0
    """After a refusal, which needs a change of the configuration."""
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    chance: Callable[[], float] = random.random
    clock: Callable[[], float] = time.monotonic


class Endpoint:
    """One provider, called from a thread that may block; closed by `close`."""

    def __init__(self, account: ProviderAccount, patience: Patience | None = None) -> None:
        self.account = account
        self._patience = patience or Patience()
        self._client: httpx2.AsyncClient | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=f"ask-{account.name}", daemon=True)
        self._thread.start()
        self._until = 0.0
        self._reason = ""

    @property
    def trouble(self) -> str:
        """Reason for the present pause; empty when it may be called."""
        return self._reason if self._patience.clock() < self._until else ""

    def begin(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        """Start *work*, which may `post`; the caller waits for its result elsewhere."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def within(self, deadline_s: float, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of *work*, which is cancelled after *deadline_s*. Raises EndpointError."""
        return self.begin(self._with_deadline(deadline_s, work)).result()

    async def post(self, path: str, body: Mapping[str, object], tries: int | None = None) -> Any:
        """Return the JSON answer to *body*, after at most *tries* attempts (default: the policy's). Raises
        EndpointError.
        """
        if self.trouble:
            raise EndpointDownError(self.trouble)
        try:
            answer = await self._post_with_retries(path, body, tries or self._patience.tries)
        except EndpointRefusedError as exc:
            self.give_up(str(exc), self._patience.refused_pause_s)
            raise
        except EndpointDownError as exc:
            self.give_up(str(exc), max(self._patience.pause_s, exc.retry_after_s or 0.0))
            raise
        self._reason = ""
        return answer

    def give_up(self, reason: str, pause_s: float) -> None:
        """Pause the provider for *pause_s*."""
        self._reason, self._until = reason, self._patience.clock() + pause_s
        _log.warning("%s is left alone for %.0f s: %s", self.account.name, pause_s, reason)

    def close(self) -> None:
        """Cancel every request and end the thread; idempotent."""
        if self._loop.is_closed():
            return
        self.begin(self._end()).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _end(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        if self._client is not None:
            await self._client.aclose()

    async def _with_deadline(self, deadline_s: float, work: Coroutine[Any, Any, T]) -> T:
        with suppress(EndpointRefusedError):  # of the key; the request says so
            self._open()  # takes longer than some deadlines on a busy machine
        try:
            async with asyncio.timeout(deadline_s):
                return await work
        except TimeoutError as exc:
            reason = f"{self.account.name}: no answer within {deadline_s:g} seconds"
            self.give_up(reason, self._patience.pause_s)
            raise EndpointDownError(reason) from exc

    async def _post_with_retries(self, path: str, body: Mapping[str, object], tries: int) -> Any:
        for tried in range(1, tries):
            try:
                return await self._post_once(path, body)
            except EndpointDownError as exc:
                wait_s = self._wait_s(tried, exc.retry_after_s)
                if wait_s > self._patience.longest_wait_s:
                    raise
            await self._patience.sleep(wait_s)
        return await self._post_once(path, body)

    def _wait_s(self, tried: int, retry_after_s: float | None) -> float:
        if retry_after_s is not None:
            return retry_after_s
        return self._patience.first_wait_s * 2.0 ** (tried - 1) * (0.5 + self._patience.chance() / 2)

    async def _post_once(self, path: str, body: Mapping[str, object]) -> Any:
        name = self.account.name
        try:
            async with asyncio.timeout(self.account.timeout_s):
                response = await self._open().post(f"{self.account.base_url}{path}", json=dict(body))
        except TimeoutError as exc:
            raise EndpointDownError(f"{name}: no answer within {self.account.timeout_s:g} seconds") from exc
        except httpx2.HTTPError as exc:
            raise EndpointDownError(f"{name}: cannot be reached ({type(exc).__name__})") from exc
        if not response.is_success:
            raise _failure(name, response)
        try:
            return response.json()
        except ValueError as exc:
            raise EndpointDownError(f"{name}: its answer is not JSON") from exc

    def _open(self) -> httpx2.AsyncClient:
        if self._client is None:
            key = self.account.api_key
            if not (key.isascii() and key.isprintable()):
                raise EndpointRefusedError(f"{self.account.name}: its API key holds a character that no key has")
            headers = {"Authorization": f"Bearer {key}"} if key else {}
            self._client = httpx2.AsyncClient(headers=headers, timeout=self.account.timeout_s, trust_env=False)
        return self._client


def _failure(name: str, response: httpx2.Response) -> EndpointError:
    status = response.status_code
    if status >= 500 or status in _PASSING:
        return EndpointDownError(f"{name}: HTTP {status}", _retry_after_s(response.headers.get("Retry-After")))
    match status:
        case 401 | 403:
            mend = "check its API key"
        case 404:
            mend = "check model and base_url"
        case _:
            mend = "it does not accept the request"
    return EndpointRefusedError(f"{name}: HTTP {status}; {mend}")


def _retry_after_s(header: str | None) -> float | None:
    """Return the seconds in a Retry-After header, a number or a date."""
    if header is None:
        return None
    try:
        return max(float(header), 0.0)
    except ValueError:
        pass
    try:
        when = parsedate_to_datetime(header)
    except ValueError:
        return None
    return max((when.replace(tzinfo=when.tzinfo or UTC) - datetime.now(UTC)).total_seconds(), 0.0)
