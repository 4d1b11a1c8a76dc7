"""Changes that wait for the owner's decision, in Redis."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from gateway.runtime.clock import Clock
from gateway.stores.codec import PROPOSALS, encode_time
from gateway.stores.redis.link import RedisLink
from gateway.stores.redis.outbox import outbox_arguments, queued_row, score
from gateway.stores.rows import (
    NOTICE_PREFIX,
    ChangeId,
    ChangeState,
    OutboxRow,
    Outgoing,
    PendingChange,
    Proposal,
    TurnId,
)

Fields = tuple[str, str | None, str, str, str, str]
"""A change as store.lua returns it: id, proposal, the same without its texts, made at, expires at, state."""


@dataclass(frozen=True, slots=True)
class RedisChanges:
    """Implements `Changes` for *agents*."""

    link: RedisLink
    clock: Clock
    agents: Sequence[str]

    async def propose(
        self, proposal: Proposal, expires_at: datetime, notice: Callable[[ChangeId], Outgoing]
    ) -> tuple[PendingChange, OutboxRow]:
        now = self.clock.now()
        (id_,) = await self.link.run("number_change")
        change = ChangeId(int(id_))
        turn, (chat, told) = TurnId(f"{NOTICE_PREFIX}change:{change}"), outbox_arguments(notice(change))
        full, bare = PROPOSALS.encode(proposal), PROPOSALS.encode(replace(proposal, before=None, after=None))
        times = encode_time(now), encode_time(expires_at), score(expires_at)
        (reply,) = await self.link.run("propose", change, full, bare, *times, self.agents[0], turn, chat, told)
        stored = PendingChange(change, PROPOSALS.decode(full), now, expires_at, ChangeState.WAITING)
        return stored, queued_row(reply, turn, told, now)

    async def waiting(self) -> Sequence[PendingChange]:
        now = self.clock.now()
        rows: list[Fields] = await self.link.run("changes", score(now))
        changes = [_change(row, now) for row in rows]
        return sorted((each for each in changes if self._is_ours(each)), key=lambda change: change.id)

    async def get(self, change: ChangeId) -> PendingChange | None:
        rows: list[Fields] = await self.link.run("change", change)
        found = [_change(row, self.clock.now()) for row in rows]
        return next(filter(self._is_ours, found), None)

    async def decide(self, change: ChangeId, state: ChangeState) -> bool:
        return bool(await self.link.run("decide", change, state.value, score(self.clock.now())))

    def _is_ours(self, change: PendingChange) -> bool:
        return change.proposal.agent in self.agents


def _change(fields: Fields, now: datetime) -> PendingChange:
    id_, full, bare, created_at, expires_at, state = fields
    expires, stored = datetime.fromisoformat(expires_at), ChangeState(state)
    is_late = stored is ChangeState.WAITING and expires <= now
    return PendingChange(
        ChangeId(int(id_)),
        PROPOSALS.decode(full or bare),
        datetime.fromisoformat(created_at),
        expires,
        ChangeState.EXPIRED if is_late else stored,
    )
