"""What every store promises of jobs: each slot is taken once, and what became of it follows its turn and its answer."""

from dataclasses import replace
from datetime import timedelta

import pytest
from msgspec import structs

from adapters.channel import Address, InboundMessage
from gateway.stores.jobs import RUNS_KEPT, Job, JobId, JobRun, JobSpec, RunState, Slot
from gateway.stores.ports import Store
from gateway.stores.rows import InboxRow, Outgoing, TurnCommit, TurnId
from strandline.testing.adapter import message
from tests.contracts.test_store import Kept
from tests.fakes.clock import START

HOUR = timedelta(hours=1)
OWNER = Address("fake", "home", "alice")
TEA = JobSpec("main", "every 1h", "Europe/Berlin", "Is the tea “ready”? 😀 \u2028", START, private=True, made_by="you")
DUE = Slot(START + HOUR, START + HOUR, START + 2 * HOUR)


def slot_message(slot: Slot = DUE, job: int = 1) -> InboundMessage:
    return replace(message("tea", id=slot.at.isoformat()), address=Address("clock", "main", f"cron:{job}"))


async def added(store: Store, spec: JobSpec = TEA, most: int = 5, key: str | None = None) -> Job:
    job = await store.jobs.add(spec, START + HOUR, most, key)
    assert job is not None
    return job


async def taken(store: Store, job: Job, slot: Slot = DUE) -> InboxRow:
    row = await store.jobs.take(job.id, slot, slot_message(slot, job.id))
    assert row is not None
    return row


async def test_a_job_is_kept_as_it_was_given(kept: Kept) -> None:
    """After a restart too; ids grow and do not come again."""
    job = await added(kept.store)
    assert job == Job(job.id, TEA, is_enabled=True, next_slot=START + HOUR)
    assert await kept.store.jobs.remove(job.id)
    assert not await kept.store.jobs.remove(job.id)
    later = await added(kept.store)
    assert later.id > job.id
    assert await (await kept.reopen()).jobs.all() == [later]


async def test_an_agent_has_only_so_many_with_a_time_to_come(store: Store) -> None:
    """What is done or disabled does not count; the same key again is the same job, however many there are."""
    first, _ = await added(store, key="change:1"), await added(store)
    assert await store.jobs.add(TEA, START + HOUR, 2) is None
    assert await store.jobs.add(TEA, START + HOUR, 2, "change:1") == first
    assert await store.jobs.set_next(first.id, None)
    await added(store, most=2)


async def test_a_slot_is_taken_once_with_its_message_or_not_at_all(kept: Kept) -> None:
    """Whoever comes second finds another next slot, and its message is not there twice."""
    job = await added(kept.store)
    row = await taken(kept.store, job)
    assert row.message == slot_message(job=job.id)
    store = await kept.reopen()
    assert await store.jobs.take(job.id, DUE, slot_message(job=job.id)) is None
    assert await store.inbox.waiting() == [row]
    assert await store.jobs.all() == [structs.replace(job, last_slot=DUE.at, next_slot=DUE.after)]
    assert await store.jobs.history(job.id) == [JobRun(DUE.at, RunState.RUNNING, None)]


async def test_a_disabled_or_removed_job_has_no_slot(store: Store) -> None:
    """Not even the one that was its next."""
    job = await added(store)
    assert await store.jobs.set_next(job.id, None)
    assert await store.jobs.take(job.id, DUE, slot_message()) is None
    await store.jobs.remove(job.id)
    assert await store.jobs.run(job.id, START, slot_message()) is None
    assert not await store.jobs.set_next(job.id, START)
    assert await store.inbox.waiting() == []


async def test_a_missed_slot_is_noted_and_costs_no_message(store: Store) -> None:
    """The job has moved on."""
    job = await added(store)
    assert await store.jobs.take(job.id, structs.replace(DUE, after=None), None) is None
    assert [run.state for run in await store.jobs.history(job.id)] == [RunState.MISSED]
    assert (await store.jobs.all())[0].next_slot is None
    assert await store.inbox.waiting() == []


async def test_a_job_may_be_run_beside_its_schedule(store: Store) -> None:
    """Its next slot stays; the same message is taken in once."""
    job = await added(store)
    assert await store.jobs.run(job.id, START, slot_message())
    assert await store.jobs.run(job.id, START, slot_message()) is None
    assert (await store.jobs.all())[0].next_slot == START + HOUR
    assert [run.slot for run in await store.jobs.history(job.id)] == [START]


