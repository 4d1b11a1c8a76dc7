"""The journal of one turn: its entries in the transcript, or in memory where the transcript must not change."""

from collections.abc import Sequence

from gateway.agent.entries import HALTED, UNFINISHED, Entry, Mark, ReplyEntry, UserEntry
from gateway.stores.rows import InboxId, TurnId
from gateway.transcripts.codec import Record
from gateway.transcripts.writer import Transcript


class TurnJournal:
    """The entries of one turn, in the transcript of its session: durable, and there again after a crash."""

    def __init__(self, transcript: Transcript, turn_id: TurnId) -> None:
        self.transcript = transcript
        self.turn_id = turn_id

    @property
    def records(self) -> Sequence[Record]:
        """Return the records of the turn so far, with its marks."""
        return self.transcript.records.of(self.turn_id)

    @property
    def entries(self) -> list[Entry]:
        """Return the entries of the turn so far."""
        return self.transcript.entries_of(self.turn_id)

    async def append(self, *entries: Entry | Mark) -> None:
        """Add *entries*, all or none. Raises StoreError."""
        await self.transcript.append(self.turn_id, *entries)

    @property
    def message_ids(self) -> list[str]:
        """Return the ids of the messages that the turn answers, its own first; empty before it has begun."""
        return [entry.message_id for entry in self.entries if isinstance(entry, UserEntry)]

    @property
    def joined(self) -> list[InboxId]:
        """Return the messages that joined the turn: they are answered together with it."""
        return [
            InboxId(int(entry.message_id)) for entry in self.entries if isinstance(entry, UserEntry) and entry.joins
        ]

    @property
    def has_failed(self) -> bool:
        """Return whether the turn ended without an answer of its own."""
        return self._is_ended_by(UNFINISHED)

    @property
    def is_halted(self) -> bool:
        """Return whether the turn was stopped or interrupted."""
        return self._is_ended_by(HALTED)

    def was_answered(self) -> bool:
        """Return whether the turn has its answer and a later one began: it was committed, and the store lost that."""
        records, is_followed = self.transcript.records, False
        for record in reversed(records) if records.knows(self.turn_id) else ():
            if record.turn_id == self.turn_id:
                return is_followed and isinstance(record.entry, ReplyEntry) and not record.entry.calls
            is_followed = is_followed or isinstance(record.entry, UserEntry)
        return False

    def _is_ended_by(self, model: str) -> bool:
        return any(isinstance(entry, ReplyEntry) and entry.model == model for entry in self.entries)


class TransientJournal(TurnJournal):
    """The entries of a command that passes a waiting message, in memory alone.

    The unfinished turn of that message stays the last of the transcript. A crash loses these entries: the command is
    run again from the inbox.
    """

    def __init__(self, transcript: Transcript, turn_id: TurnId) -> None:
        super().__init__(transcript, turn_id)
        self._entries: list[Entry] = []

    @property
    def entries(self) -> list[Entry]:
        """Return the entries of the turn so far."""
        return [*self._entries]

    async def append(self, *entries: Entry | Mark) -> None:
        """Add *entries*; marks are about the transcript, and are left out."""
        self._entries.extend(each for each in entries if not isinstance(each, Mark))
