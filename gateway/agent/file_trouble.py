"""Owner notices about files that an agent cannot write or leaves out: one notice an incident."""

import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime, timedelta
from enum import StrEnum
from hashlib import blake2b
from pathlib import PurePosixPath

from gateway.errors import StoreError
from workspaces.access import AgentId
from workspaces.file_slot import Identity
from workspaces.files import Folder
from workspaces.folder_entries import LeftOut, describe_left_out, mend

OVER_AFTER = timedelta(minutes=10)
"""Time without failures before a success ends an incident: a nearly full disk fails only now and then."""
Tell = Callable[[str, str], Awaitable[None]]
"""Takes a key, under which the owner is notified once, and the text. Raises StoreError when that cannot be stored."""


class UnwritableFiles(StrEnum):
    """The files that cannot be written; both kinds when a disk is full."""

    FILES = "files"
    HISTORY = "history"


class FileTroubleNotices:
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
            if failed_at is not None and abs(self._clock() - failed_at) >= OVER_AFTER:
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
