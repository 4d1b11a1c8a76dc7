"""Notices to the owner of workspace files that are too long to be shown whole in an agent's prompt."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from gateway.agent.file_trouble import Tell
from gateway.errors import StoreError
from gateway.stores.ports import Store
from gateway.stores.remembered import remember, remembered
from workspaces.access import AgentId
from workspaces.bootstrap import ShownExtent

MEND = "shorten it, or raise file_chars and total_chars under [memory] in the configuration"

Look = Callable[[], Awaitable[Sequence[ShownExtent]]]


class FileNotice(Struct, frozen=True, array_like=True):
    """The last notice to the owner about a file; lengths in characters."""

    length: int
    missing: int


def news(
    told: Mapping[str, FileNotice], files: Iterable[ShownExtent]
) -> tuple[list[ShownExtent], dict[str, FileNotice]]:
    """Return which of *files* the owner is to be told of now, and what they have been told of afterwards.

    A file is told when it is first cut, and again when twice as much is missing, so that one that grows with each
    note is not told with each note. One that was shortened until it is shown whole is forgotten.
    """
    fresh: list[ShownExtent] = []
    known: dict[str, FileNotice] = {}
    for file in files:
        before = told.get(file.name)
        if file.missing and (before is None or file.missing >= 2 * before.missing):
            fresh.append(file)
            known[file.name] = FileNotice(file.length, file.missing)
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
        told = await remembered(self._store, key, dict[str, FileNotice]) or {}
        fresh, known = news(told, files)
        for file in fresh:
            said = (
                f"{file.name} of agent {self._agent} is too long for its prompt, which contains {file.shown:,} of its "
                f"{file.length:,} characters: the agent sees the rest only when it searches or reads the file. To fix "
                f"this, {MEND}."
            )
            await self._tell_owner(f"{key}:{file.name}:{file.length}:{file.missing}:{self._clock():%Y-%m-%d}", said)
        if known != told:
            await remember(self._store, key, known)
