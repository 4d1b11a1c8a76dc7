"""Recall check: searches for the facts of a conversation as its agent would later, and notes those that it misses."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import tzinfo
from pathlib import PurePosixPath

import structlog
from msgspec import Struct

from gateway.agent.entries import RecallEntry
from gateway.sessions.daily_log import LOG
from gateway.sessions.due import Ending, Pause
from gateway.sessions.extractive_summary import SpokenLine, conversation
from gateway.sessions.session import Session, noting
from gateway.transcripts.records import records_after
from workspaces.access import rights
from workspaces.house import tagged
from workspaces.memory.client import MemoryUnavailableError
from workspaces.memory.query import Query
from workspaces.memory.source_index import QueryRefusedError
from workspaces.memory.text.dialogue import EVIDENCE, is_question
from workspaces.memory.text.facts import Fact, FactKind, facts_in, folded, sentences
from workspaces.notes import NoteReceipt, append_note

log = structlog.get_logger()

MOST_FACTS = 200
"""Facts of one check, the latest. Our choice."""
MOST_OF_A_MESSAGE = 40
"""Facts of one message, its first: a pasted list of 20,000 characters has 1,500, and leaves no time for others."""
PATIENCE_S = 3.0
"""For the whole check, in seconds: a person may wait for it. The rest is counted as not looked for. Our choice."""
RESULTS = 6
"""As many as `memory_search` returns unless told otherwise."""
_OCCASIONS = frozenset({*Ending, Pause.REST, Pause.COMPACTION})
"""When the part before is in the notes, and what is to be forgotten or shortened is known."""


_NAMES = frozenset({FactKind.IDENTIFIER, FactKind.NAME})


class StatedFact(Struct, frozen=True):
    """A fact and the message that stated it."""

    fact: Fact
    said: SpokenLine


class RecallCheck:
    """A listener of the life cycle; it follows everything that writes notes."""

    def __init__(
        self, zone: tzinfo, monotonic: Callable[[], float] = time.monotonic, patience_s: float = PATIENCE_S
    ) -> None:
        """*zone* is the owner's: a note is that of the day of its message."""
        self._zone = zone
        self._monotonic = monotonic
        self._patience_s = patience_s

    async def __call__(self, session: Session, why: Ending | Pause) -> Sequence[PurePosixPath]:
        """Search for the facts stated since the last check; note those that are not found, and search again.

        The receipt goes into the transcript. Returns the files with such notes. Raises StoreError and WorkspaceError;
        called again, it notes nothing twice.
        """
        if why not in _OCCASIONS or not rights(session.access).flush:
            return []
        records = session.transcript.records
        fresh = records_after(records, RecallEntry)
        earlier = records[: len(records) - len(fresh)]
        said = await asyncio.to_thread(conversation, fresh, session.agent.id, self._zone, earlier)
        facts = await asyncio.to_thread(stated_facts, said)
        if not facts:
            return []
        began = self._monotonic()
        try:
            deadline = began + self._patience_s
            missed = await self._missed(session, checked_facts(facts), deadline - self._patience_s / 3)
            lost = [each for each in missed if missed[each]]
            noted = await _note(session, lost)
            again = await self._missed(session, lost, deadline)
            lost = [each for each in lost if again.get(each, True)]
        except MemoryUnavailableError:
            return []  # the next occasion checks this part too
        took_ms = round((self._monotonic() - began) * 1_000)
        citations = tuple(f"{receipt.path}#L{receipt.line}" for receipt in noted)
        receipt = RecallEntry(len(missed), len(missed) - len(lost), citations, len(facts) - len(missed), took_ms)
        await session.transcript.append(LOG, receipt)
        log.info("recall checked", session=str(session.key), asked=receipt.asked, found=receipt.found, ms=took_ms)
        return list(dict.fromkeys(receipt.path for receipt in noted))

    async def _missed(self, session: Session, facts: Sequence[StatedFact], deadline: float) -> dict[StatedFact, bool]:
        """Return whether each of *facts* is not found; those for which no time is left are absent."""
        missed = {}
        for each in facts:
            left_s = deadline - self._monotonic()
            if left_s <= 0:
                break
            with suppress(TimeoutError):
                async with asyncio.timeout(left_s):
                    missed[each] = not await _is_found(session, each.fact)
        return missed


def stated_facts(said: Sequence[SpokenLine]) -> list[StatedFact]:
    """Return the facts that people state in *said*, and the identifiers of answers; each once, in their order."""
    found: dict[tuple[str, str], StatedFact] = {}
    for each in said:
        if each.kind not in EVIDENCE:
            continue
        for sentence in sentences(each.text):
            for fact in [] if is_question(sentence) else facts_in(sentence):
                if fact.kind is FactKind.IDENTIFIER or not each.is_answer:
                    found.setdefault((folded(fact.value), folded(fact.question)), StatedFact(fact, each))
    return list(found.values())


def checked_facts(facts: Sequence[StatedFact]) -> list[StatedFact]:
    """Return those of *facts* that one check searches for."""
    of_message = Counter[SpokenLine]()
    chosen = []
    for each in facts:
        of_message[each.said] += 1
        if of_message[each.said] <= MOST_OF_A_MESSAGE:
            chosen.append(each)
    return chosen[-MOST_FACTS:]


async def _is_found(session: Session, fact: Fact) -> bool:
    """Return whether a search by the words around *fact* brings it, or one by itself if it is a name."""
    for text in (fact.question, *([fact.value] if fact.kind in _NAMES else [])):
        with suppress(QueryRefusedError):
            result = await session.agent.memory.search(Query(text, RESULTS), session.access)
            if any(fact.is_in(hit.passage) for hit in result.hits):
                return True
    return False


async def _note(session: Session, lost: Sequence[StatedFact]) -> list[NoteReceipt]:
    """Write the sentences of the *lost* facts into the notes of their day, word for word; each once."""
    sentences_of = {each.fact.sentence: each.said for each in lost}
    receipts = []
    with noting(session) as run:
        for sentence, said in sentences_of.items():
            text = f"{said.who}: {tagged(sentence) if said.is_house else sentence}"
            receipts.append(await run(append_note, session.agent.workspace, session.access, text, said.at))
    if receipts:
        session.agent.memory.touched()
    return receipts
