"""This file says what an event is that hooks take part in, and how a function becomes a handler of one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Generic, TypeVar

P = TypeVar("P")
Handler = Callable[[P], object]
"""Returns a payload or `None`; a coroutine function does so too. It runs on a thread of its own, so it may block."""

Check = Callable[[object], None]
"""Raises ValueError for what a field may not become."""

MARK = "_strandline_event"
PRIORITY = "_strandline_priority"


@dataclass(frozen=True, slots=True)
class Event(Generic[P]):
    """Something that handlers can take part in."""

    name: str
    checked: Callable[[P, object], P]
    """Returns what a handler gave back for the payload that it was given. Raises ValueError for what is no payload."""
    decides: bool
    """The rule for a handler that fails. One that decides fails closed: `Hooks.tell` raises HookError. Any other is
    passed over: the next one gets the payload as it was."""
    deadline_s: float = 2.0
    """How long one handler may take; ours."""
    sample: P | None = None
    """A payload to try a handler with."""
    aliases: tuple[str, ...] = ()
    """Other names of the same event."""
    for_programs: bool = True
    """Whether a program can take part: its payload can be told and changed in JSON."""

    @property
    def names(self) -> tuple[str, ...]:
        """Return every name by which a handler may ask for it."""
        return (self.name, *self.aliases)


def on(event: Event[P], priority: int = 0) -> Callable[[Handler[P]], Handler[P]]:
    """Mark a function as a handler of *event*; a higher *priority* comes first."""

    def marked(handler: Handler[P]) -> Handler[P]:
        setattr(handler, MARK, event.name)
        setattr(handler, PRIORITY, priority)
        return handler

    return marked


def changing(**may: Check) -> Callable[[P, object], P]:
    """Return the check of an event whose handlers may change these fields, each to what its own check lets pass.

    Without fields the event's handlers only look on.
    """

    def checked(before: P, after: object) -> P:
        if not isinstance(after, type(before)):
            raise ValueError(f"gave back {type(after).__name__}, not {type(before).__name__}")
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
                raise ValueError(f"changed {each.name}, which is not its to change")
            continue
        try:
            may[each.name](now)
        except ValueError as exc:
            raise ValueError(f"{each.name} {exc}") from exc
