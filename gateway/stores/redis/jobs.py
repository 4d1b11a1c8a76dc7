"""Scheduled jobs in Redis."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from adapters.channel import InboundMessage
from gateway.runtime.clock import Clock
from gateway.stores.codec import JOB_SPECS, MESSAGES, address_key, encode_time, message_key
from gateway.stores.jobs import RUNS_KEPT, Job, JobId, JobRun, JobSpec, RunState, Slot
from gateway.stores.redis.aside import set_aside
from gateway.stores.redis.link import Argument, RedisLink
from gateway.stores.redis.outbox import score
from gateway.stores.rows import InboxId, InboxRow
from gateway.stores.unreadable import UNREADABLE_JOB, Unreadable, legible, moment_of, text_of

Fields = Sequence[str]
"""A job as store.lua returns it: id, errand, whether it is enabled, next slot, last slot, failures; empty for none."""


class RedisJobs(Struct, frozen=True):
    """Implements `Jobs` for *agents*."""

    link: RedisLink
    clock: Clock
    dedupe: timedelta
    agents: Sequence[str]

    async def add(self, spec: JobSpec, next_slot: datetime, most: int, key: str | None = None) -> Job | None:
        facts = spec.agent, JOB_SPECS.encode(spec), encode_time(next_slot), most, key or ""
        rows: list[Fields] = await self.link.run("add_job", *facts)
        return _job(rows[0]) if rows else None

    async def all(self) -> Sequence[Job]:
        rows: list[Fields] = await self.link.run_over("jobs", self.agents)
        good, bad = legible(rows, lambda row: _job(row[1:]))  # the agent comes first
        for (agent, id_, *_), why in bad:
            row = Unreadable(UNREADABLE_JOB, id_, why)
            await set_aside(self.link, "set_job_aside", agent, row, self.clock.now())
        return sorted(good, key=lambda job: job.id)

    async def remove(self, job: JobId) -> bool:
        return bool(await self.link.run("remove_job", job))

    async def set_next(self, job: JobId, next_slot: datetime | None) -> bool:
        return bool(await self.link.run("set_next", job, _text(next_slot)))

    async def take(self, job: JobId, slot: Slot, message: InboundMessage | None) -> InboxRow | None:
        times = score(slot.at), encode_time(slot.at), encode_time(slot.before), _text(slot.after), RUNS_KEPT
        if message is None:
            await self.link.run("take_slot", job, *times)
            return None
        encoded, now = MESSAGES.encode(message), self.clock.now()
        return _row(await self.link.run("take_slot", job, *times, *self._entry(message, encoded, now)), encoded, now)

    async def run(self, job: JobId, at: datetime, message: InboundMessage) -> InboxRow | None:
        encoded, now = MESSAGES.encode(message), self.clock.now()
        facts = job, encode_time(at), RUNS_KEPT
        return _row(await self.link.run("run_job", *facts, *self._entry(message, encoded, now)), encoded, now)

    async def history(self, job: JobId) -> Sequence[JobRun]:
        rows: list[tuple[str, str, str | None, str | None]] = await self.link.run("runs", job)
        return [
            JobRun(datetime.fromisoformat(slot), RunState(state), turn, tuple((messages or "").split()))
            for slot, state, turn, messages in rows
        ]

    def _entry(self, message: InboundMessage, encoded: str, now: datetime) -> tuple[Argument, ...]:
        """Return *message* as the arguments of `append` in store.lua."""
        names = message.address.account, address_key(message.address), message_key(message.address, message.id)
        return *names, score(now), score(now + self.dedupe), encoded, encode_time(now)


def _row(stored: Sequence[str], encoded: str, now: datetime) -> InboxRow | None:
    return InboxRow(InboxId(int(stored[0])), MESSAGES.decode(encoded), now) if stored else None


def _job(fields: Fields) -> Job:
    id_, spec, is_enabled, next_slot, last_slot, failures = fields
    times = _time(next_slot), _time(last_slot)
    return Job(JobId(int(id_)), JOB_SPECS.decode(spec), text_of(is_enabled) == "1", *times, int(failures))


def _text(moment: datetime | None) -> str:
    return "" if moment is None else encode_time(moment)


def _time(text: str) -> datetime | None:
    return None if text == "" else moment_of(text)
