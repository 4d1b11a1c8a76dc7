"""This file lets the owner's own code take part in what the gateway does: typed events, and handlers for them.

A handler is a function marked with `@on(EVENT)`. It is given the event's payload and returns another one, or `None` to
change nothing. It comes from an installed package (entry points of the group `strandline.hooks`) or from a plain file
in `<home>/hooks/`; packages come first, each in order of name. A handler is the owner's code, with the owner's rights.
"""

import asyncio
import inspect
import os
import stat
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Generic, TypeVar

import structlog

from gateway.errors import ConfigError, HookError
from workspaces.access import SessionType
from workspaces.bootstrap import BootstrapFile, Part
from workspaces.errors import WorkspaceError
from workspaces.files import Identity, clean_path

P = TypeVar("P")
Handler = Callable[[P], object]
"""Returns a payload or `None`; a coroutine function does so too. It runs on a thread of its own, so it may block."""

log = structlog.get_logger()

GROUP = "strandline.hooks"
FAILED = "hook_failed"
"""Begins the reason code of a handler that raised, hung or gave back what is no payload; its source follows."""
_MARK = "_strandline_event"
_SHAPE = (("name", str), ("text", str), ("part", Part), ("identity", Identity | None), ("is_cut", bool))
_MOST_FILES = 50
_MOST_CHARS = 1_000_000


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


def on(event: Event[P]) -> Callable[[Handler[P]], Handler[P]]:
    """Mark a function as a handler of *event*."""

    def marked(handler: Handler[P]) -> Handler[P]:
        setattr(handler, _MARK, event.name)
        return handler

    return marked


# --- agent:bootstrap


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """The files that are about to go into a prompt, whole and in order.

    A handler may add, replace and remove some. Afterwards the turn's access decides again what is shown, by name and
    by which file on disk a text was read from: a text that a handler brings itself is its own, a file is not.
    """

    agent: str
    session_type: SessionType
    files: tuple[BootstrapFile, ...]
    read: Callable[[str], BootstrapFile | None]
    """Reads another file of the workspace, as far as the turn may; `None` for what is absent or not for it."""


def _checked_files(before: Bootstrap, after: object) -> Bootstrap:
    if not isinstance(after, Bootstrap):
        raise ValueError(f"gave back {type(after).__name__}, not Bootstrap")
    if (after.agent, after.session_type, after.read) != (before.agent, before.session_type, before.read):
        raise ValueError("changed more than the files")
    files: object = after.files  # who wrote the handler may not use a type checker
    if not isinstance(files, tuple) or len(files) > _MOST_FILES:
        raise ValueError(f"files is a tuple of at most {_MOST_FILES}")
    names = [_checked_name(file) for file in files]
    if len(set(names)) < len(names):
        raise ValueError("two files have the same name; replace the first one")
    return after


def _checked_name(file: object) -> str:
    if not isinstance(file, BootstrapFile):
        raise ValueError(f"files holds {type(file).__name__}, not BootstrapFile")
    for name, kind in _SHAPE:
        if not isinstance(getattr(file, name), kind):
            raise ValueError(f"a file's {name} is of a wrong type")
    if len(file.text) > _MOST_CHARS:
        raise ValueError(f"a file's text has at most {_MOST_CHARS:,} characters")
    try:
        path = clean_path(file.name)
    except WorkspaceError as exc:
        raise ValueError(str(exc)) from exc
    if str(path) != file.name:
        raise ValueError(f"{file.name!r} is not a plain path")
    return file.name


AGENT_BOOTSTRAP: Event[Bootstrap] = Event("agent:bootstrap", _checked_files, decides=False)
"""Before a prompt is built. A handler that fails changes nothing: the access filter comes after it in any case."""

EVENTS = {event.name: event for event in (AGENT_BOOTSTRAP,)}


# --- at work


@dataclass(frozen=True, slots=True)
class Hook:
    """A handler, and where it comes from."""

    event: str
    source: str
    """The entry point's or the file's name, and the function's: names it in logs and counters."""
    handler: Callable[..., object]


