"""This file tells the owner of files that an agent cannot write, or leaves out: once, and of the next one again."""

import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime, timedelta
from enum import StrEnum
from hashlib import blake2b
from pathlib import PurePosixPath

from gateway.errors import StoreError
from workspaces.access import AgentId
from workspaces.files import Folder, Identity
from workspaces.folder_entries import LeftOut, mend, named

OVER_AFTER = timedelta(minutes=10)
"""How long nothing may have failed before a success ends an incident: a disk that is nearly full fails now and then."""
Tell = Callable[[str, str], Awaitable[None]]
"""Takes a key, under which the owner is told once, and the words. Raises StoreError when that cannot be stored."""


class Cause(StrEnum):
    """What cannot be written; when a disk is full, both."""

    FILES = "files"
    HISTORY = "history"


class Alarm:
    """Follows the troubles of one agent's files; all but `ring` may be called on any thread."""

    def __init__(self, agent: AgentId, folder: Folder, tell: Tell, clock: Callable[[], datetime]) -> None:
        self._agent = agent
        self._folder = folder
        self._tell = tell
        self._clock = clock
        self._lock = threading.Lock()
        self._failed_at: dict[Cause, datetime] = {}
        """The causes of the present incident, each with its latest failure."""
        self._untold: dict[str, str] = {}
        """What the owner is to be told, by the key under which it is told once."""
        self._left_out: frozenset[tuple[PurePosixPath, Identity]] = frozenset()
        """The files that were left out at the last look."""
        self.is_to_look = True
        """Something may be left out of which the owner does not know."""

    def troubled(self, cause: Cause, why: str) -> None:
        """Note that something could not be written, and why."""
        now = self._clock()
        with self._lock:
            if not self._failed_at:
                said = (
                    f"Agent {self._agent} has trouble with its files: {why}. It goes on by itself once that is mended."
                )
                self._untold[f"files:{self._agent}:{now.isoformat()}"] = said
            self._failed_at[cause] = now

    def worked(self, cause: Cause) -> None:
        """Note that something was written."""
        with self._lock:
            failed_at = self._failed_at.get(cause)
            if failed_at is not None and self._clock() - failed_at >= OVER_AFTER:
                del self._failed_at[cause]

    def met(self, left_out: LeftOut) -> None:
        """Note that a file would have been read that is left out."""
        self.is_to_look = self.is_to_look or (left_out.path, left_out.identity) not in self._left_out

    def look(self) -> int:
        """Look through the workspace and return how many files are left out that were not before.

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
                f"Agent {self._agent} leaves out files, and goes on without them: {named(found)}. It reads and changes "
                "no file that has a second name, for that may be a file of somebody else's. Copies by hard links "
                "(cp -al) and programs that join equal files make such names. To take the files in again: "
                f"`{mend(self._folder.root, found)}`"
            )
            self._untold[f"left-out:{self._agent}:{key}"] = said
        return len(fresh)

    async def ring(self) -> None:
        """Tell the owner what is untold; while the store cannot be written, later."""
        with suppress(StoreError):  # the store tells of its own trouble
            for key, said in list(self._untold.items()):
                await self._tell(key, said)
                del self._untold[key]
