"""Changes that wait for the owner's decision, in Redis."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from msgspec import Struct

from gateway.runtime.clock import Clock
from gateway.stores.codec import PROPOSALS, change_row, encode_time
from gateway.stores.redis.link import RedisLink
from gateway.stores.redis.outbox import outbox_arguments, queued_row, score
from gateway.stores.rows import (
    CHANGE_PREFIX,
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


class RedisChanges(Struct, frozen=True):
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
        turn, (chat, told) = TurnId(f"{CHANGE_PREFIX}{change}"), outbox_arguments(notice(change))
        full, bare = PROPOSALS.encode(proposal), PROPOSALS.encode(replace(proposal, before=None, after=None))
        times = encode_time(now), encode_time(expires_at), score(expires_at)
        (reply,) = await self.link.run("propose", change, full, bare, *times, self.agents[0], turn, chat, told)
        stored = PendingChange(change, PROPOSALS.decode(full), now, expires_at, ChangeState.WAITING)
        return stored, queued_row(reply, turn, told, now)

    async def waiting(self) -> Sequence[PendingChange]:
        now = self.clock.now()
        rows: list[Fields] = await self.link.run("changes", score(now))
        return sorted(self._ours(rows, now), key=lambda change: change.id)

    async def get(self, change: ChangeId) -> PendingChange | None:
        rows: list[Fields] = await self.link.run("change", change)
        return next(self._ours(rows, self.clock.now()), None)

    async def decide(self, change: ChangeId, state: ChangeState) -> bool:
        return bool(await self.link.run("decide", change, state.value, score(self.clock.now())))

    def _ours(self, rows: Sequence[Fields], now: datetime) -> Iterator[PendingChange]:
        found = (change_row((id_, full or bare, *rest), now) for id_, full, bare, *rest in rows)
        return (change for change in found if change.proposal.agent in self.agents)
