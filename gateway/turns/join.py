"""This file lets messages that wait join the turn of another: each stands in the journal as what it is."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from gateway.agent.entries import Entry, UserEntry
from gateway.inbound.queue_modes import Current, QueueMode
from gateway.stores.rows import InboxId, InboxRow
from gateway.transcripts.writer import Transcript


@dataclass(frozen=True, slots=True)
class Joining:
    """The messages of one turn; the transcript alone says which these are."""

    current: Current
    transcript: Transcript
    said: Callable[[InboxRow], Awaitable[UserEntry]]
    """Makes an entry of a message."""
    may_join: Callable[[], Awaitable[bool]]
    """Says whether the turn's sender may still write."""

    async def begin(self) -> None:
        """Write down the turn's message, and what waits to be answered with it; after a crash, nothing is added."""
        row = self.current.row
        is_begun = bool(self._ids())
        rows = self.current.take(self._ids(), not is_begun)
        if is_begun and self.current.is_overtaken():
            self.current.halt.after_tool()
        if not is_begun:
            others = [replace(await self.said(each), joins=True) for each in rows]
            await self.transcript.append(row.turn_id, await self.said(row), *others)

    async def steered(self, hears: Callable[[Entry], None]) -> Sequence[UserEntry]:
        """Write down what came since, and return it; nothing in any other mode. *hears* is told each."""
        known = self._ids()
        is_open = self.current.mode is QueueMode.STEER and not self.current.halt.soon.is_set()
        rows = self.current.take(known, is_open and await self.may_join())
        new = [replace(await self.said(each), joins=True) for each in rows if str(each.id) not in known]
        if new:
            await self.transcript.append(self.current.row.turn_id, *new)
            for entry in new:
                hears(entry)
        return new

    def _ids(self) -> list[str]:
        entries = self.transcript.entries_of(self.current.row.turn_id)
        return [entry.message_id for entry in entries if isinstance(entry, UserEntry)]


def joined(turn: Iterable[Entry]) -> list[InboxId]:
    """Return the messages that joined a *turn*: they are answered when it is."""
    return [InboxId(int(entry.message_id)) for entry in turn if isinstance(entry, UserEntry) and entry.joins]
