"""Runs handlers: in order, each on a thread of its own, with a deadline and a rule for failures."""

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

import structlog
from msgspec import Struct

from gateway.errors import HookError, StoreError
from gateway.hooks.event import HookEvent, P
from gateway.hooks.observers import Observers
from gateway.runtime.work_journal import still_at_work

log = structlog.get_logger()

FAILED = "hook_failed"
"""Prefix of the reason code of a handler that raised, hung or returned an invalid payload; its source follows."""
DROPPED = "hook_dropped"
"""Prefix of the reason code of a handler whose queue was full, so that an event was dropped; its source follows."""


class Hook(Struct, frozen=True):
    """A handler and its source."""

    event: str
    source: str
    """The name of the entry point or file, and of the function: used in logs and counters."""
    handler: Callable[..., object]
    priority: int = 0


def in_order(hooks: Iterable[Hook]) -> list[Hook]:
    """Return *hooks* in the order in which they run: by priority, then as they were found."""
    return sorted(hooks, key=lambda hook: -hook.priority)


async def _ignore_count(_: str) -> None:
    """Ignore the count."""


class Hooks:
    """Runs handlers, one after the other; every failure is logged, counted and bounded in time."""

    def __init__(
        self,
        hooks: Sequence[Hook] = (),
        count: Callable[[str], Awaitable[None]] = _ignore_count,
        tasks: asyncio.TaskGroup | None = None,
    ) -> None:
        """*count* takes a reason code for the ledger; observing handlers run in *tasks*, and not without it."""
        self.all = tuple(in_order(hooks))
        self._wanted = frozenset(hook.event for hook in hooks)
        self._count = count
        self._stuck: dict[Hook, threading.Thread] = {}
        self._observers = None if tasks is None else Observers(tasks, self._run_observing)

    def handles(self, event: HookEvent[P]) -> bool:
        """Return whether *event* has a handler."""
        return bool(self._wanted) and not self._wanted.isdisjoint(event.names)

    async def tell(self, event: HookEvent[P], payload: P) -> P:
        """Pass *payload* through every handler of *event* and return the result.

        Raises HookError if one fails and the event decides.
        """
        for hook in self._of(event):
            payload = await self._run_deciding(hook, event, payload)
        return payload

    def note(self, event: HookEvent[P], payload: P) -> None:
        """Notify the observing handlers soon; no caller waits for them, and a slow one delays no other."""
        if self._observers is not None:
            for hook in self._of(event):
                self._observers.tell(hook, event, payload)

    async def finish(self, grace_s: float) -> None:
        """Deliver the observers' queued events for up to *grace_s* seconds, and nothing more after that."""
        if self._observers is not None and (left := await self._observers.finish(grace_s)):
            log.warning("hooks were not told everything", left=left)

    async def run(self, hook: Hook, event: HookEvent[P], payload: P) -> P:
        """Return the result of *hook* for *payload*.

        Raises TimeoutError, ValueError for an invalid payload, and any error of the handler.
        """
        given = await self._run_handler(hook, payload, event.deadline_s)
        return payload if given is None else event.checked(payload, given)

    async def count(self, reason: str) -> None:
        """Count a hook's decision or failure in the ledger."""
        with suppress(StoreError):  # the store reports its own failures
            await self._count(reason)

    def _of(self, event: HookEvent[P]) -> list[Hook]:
        return [hook for hook in self.all if hook.event in event.names]

    async def _run_deciding(self, hook: Hook, event: HookEvent[P], payload: P) -> P:
        try:
            return await self.run(hook, event, payload)
        except Exception as exc:  # foreign code: any error ends here
            log.exception("hook failed", hook=hook.source, event_name=event.name)
            await self.count(f"{FAILED}.{hook.source}")
            if event.decides:
                raise HookError(f"the hook {hook.source} failed, so {event.name} was stopped") from exc
            return payload

    async def _run_observing(self, hook: Hook, event: HookEvent[Any], payload: object, missed: int) -> None:
        if missed:
            log.warning("a hook is too slow", hook=hook.source, event_name=event.name, missed=missed)
        for _ in range(missed):
            await self.count(f"{DROPPED}.{hook.source}")
        with suppress(HookError):
            await self._run_deciding(hook, event, payload)

    async def _run_handler(self, hook: Hook, payload: object, deadline_s: float) -> object:
        """Run the handler on a thread of its own; one that hangs keeps its thread, and is not run again until it ends.

        Raises TimeoutError after *deadline_s*, and any error of the handler.
        """
        if (stuck := self._stuck.pop(hook, None)) is not None and stuck.is_alive():
            self._stuck[hook] = stuck
            raise TimeoutError("its previous run has not ended yet")
        loop = asyncio.get_running_loop()
        outcome: asyncio.Future[object] = loop.create_future()
        thread = threading.Thread(target=_work, args=(hook, payload, loop, outcome), name=hook.source, daemon=True)
        thread.start()
        try:
            with still_at_work():
                async with asyncio.timeout(deadline_s):
                    return await outcome
        except TimeoutError:
            self._stuck[hook] = thread
            raise


def _work(hook: Hook, payload: object, loop: asyncio.AbstractEventLoop, outcome: "asyncio.Future[object]") -> None:
    given: object = None
    failure: Exception | None = None
    try:
        given = hook.handler(payload)
        if inspect.iscoroutine(given):
            given = asyncio.run(given)
    except Exception as exc:  # noqa: BLE001  # handed to who waits
        failure = exc
    with suppress(RuntimeError):  # the loop has closed since: no caller waits
        loop.call_soon_threadsafe(_settle, outcome, given, failure)


def _settle(outcome: "asyncio.Future[object]", given: object, failure: Exception | None) -> None:
    if outcome.done():
        return
    if failure is not None:
        outcome.set_exception(failure)
    else:
        outcome.set_result(given)
