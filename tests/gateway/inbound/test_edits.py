"""An edit of what waits replaces it in its place; an edit of what was answered is a correction that says so."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from msgspec import structs

from adapters.channel import Attachment, AttachmentKind, InboundMessage, Via
from gateway.agent.entries import ReplyEntry, UserEntry
from gateway.inbound.edits import LATE_AFTER, Void, as_edited, source_of
from gateway.inbound.queue_modes import Queueing
from gateway.inbound.settings import QueueMode, QueueSettings
from gateway.sessions.lifecycle import Lifecycle, LifecycleSettings
from gateway.sessions.turn_request import TurnRequest
from gateway.stores.rows import InboxRow
from gateway.turns.turn import Turns
from gateway.turns.worker import LaneWork
from tests.fakes.clock import START
from tests.fakes.model import ScriptedModel
from tests.gateway.turns.test_turn import DIRECT, GROUP, House, session_of
from tests.gateway.turns.test_turn import house as house  # noqa: PLC0414  # a fixture

FIRST = replace(DIRECT, text="Book it for Monday", sent_at=START)


def edit(text: str, version: int = 1, message: InboundMessage = FIRST, sent_at: datetime = START) -> InboundMessage:
    target, number = message.id, f"{message.id}.e{version}"
    return replace(message, id=number, text=text, via=Via.EDIT, target=target, sent_at=sent_at)


class Chat:
    """A lane of one session, item by item."""

    def __init__(self, house: House, model: ScriptedModel, mode: QueueMode = QueueMode.FOLLOW_UP) -> None:
        self._house = house
        self.model = model
        self.queueing = Queueing(QueueSettings(mode), now=house.clock.now)
        self.turns: Turns = structs.replace(house.turns(model), queueing=self.queueing)
        settings = LifecycleSettings()
        lifecycle = Lifecycle(self.turns.agents, self.turns.sessions, settings, house.clock, house.store.count)
        self.work = LaneWork(self.turns, lifecycle)

    async def hears(self, *messages: InboundMessage) -> list[InboxRow]:
        rows = [await self._house.take_in(message) for message in messages]
        for row in rows:
            self.queueing.queues.append(session_of(row), row)
        return rows

    async def works_off(self) -> None:
        """Do all that waits, as a lane does."""
        for key, _, _ in list(self.queueing.queues):
            while self.queueing.queues.held(key):
                item = self.queueing.queues.begin(key)
                assert await self.work(item) is None
                self.queueing.queues.done(key)

    def read(self) -> list[str]:
        """Return what the model read in its last request, without its own answers."""
        return [entry.text for entry in self.model.requests[-1].entries if isinstance(entry, UserEntry)]


async def chat(house: House, answers: Sequence[str]) -> Chat:
    return Chat(house, ScriptedModel(*answers))


async def reasons(house: House) -> dict[str, int]:
    return (await house.store.report()).reasons


async def test_what_waits_is_answered_as_it_reads_now_in_its_own_place(house: House) -> None:
    """The newest edit counts; the others, and it itself, need no turn."""
    talk = await chat(house, ["Tuesday it is.", "Fine."])
    second = replace(DIRECT, id="2", text="And the hotel")
    await talk.hears(FIRST, second, edit("Book it for Tuesay"), edit("Book it for Tuesday", 2))
    await talk.works_off()
    assert talk.read() == ["Book it for Tuesday", "And the hotel"]
    assert await house.outbox() == ["Tuesday it is.", "Fine."]
    assert await house.store.inbox.waiting() == []


async def test_a_file_that_an_edit_removed_is_not_read(house: House) -> None:
    """Nor is it fetched: its sender took it back."""
    file = Attachment(AttachmentKind.DOCUMENT, "ref", "will.txt")
    row = await house.take_in(replace(FIRST, attachments=(file,)))
    later = await house.take_in(replace(edit("never mind"), attachments=()))
    assert as_edited(row, [later]).message.attachments == ()


async def test_what_is_answered_together_is_read_as_it_reads_now(house: House) -> None:
    """A model elsewhere is not shown what its writer marked, or took back, before anything of it was read."""
    talk = Chat(house, ScriptedModel("Noted."), QueueMode.COLLECT)
    second, third = (replace(DIRECT, id=each, text=f"my {each}nd code is 4711", sent_at=START) for each in "23")
    file = Attachment(AttachmentKind.DOCUMENT, "ref", "will.txt")
    third = replace(third, attachments=(file,))
    marked = edit("my code is 4711 #house", message=second)
    await talk.hears(FIRST, second, third, marked, replace(edit("never mind", message=third), attachments=()))
    await talk.works_off()
    assert len(talk.model.requests) == 1
    assert [text.partition(";")[0] for text in talk.read()] == [
        "Book it for Monday",
        "(withheld: marked house",
        "never mind",
    ]
    assert await house.store.inbox.waiting() == []


async def test_the_edits_that_needed_no_turn_are_counted(house: House) -> None:
    """The one that was answered already, and an older one that it overtook, which would undo it."""
    talk = await chat(house, ["Tuesday it is."])
    await talk.hears(FIRST, edit("Book it for Sunday"), edit("Book it for Tuesday", 2))
    await talk.works_off()
    assert await reasons(house) == {Void.EDITED: 2}


async def test_an_edit_of_what_was_answered_says_what_it_corrects(house: House) -> None:
    """It is answered like a message, and the model reads both; a second correction names the first."""
    talk = await chat(house, ["Booked.", "Changed to Tuesday.", "Changed to Friday."])
    await talk.hears(FIRST)
    await talk.works_off()
    await talk.hears(edit("Book it for Tuesday"))
    await talk.works_off()
    quoted = "(quoting an earlier message of mine, which this one corrects)\n> Book it for Monday\n\n"
    assert talk.read() == ["Book it for Monday", f"{quoted}Book it for Tuesday"]
    await talk.hears(edit("Book it for Friday", 2))
    await talk.works_off()
    assert "> Book it for Tuesday\n\nBook it for Friday" in talk.read()[-1]
    assert await reasons(house) == {}
    entries = [entry for entry in talk.model.requests[-1].entries if isinstance(entry, UserEntry)]
    assert not any(entry.from_outside for entry in entries)


async def test_an_edit_that_changes_no_words_gets_no_answer(house: House) -> None:
    """A preview that was added, or the same words again."""
    talk = await chat(house, ["Booked."])
    await talk.hears(FIRST)
    await talk.works_off()
    await talk.hears(edit(f"{FIRST.text} \n"))
    await talk.works_off()
    assert (await reasons(house), await house.store.inbox.waiting()) == ({Void.EDITED: 1}, [])


@pytest.mark.parametrize(("late_by", "answered"), [(timedelta(0), True), (timedelta(seconds=1), False)])
async def test_an_edit_after_two_days_is_left_alone(house: House, late_by: timedelta, answered: bool) -> None:
    """Of whatever message, known or not; up to then it is answered."""
    talk = await chat(house, ["Changed."])
    house.clock.advance((LATE_AFTER + late_by).total_seconds())
    await talk.hears(edit("Book it for Tuesday"))
    await talk.works_off()
    assert bool(await house.outbox()) is answered
    assert await reasons(house) == ({} if answered else {Void.EDIT_LATE: 1})


async def test_an_edit_of_a_message_that_nobody_knows_is_a_message(house: House) -> None:
    """Such as one in a group that now mentions us."""
    talk = await chat(house, ["Here I am."])
    await talk.hears(edit("@bot Book it", message=GROUP))
    await talk.works_off()
    assert talk.read() == ["@bot Book it"]


async def test_nobody_edits_anothers_message(house: House) -> None:
    """An edit counts for what its own sender wrote in the same chat."""
    talk = await chat(house, ["Booked.", "Told."])
    other = replace(edit("Book it for Sunday", message=GROUP), sender=replace(GROUP.sender, id="9"))
    await talk.hears(replace(GROUP, text="Book it for Monday"), other)
    await talk.works_off()
    assert talk.model.requests[0].entries[-1].text == "Book it for Monday"  # type: ignore[union-attr]


async def test_a_turn_that_has_begun_goes_on_as_it_began(house: House) -> None:
    """After a crash too: what the journal holds is what is answered; the edit that came meanwhile corrects it."""
    first = Chat(house, ScriptedModel("Booked.", "Changed."))
    (row, _) = await first.hears(FIRST, edit("Book it for Tuesday"))
    transcript = await first.turns.sessions.open(session_of(row))
    entry = UserEntry(FIRST.text, START, "", str(row.id), source=source_of(FIRST))
    await transcript.append(row.turn_id, entry)  # as a run before the crash did
    meant: list[str] = []

    def notes(asked: TurnRequest) -> None:
        meant.append(asked.row.message.text)

    first.turns = structs.replace(first.turns, shortcut=notes)
    first.work = structs.replace(first.work, turns=first.turns)
    await first.works_off()
    assert meant == ["Book it for Monday", "Book it for Tuesday"]  # a command would be the one that was begun
    answers = [each.entry.text for each in transcript.records if isinstance(each.entry, ReplyEntry)]
    assert answers == ["Booked.", "Changed."]
    assert first.read()[0] == "Book it for Monday"
