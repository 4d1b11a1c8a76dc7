"""Background synchronisation of indexes and histories with their files: saved notes are soon found.

An event only tells that something changed; the follower finds the change. Files written to a temporary name and renamed
(all of ours) show as an odd pair of events, and some events are lost: neither matters.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from pathlib import Path
from typing import Literal, Protocol

from msgspec import Struct, field

from workspaces.errors import WorkspaceError

DEBOUNCE_MS = 1_500
"""Longest time for which consecutive changes are collected."""
QUIET_MS = 50
"""Quiet time after which changes are reported."""
LOOK_UP_MS = 500
"""Delay after the start of a watch before its folders are scanned for changes made before it was active."""
POLL_S = 1.0
"""Polling interval where no change events exist; a poll reads no file."""

How = Literal["events", "polling", "off"]

_log = logging.getLogger(__name__)


class Follower(Protocol):
    """Something kept in sync with files."""

    async def catch_up(self) -> None:
        """Process changes. Raises WorkspaceError on failure; the next change leads to a retry."""


class Watched(Struct, frozen=True):
    """Folders whose changes concern a follower."""

    follower: Follower
    folders: Callable[[], Awaitable[Sequence[Path]]]
    """Returns the existing folders, absolute; each is watched without its subfolders."""
    settle_s: float = 0.0
    """Delay after a change: for files that are written repeatedly."""
    room: AbstractAsyncContextManager[object] = field(default_factory=nullcontext)
    """Held while the follower catches up; a shared semaphore bounds how many do at once."""


_Mark = tuple[Watched, asyncio.Event]
"""A follower, and what is set when its files changed."""


async def keep_fresh(watched: Sequence[Watched], how: How = "events", every_s: float = 0.0) -> None:
    """Let the follower of each of *watched* catch up shortly after its folders change, until cancelled.

    They catch up every *every_s* in any case; 0 is never. `polling` is for file systems without change events, such as
    network mounts (watchfiles' own polling misses the second of two changes within a second).
    """
    marks = [(each, asyncio.Event()) for each in watched]
    every_s = min(every_s or POLL_S, POLL_S) if how == "polling" else every_s
    async with asyncio.TaskGroup() as tasks:
        for each, changed in marks:
            tasks.create_task(_follow(each, changed, every_s or None))
        if how == "events" and marks:
            tasks.create_task(_notice(marks))


async def catch_up(followers: Iterable[Follower], at_once: int) -> None:
    """Let *followers* process the changes that were made while nobody watched, *at_once* of them."""
    room = asyncio.Semaphore(at_once)
    async with asyncio.TaskGroup() as tasks:
        for each in followers:
            tasks.create_task(_catch_up(each, room))


async def _follow(watched: Watched, changed: asyncio.Event, every_s: float | None) -> None:
    while True:
        try:
            async with asyncio.timeout(every_s):
                await changed.wait()
            await asyncio.sleep(watched.settle_s)
        except TimeoutError:
            pass  # time for an unconditional check
        changed.clear()
        await _catch_up(watched.follower, watched.room)


async def _catch_up(follower: Follower, room: AbstractAsyncContextManager[object]) -> None:
    try:
        async with room:
            await follower.catch_up()
    except WorkspaceError as exc:
        _log.warning("changed files were not taken in: %s", exc)


async def _notice(marks: Sequence[_Mark]) -> None:
    folders = {changed: await each.folders() for each, changed in marks}
    while True:
        try:
            await _watch_until_folders_change(folders, marks)
        except FileNotFoundError:  # a folder was deleted between listing and watching
            await asyncio.sleep(0)
            folders |= {changed: await each.folders() for each, changed in marks}
        except ExceptionGroup as exc:  # watchfiles' own: the name of a file is no text, as from another encoding
            known, unknown = exc.split(RuntimeError)
            if known is None or unknown is not None:
                raise
            _log.warning("a change cannot be read (%s); all files are looked at", known.exceptions[0])
            await asyncio.sleep(0)
            folders |= {changed: await each.folders() for each, changed in marks}
            for _, changed in marks:
                changed.set()
        except OSError as exc:
            _log.warning("files cannot be watched (%s); they are looked at every %g s instead", exc, POLL_S)
            await _look_now_and_then([changed for _, changed in marks])


async def _look_now_and_then(marks: Iterable[asyncio.Event]) -> None:
    while True:
        await asyncio.sleep(POLL_S)
        for changed in marks:
            changed.set()


def _owners(folders: Mapping[asyncio.Event, Sequence[Path]]) -> dict[Path, list[asyncio.Event]]:
    owners = defaultdict[Path, list[asyncio.Event]](list)
    for changed, paths in folders.items():
        for path in paths:
            owners[path].append(changed)
    return dict(owners)


async def _watch_until_folders_change(folders: dict[asyncio.Event, Sequence[Path]], marks: Sequence[_Mark]) -> None:
    """Set the mark of each follower whose files change, until one has other folders, which are then in *folders*.

    Only those whose files changed are asked for their folders: with many agents to ask all took longer than to index.
    """
    from watchfiles import Change, awatch

    owners, stands = _owners(folders), False
    changes = awatch(
        *owners,
        watch_filter=None,
        debounce=DEBOUNCE_MS,
        step=QUIET_MS,
        rust_timeout=LOOK_UP_MS,
        yield_on_timeout=True,
        recursive=False,
    )
    async with aclosing(changes):
        async for found in changes:
            paths = [(kind, Path(name)) for kind, name in found]
            told = {changed for _, path in paths for changed in owners.get(path.parent) or owners.get(path) or ()}
            if not stands and not found:
                stands, told = True, {changed for _, changed in marks}
            for changed in told:
                changed.set()
            if any(kind is not Change.modified for kind, _ in paths):  # a conversation grows; folders come and go
                folders |= {changed: await each.folders() for each, changed in marks if changed in told}
                if _owners(folders).keys() != owners.keys():
                    return
