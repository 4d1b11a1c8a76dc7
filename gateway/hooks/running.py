"""This file runs handlers: in order, each on a thread of its own, with a deadline and a rule for the one that fails."""

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import structlog

from gateway.errors import HookError, StoreError
from gateway.hooks.event import Event, P
from gateway.hooks.observers import Observers
from gateway.runtime.work_journal import still_at_work

log = structlog.get_logger()

FAILED = "hook_failed"
"""Begins the reason code of a handler that raised, hung or gave back what is no payload; its source follows."""
DROPPED = "hook_dropped"
"""Begins the reason code of a handler that was not told something, as too much waited for it; its source follows."""


@dataclass(frozen=True, slots=True)
class Hook:
    """A handler, and where it comes from."""

    event: str
    source: str
    """The entry point's or the file's name, and the function's: names it in logs and counters."""
    handler: Callable[..., object]
    priority: int = 0


def in_order(hooks: Iterable[Hook]) -> list[Hook]:
    """Return *hooks* as they run: by priority, and those of one priority as they were found."""
    return sorted(hooks, key=lambda hook: -hook.priority)


async def _uncounted(_: str) -> None:
    """Keep no count."""


class Hooks:
    """Runs handlers, one after the other; every failure is logged, counted and bounded in time."""

    def __init__(
        self,
        hooks: Sequence[Hook] = (),
        count: Callable[[str], Awaitable[None]] = _uncounted,
        tasks: asyncio.TaskGroup | None = None,
    ) -> None:
        """*count* takes a reason code for the ledger; those who look on are told in *tasks*, and without it not."""
        self._hooks = tuple(in_order(hooks))
        self._wanted = frozenset(hook.event for hook in hooks)
        self._count = count
        self._stuck: dict[Hook, threading.Thread] = {}
        self._observers = None if tasks is None else Observers(tasks, self._observed)

    def handles(self, event: Event[P]) -> bool:
        """Say whether anybody wants to hear of *event*."""
        return bool(self._wanted) and not self._wanted.isdisjoint(event.names)

    async def tell(self, event: Event[P], payload: P) -> P:
        """Hand *payload* through every handler of *event* and return what comes out.

        Raises HookError if one fails and the event decides.
        """
        for hook in self._of(event):
            payload = await self._handed(hook, event, payload)
        return payload

    def note(self, event: Event[P], payload: P) -> None:
        """Tell those who look on, soon; nobody waits for them, and one that is slow holds up no other."""
        if self._observers is not None:
            for hook in self._of(event):
                self._observers.tell(hook, event, payload)

    async def finish(self, grace_s: float) -> None:
        """Let those who look on hear what waits for them, for *grace_s* seconds, and tell them nothing more."""
        if self._observers is not None and (left := await self._observers.finish(grace_s)):
            log.warning("hooks were not told everything", left=left)

    async def run(self, hook: Hook, event: Event[P], payload: P) -> P:
        """Return what *hook* makes of *payload*.

        Raises TimeoutError, ValueError for what is no payload, and whatever the handler raises.
        """
        given = await self._called(hook, payload, event.deadline_s)
        return payload if given is None else event.checked(payload, given)

    async def count(self, reason: str) -> None:
        """Count in the ledger what a hook decided, or how it failed."""
        with suppress(StoreError):  # the store tells of its own trouble
            await self._count(reason)

    def _of(self, event: Event[P]) -> list[Hook]:
        return [hook for hook in self._hooks if hook.event in event.names]

    async def _handed(self, hook: Hook, event: Event[P], payload: P) -> P:
        try:
            return await self.run(hook, event, payload)
        except Exception as exc:  # somebody else's code: whatever it raises ends here
            log.exception("hook failed", hook=hook.source, event_name=event.name)
            await self.count(f"{FAILED}.{hook.source}")
            if event.decides:
                raise HookError(f"the hook {hook.source} failed, and {event.name} does not go on without it") from exc
            return payload

    async def _observed(self, hook: Hook, event: Event[Any], payload: object, missed: int) -> None:
        if missed:
            log.warning("a hook is too slow", hook=hook.source, event_name=event.name, missed=missed)
        for _ in range(missed):
            await self.count(f"{DROPPED}.{hook.source}")
        with suppress(HookError):
            await self._handed(hook, event, payload)

    async def _called(self, hook: Hook, payload: object, deadline_s: float) -> object:
        """Run the handler on a thread of its own; one that hangs keeps its thread, and is not run again until it ends.

        Raises TimeoutError after *deadline_s*, and whatever the handler raises.
        """
        if (stuck := self._stuck.pop(hook, None)) is not None and stuck.is_alive():
            self._stuck[hook] = stuck
            raise TimeoutError("an earlier run of it has not ended yet")
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
    with suppress(RuntimeError):  # the loop has closed since: nobody waits
        loop.call_soon_threadsafe(_settle, outcome, given, failure)


def _settle(outcome: "asyncio.Future[object]", given: object, failure: Exception | None) -> None:
    if outcome.done():
        return
    if failure is not None:
        outcome.set_exception(failure)
    else:
        outcome.set_result(given)
