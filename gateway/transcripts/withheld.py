"""Messages that their sender ordered to keep out of notes and search, and the answers to them."""

from collections.abc import Sequence

from gateway.agent.authorship import own_words
from gateway.agent.entries import ReplyEntry, UserEntry
from gateway.agent.models.off_record import Withheld, withheld_by
from gateway.stores.rows import TurnId
from gateway.transcripts.codec import Record


def withheld_places(records: Sequence[Record]) -> set[int]:
    """Return the indices of the withheld messages among *records*, and of the agent's answers in their turns.

    An answer may repeat them. A message that was noted before the order came stays noted.
    """
    messages: set[int] = set()
    turns: set[TurnId] = set()
    latest: dict[str, int] = {}
    for place, record in enumerate(records):
        if isinstance(record.entry, UserEntry) and (text := own_words(record.entry)):
            withheld = withheld_by(text)
            before = latest.get(record.entry.sender, place) if withheld is Withheld.BEFORE else place
            if withheld:
                messages |= {place, before}
                turns |= {record.turn_id, records[before].turn_id}
            latest[record.entry.sender] = place
    answers = (at for at, each in enumerate(records) if isinstance(each.entry, ReplyEntry) and each.turn_id in turns)
    return messages.union(answers) if turns else messages
