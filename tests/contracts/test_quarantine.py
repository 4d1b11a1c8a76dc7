"""What every store promises of quarantined rows: nothing works on them, nothing but the owner's word moves them."""

from dataclasses import replace

import pytest

from gateway.errors import StoreError
from gateway.stores.jobs import JobId
from gateway.stores.ports import Arrivals
from gateway.stores.quarantine import CRASHED_MESSAGE, CRASHED_REPLY, QuarantineKind
from gateway.stores.rows import InboxRow, OutboxRow, Outgoing, TurnCommit
from gateway.stores.unreadable import UNREADABLE_JOB
from tests.contracts.test_jobs_store import added
from tests.contracts.test_store import Kept, accepted
from tests.contracts.test_unreadable import HERE, NEWER, TORN, arrived, spoil
from tests.fakes.clock import START

WHY = "the gateway ended twice while it worked on this"


async def test_a_quarantined_message_is_not_read_and_comes_back_as_if_new(kept: Kept) -> None:
    """It is listed with its text, survives a restart, and a retry puts it behind what waits, with its own time."""
    first, second = await accepted(kept.store, "1"), await accepted(kept.store, "2")
    assert await kept.store.quarantine.add(CRASHED_MESSAGE, first.id, WHY)
    assert not await kept.store.quarantine.add(CRASHED_MESSAGE, first.id, WHY)
    await kept.reopen()
    assert await kept.store.inbox.waiting() == [second]
    (row,) = await kept.store.quarantine.all()
    assert (row.kind, row.reason, row.why, row.at) == (QuarantineKind.MESSAGE, CRASHED_MESSAGE, WHY, START)
    assert (row.row, row.excerpt) == (str(first.id), first.message.text)
    assert (await kept.store.report()).reasons == {CRASHED_MESSAGE: 1}
    back = await kept.store.quarantine.retry(row.id)
    assert isinstance(back, InboxRow)
    assert back == replace(first, id=back.id)
    assert back.id > second.id
    assert await kept.store.inbox.waiting() == [second, back]
    assert await arrived(kept.store, 2) == [second, back]
    assert await kept.store.quarantine.all() == []
    assert await kept.store.quarantine.retry(row.id) is None


async def test_a_quarantined_reply_comes_back_with_what_was_sent_of_it(kept: Kept) -> None:
    """It goes out from the part at which it stopped, by a number of its own, with the time at which it was written."""
    message = await accepted(kept.store)
    (reply,) = await kept.store.commit_turn(TurnCommit(message.turn_id, [message.id], [Outgoing(HERE, "tea")]))
    await kept.store.outbox.begin_part(reply.id, 0, START)
    await kept.store.outbox.part_sent(reply.id, 0, "p1", is_last=False)
    assert await kept.store.quarantine.add(CRASHED_REPLY, reply.id, WHY)
    assert await kept.store.outbox.unfinished() == []
    (row,) = await kept.store.quarantine.all()
    assert (row.kind, row.excerpt) == (QuarantineKind.REPLY, "tea")
    back = await kept.store.quarantine.retry(row.id)
    assert isinstance(back, OutboxRow)
    assert (back.outgoing, back.parts_sent, back.created_at) == (reply.outgoing, 1, reply.created_at)
    (stored,) = await (await kept.reopen()).outbox.unfinished()
    assert (stored.id, stored.parts_sent, stored.turn_id) == (back.id, 1, message.turn_id)


async def test_a_row_that_cannot_be_read_yet_stays_in_quarantine(kept: Kept) -> None:
    """A retry says so and changes nothing; once the content can be read, as after an upgrade, it works."""
    job = await added(kept.store, key="change:1")
    await spoil(kept, "jobs", job.id, {"errand": NEWER})
    assert await kept.store.jobs.all() == []
    (row,) = await kept.store.quarantine.all()
    assert (row.kind, row.reason) == (QuarantineKind.JOB, UNREADABLE_JOB)
    with pytest.raises(StoreError, match="still cannot be read"):
        await kept.store.quarantine.retry(row.id)
    assert await kept.store.quarantine.all() == [row]
    await kept.store.quarantine.drop(row.id)
    assert not await kept.store.quarantine.drop(row.id)
    assert await kept.store.quarantine.all() == []


async def test_a_job_comes_back_under_its_own_number(kept: Kept) -> None:
    """Its session is named after it, and its next slot is the one that it had."""
    job = await added(kept.store)
    later = {"next": b"soon"} if isinstance(kept.store.inbox, Arrivals) else {"next_slot": b"soon"}
    await spoil(kept, "jobs", job.id, later)
    assert await kept.store.jobs.all() == []
    (row,) = await kept.store.quarantine.all()
    assert await kept.store.quarantine.retry(row.id) == JobId(job.id)
    assert await kept.store.jobs.all() == []  # its time still cannot be read: it is quarantined again, not lost
    (again,) = await kept.store.quarantine.all()
    assert again.row == row.row


async def test_a_quarantined_row_of_bytes_that_are_no_text_is_listed(kept: Kept) -> None:
    """What is damaged beyond reading has an excerpt of what is stored."""
    message = await accepted(kept.store)
    await spoil(kept, "inbox", message.id, {"message": TORN})
    assert await kept.store.inbox.waiting() == []
    (row,) = await kept.store.quarantine.all()
    assert row.excerpt == TORN.decode()
