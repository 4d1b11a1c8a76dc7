"""Definition of an event for hooks, and the decorator that makes a function a handler of one."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, Generic, TypeVar

from msgspec import Struct

P = TypeVar("P")
Handler = Callable[[P], object]
"""Returns a payload or `None`; a coroutine function does so too. It runs on a thread of its own, so it may block."""

Check = Callable[[object], None]
"""Raises ValueError for an invalid value of a field."""

MARK = "_strandline_event"
PRIORITY = "_strandline_priority"


class HookEvent(Struct, Generic[P], frozen=True):
    """A point at which handlers can take part."""

    name: str
    checked: Callable[[P, object], P]
    """Checks a handler's result against the payload that it received. Raises ValueError for an invalid one."""
    decides: bool
    """Whether a failing handler means no: `Hooks.tell` then raises HookError.

    A failing handler of any other event is skipped: the next one gets the payload unchanged.
    """
    deadline_s: float = 2.0
    """How long one handler may take; our choice."""
    sample: P | None = None
    """A payload to try a handler with."""
    aliases: tuple[str, ...] = ()
    """Other names of the same event."""
    for_programs: bool = True
    """Whether a program can take part: its payload can be sent and changed as JSON."""

    @property
    def names(self) -> tuple[str, ...]:
        """Return every name by which a handler may register for it."""
        return (self.name, *self.aliases)


def on(event: HookEvent[P], priority: int = 0) -> Callable[[Handler[P]], Handler[P]]:
    """Mark a function as a handler of *event*; handlers with a higher *priority* run first."""

    def marked(handler: Handler[P]) -> Handler[P]:
        setattr(handler, MARK, event.name)
        setattr(handler, PRIORITY, priority)
        return handler

    return marked


def changing(**may: Check) -> Callable[[P, object], P]:
    """Return the check of an event whose handlers may change these fields, each to a value that its own check accepts.

    Without fields the event's handlers only observe.
    """

    def checked(before: P, after: object) -> P:
        if not isinstance(after, type(before)):
            raise ValueError(f"returned {type(after).__name__}, not {type(before).__name__}")
        _check_fields(before, after, may)
        return after

    return checked


def _check_fields(before: Any, after: Any, may: Mapping[str, Check]) -> None:
    for each in fields(before):
        was, now = getattr(before, each.name), getattr(after, each.name)
        if now is was:
            continue
        if each.name not in may:
            if type(now) is not type(was) or now != was:
                raise ValueError(f"changed {each.name}, which it may not change")
            continue
        try:
            may[each.name](now)
        except ValueError as exc:
            raise ValueError(f"{each.name} {exc}") from exc