async def _uncounted(_: str) -> None:
    """Keep no count."""


class Hooks:
    """Runs handlers, one after the other; every failure is logged, counted and bounded in time."""

    def __init__(self, hooks: Sequence[Hook] = (), count: Callable[[str], Awaitable[None]] = _uncounted) -> None:
        """*count* takes a reason code for the ledger."""
        self._hooks = tuple(hooks)
        self._count = count
        self._stuck: dict[Hook, threading.Thread] = {}

    def handles(self, event: Event[P]) -> bool:
        """Say whether anybody wants to hear of *event*."""
        return any(hook.event == event.name for hook in self._hooks)

    async def tell(self, event: Event[P], payload: P) -> P:
        """Hand *payload* through every handler of *event* and return what comes out.

        Raises HookError if one fails and the event decides.
        """
        for hook in self._hooks:
            if hook.event == event.name:
                payload = await self._handed(hook, event, payload)
        return payload

    async def _handed(self, hook: Hook, event: Event[P], payload: P) -> P:
        try:
            given = await self._called(hook, payload, event.deadline_s)
            return payload if given is None else event.checked(payload, given)
        except Exception as exc:  # somebody else's code: whatever it raises ends here
            log.exception("hook failed", hook=hook.source, event_name=event.name)
            await self._count(f"{FAILED}.{hook.source}")
            if event.decides:
                raise HookError(f"the hook {hook.source} failed, and {event.name} does not go on without it") from exc
            return payload

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
    if not loop.is_closed():
        loop.call_soon_threadsafe(_settle, outcome, given, failure)


def _settle(outcome: "asyncio.Future[object]", given: object, failure: Exception | None) -> None:
    if outcome.done():
        return
    if failure is not None:
        outcome.set_exception(failure)
    else:
        outcome.set_result(given)


# --- where they come from


def load_hooks(folder: Path) -> list[Hook]:
    """Return the handlers of installed packages, then those of the files in *folder*.

    Raises ConfigError for one that cannot be loaded, and for a folder or file that somebody else can write.
    """
    return [*_packaged(), *_in_files(folder)]


def _packaged() -> Iterator[Hook]:
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        try:
            found = entry.load()
        except Exception as exc:
            raise ConfigError(f"the hook {entry.name} ({entry.value}) cannot be loaded: {exc}") from exc
        yield from _handlers(found, entry.name)


def _in_files(folder: Path) -> Iterator[Hook]:
    if not folder.is_dir():
        return
    _check_owner(folder, 0o077, "chmod 700")
    for file in sorted(folder.glob("*.py")):
        _check_owner(file, 0o022, "chmod 600")
        yield from _handlers(_module(file), file.name)


def _check_owner(path: Path, forbidden: int, remedy: str) -> None:
    facts = path.lstat()
    if stat.S_ISLNK(facts.st_mode) or facts.st_uid != os.geteuid() or facts.st_mode & forbidden:
        raise ConfigError(f"{path}: hooks run with your rights, and others can change this; {remedy}, owned by you")


def _module(file: Path) -> ModuleType:
    name = f"strandline_hook_{file.stem}"
    spec = spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ConfigError(f"{file}: is no Python file")
    module = module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickles look their module up by name
    try:
        spec.loader.exec_module(module)
    except Exception as exc:
        raise ConfigError(f"{file}: cannot be loaded: {type(exc).__name__}: {exc}") from exc
    return module


def _handlers(found: object, source: str) -> list[Hook]:
    """Return the marked functions of a module, or the one that *found* is."""
    candidates = list(vars(found).values()) if isinstance(found, ModuleType) else [found]
    marked = [each for each in dict.fromkeys(filter(callable, candidates)) if hasattr(each, _MARK)]
    if not marked:
        raise ConfigError(f"the hook {source} marks no function with @on(…)")
    return [Hook(getattr(each, _MARK), f"{source}:{getattr(each, '__name__', 'handler')}", each) for each in marked]