async def answered(store: Store, row: InboxRow, *texts: str, has_failed: bool = False) -> None:
    await store.commit_turn(TurnCommit(row.turn_id, [row.id], [Outgoing(OWNER, text) for text in texts], has_failed))


async def state(store: Store, job: Job) -> tuple[RunState, int]:
    runs, jobs = await store.jobs.history(job.id), await store.jobs.all()
    return runs[0].state, jobs[0].failures


async def test_silence_and_failure_end_a_run_with_its_turn(store: Store) -> None:
    """A failure counts until a slot succeeds; the sentence that tells of a failure is no success."""
    job = await added(store)
    row = await taken(store, job)
    await answered(store, row, "It went wrong.", has_failed=True)
    (reply,) = await store.outbox.unfinished()
    await store.outbox.begin_part(reply.id, 0, START)
    await store.outbox.part_sent(reply.id, 0, "m1", is_last=True)
    assert await state(store, job) == (RunState.FAILED, 1)
    row = await taken(store, job, Slot(START + 2 * HOUR, START + 2 * HOUR, START + 3 * HOUR))
    await answered(store, row)
    assert await state(store, job) == (RunState.SILENT, 0)
    assert (await store.jobs.history(job.id))[0].turn == row.turn_id


@pytest.mark.parametrize(("ends", "state_then"), [("sent", RunState.DELIVERED), ("dead", RunState.DEAD)])
async def test_delivered_is_what_the_platform_confirmed(kept: Kept, ends: str, state_then: RunState) -> None:
    """Until its last part has a message id an answer is on its way, through a restart."""
    job = await added(kept.store)
    await answered(kept.store, await taken(kept.store, job), "long")
    store = await kept.reopen()
    (reply,) = await store.outbox.unfinished()
    await store.outbox.begin_part(reply.id, 0, START)
    await store.outbox.part_sent(reply.id, 0, "m1", is_last=False)
    assert (await state(store, job))[0] is RunState.ANSWERED
    await (store.outbox.finish(reply.id) if ends == "sent" else store.outbox.bury(reply.id, "blocked"))
    assert await state(store, job) == (state_then, int(ends == "dead"))
    assert [run.state for run in await (await kept.reopen()).jobs.history(job.id)] == [state_then]


async def test_the_last_parts_receipt_makes_it_delivered(store: Store) -> None:
    """That alone."""
    job = await added(store)
    await answered(store, await taken(store, job), "short")
    (reply,) = await store.outbox.unfinished()
    await store.outbox.begin_part(reply.id, 0, START)
    await store.outbox.part_sent(reply.id, 0, "m1", is_last=True)
    assert await state(store, job) == (RunState.DELIVERED, 0)
    assert (await store.jobs.history(job.id))[0].messages == ("m1",)


async def test_a_message_that_was_let_go_has_failed(store: Store) -> None:
    """Its turn never came."""
    job = await added(store)
    row = await taken(store, job)
    await store.inbox.drop(row.id, "revoked.no_policy")
    assert await state(store, job) == (RunState.FAILED, 1)


async def test_a_turn_that_answers_other_messages_too_settles_the_run(store: Store) -> None:
    """A job in the owner's conversation may be answered together with what they wrote."""
    job = await added(store)
    row = await taken(store, job)
    await store.commit_turn(TurnCommit(TurnId("t0"), [row.id], [Outgoing(OWNER, "both")]))
    assert (await store.jobs.history(job.id))[0] == JobRun(DUE.at, RunState.ANSWERED, "t0")


async def test_the_history_is_bounded(store: Store) -> None:
    """The newest slots are kept."""
    job = await added(store)
    for hour in range(1, RUNS_KEPT + 3):
        at = START + hour * HOUR
        await store.jobs.take(job.id, Slot(at, at, at + HOUR), None)
    runs = await store.jobs.history(job.id)
    assert (len(runs), runs[0].slot) == (RUNS_KEPT, START + (RUNS_KEPT + 2) * HOUR)
    assert await store.jobs.history(JobId(99)) == []


async def test_what_is_done_is_forgotten_after_a_while(kept: Kept) -> None:
    """A job that still has a time to come stays, and so does one that was disabled."""
    done, disabled, coming = [await added(kept.store) for _ in range(3)]
    await kept.store.jobs.take(done.id, structs.replace(DUE, after=None), None)
    await kept.store.jobs.set_next(disabled.id, None)
    await kept.store.prune(START + timedelta(days=365))
    assert {job.id for job in await kept.store.jobs.all()} == {disabled.id, coming.id}
