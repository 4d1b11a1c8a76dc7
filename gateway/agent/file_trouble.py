"""Owner notices about files that an agent cannot write or leaves out: one notice an incident."""

import json
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from hashlib import blake2b
from pathlib import PurePosixPath

from gateway.errors import StoreError
from gateway.stores.ports import Store
from workspaces.access import AgentId
from workspaces.bootstrap import ShownExtent
from workspaces.files import Folder, Identity
from workspaces.folder_entries import LeftOut, describe_left_out, mend

OVER_AFTER = timedelta(minutes=10)
"""Time without failures before a success ends an incident: a nearly full disk fails only now and then."""
Tell = Callable[[str, str], Awaitable[None]]
"""Takes a key, under which the owner is notified once, and the text. Raises StoreError when that cannot be stored."""


class UnwritableFiles(StrEnum):
    """The files that cannot be written; both kinds when a disk is full."""

    FILES = "files"
    HISTORY = "history"


class Alarm:
    """Tracks the file incidents of one agent. Every method but `ring` may be called on any thread."""

    def __init__(self, agent: AgentId, folder: Folder, tell: Tell, clock: Callable[[], datetime]) -> None:
        self._agent = agent
        self._folder = folder
        self._tell = tell
        self._clock = clock
        self._lock = threading.Lock()
        self._failed_at: dict[UnwritableFiles, datetime] = {}
        """The causes of the present incident, each with its latest failure."""
        self._untold: dict[str, str] = {}
        """Pending notices for the owner, by the key under which each is sent once."""
        self._left_out: frozenset[tuple[PurePosixPath, Identity]] = frozenset()
        """The files that were left out at the last check."""
        self.is_to_look = True
        """A file may be left out that the owner does not know of."""

    def troubled(self, cause: UnwritableFiles, why: str) -> None:
        """Record that something could not be written, and the reason."""
        now = self._clock()
        with self._lock:
            if not self._failed_at:
                said = (
                    f"Agent {self._agent} has trouble with its files: {why}. It continues automatically once that is "
                    "fixed."
                )
                self._untold[f"files:{self._agent}:{now.isoformat()}"] = said
            self._failed_at[cause] = now

    def worked(self, cause: UnwritableFiles) -> None:
        """Record a successful write."""
        with self._lock:
            failed_at = self._failed_at.get(cause)
            if failed_at is not None and self._clock() - failed_at >= OVER_AFTER:
                del self._failed_at[cause]

    def met(self, left_out: LeftOut) -> None:
        """Record that a file was left out that would have been read."""
        self.is_to_look = self.is_to_look or (left_out.path, left_out.identity) not in self._left_out

    def look_again(self) -> None:
        """Note that a file may be left out that the owner does not know of."""
        self.is_to_look = True

    def look(self) -> int:
        """Check the workspace and return the number of files that are newly left out.

        Raises WorkspaceUnusableError.
        """
        self.is_to_look = False
        found = self._folder.left_out()
        now = frozenset((each.path, each.identity) for each in found)
        fresh, self._left_out = now - self._left_out, now
        if fresh:
            stand = "\0".join(f"{each.path}\0{each.identity}\0{each.changed_ns}" for each in found)
            key = blake2b(stand.encode(), digest_size=8).hexdigest()
            said = (
                f"Agent {self._agent} skips files and continues without them: {describe_left_out(found)}. It neither "
                "reads nor changes a file that has a second name, because the file may belong to somebody else. "
                "Copies made of hard links (cp -al) and deduplicating programs create such names. To include the "
                f"files again: `{mend(self._folder.root, found)}`"
            )
            self._untold[f"left-out:{self._agent}:{key}"] = said
        return len(fresh)

    async def ring(self) -> None:
        """Notify the owner of everything pending; postpone it while the store cannot be written."""
        with suppress(StoreError):  # the store reports its own failures
            for key, said in list(self._untold.items()):
                await self._tell(key, said)
                self._untold.pop(key, None)  # another caller may have notified meanwhile


MEND = "shorten it, or raise file_chars and total_chars under [memory] in the configuration"

Look = Callable[[], Awaitable[Sequence[ShownExtent]]]


@dataclass(frozen=True, slots=True)
class Told:
    """What the owner was told of a file; lengths in characters."""

    length: int
    missing: int


def news(told: Mapping[str, Told], files: Iterable[ShownExtent]) -> tuple[list[ShownExtent], dict[str, Told]]:
    """Return which of *files* the owner is to be told of now, and what they have been told of afterwards.

    A file is told when it is first cut, and again when twice as much is missing, so that one that grows with each
    note is not told with each note. One that was shortened until it is shown whole is forgotten.
    """
    fresh: list[ShownExtent] = []
    known: dict[str, Told] = {}
    for file in files:
        before = told.get(file.name)
        if file.missing and (before is None or file.missing >= 2 * before.missing):
            fresh.append(file)
            known[file.name] = Told(file.length, file.missing)
        elif before is not None and (file.missing or file.length >= before.length):
            known[file.name] = before
    return fresh, known


def describe_cut_files(files: Iterable[ShownExtent]) -> str:
    """Return which of *files* are cut and by how much; empty if none is."""
    return ", ".join(
        f"{file.name} ({file.shown:,} of {file.length:,} characters are shown)" for file in files if file.missing
    )


class CutFiles:
    """Follows which files of one agent are cut in its prompt."""

    def __init__(self, agent: AgentId, look: Look, store: Store, tell: Tell, clock: Callable[[], datetime]) -> None:
        """*look* reads the files as the owner's prompt shows them; it raises WorkspaceError."""
        self._agent = agent
        self._store = store
        self._tell_owner = tell
        self._clock = clock
        self.look = look
        self.is_to_look = True
        """A file may have changed since the last look."""

    def look_again(self) -> None:
        """Note that a file may have changed."""
        self.is_to_look = True

    async def ring(self) -> None:
        """Tell the owner what is cut that they do not know of; while the store cannot be written, later.

        Raises WorkspaceError.
        """
        if not self.is_to_look:
            return
        self.is_to_look = False
        files = await self.look()
        try:
            await self._told(files)
        except StoreError:  # the store tells of its own trouble
            self.is_to_look = True

    async def _told(self, files: Sequence[ShownExtent]) -> None:
        key = f"cut_files:{self._agent}"
        told = {name: Told(*numbers) for name, numbers in json.loads((await self._store.get(key)) or "{}").items()}
        fresh, known = news(told, files)
        for file in fresh:
            said = (
                f"{file.name} of agent {self._agent} is too long for its prompt, which contains {file.shown:,} of its "
                f"{file.length:,} characters: the agent sees the rest only when it searches or reads the file. To fix "
                f"this, {MEND}."
            )
            await self._tell_owner(f"{key}:{file.name}:{file.length}:{file.missing}:{self._clock():%Y-%m-%d}", said)
        if known != told:
            await self._store.put(key, json.dumps({name: [each.length, each.missing] for name, each in known.items()}))
