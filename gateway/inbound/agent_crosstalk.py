"""Makes agents in one group hear each other on platforms that hide bots from bots."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import datetime

import structlog
from msgspec import Struct

from adapters.channel import Address, ChatKind, InboundMessage, OverheardMessage, Receive, Sender, Via
from gateway.admission.gate import HEARD_CAP
from gateway.admission.policy import GroupPolicy
from gateway.admission.routing import Routes, SessionKey, route
from gateway.agent.house import is_house
from gateway.errors import StoreError
from gateway.stores.ports import Store
from gateway.stores.rows import InboxRow, OutboxRow, TurnId
from gateway.transcripts.store import Sessions

log = structlog.get_logger()

HIDING = frozenset({"telegram"})
"""Platforms that show a bot no messages of other bots, whatever its rights (the Bot API's own rule)."""
WAITING = 1_000
"""Replies waiting to be passed on; further ones are dropped. Our choice."""


class _AgentMessage(Struct, frozen=True):
    """A message of one of our agents in a group."""

    key: SessionKey
    """Of the session in which it was said."""
    reply: OutboxRow


class AgentCrosstalk:
    """Passes agents' messages in a group to the other agents there: as context, or as a message if the group allows
    it.

    Answers marked `house` are not passed on: another agent's model may run elsewhere.
    """

    def __init__(
        self,
        routes: Routes,
        store: Store,
        now: Callable[[], datetime],
        is_marked: Callable[[SessionKey, TurnId], Awaitable[bool]],
    ) -> None:
        """*is_marked* tells whether a turn of a session holds text with the mark `house`."""
        self._routes, self._store, self._now, self._is_marked = routes, store, now, is_marked
        self._said: asyncio.Queue[_AgentMessage] = asyncio.Queue(WAITING)

    def committed(self, row: InboxRow, replies: Sequence[OutboxRow]) -> None:
        """Queue the replies of the turn of *row*, if other agents of ours are there; `work` passes them on."""
        address = row.message.address
        if row.message.kind is not ChatKind.GROUP or not any(self._others(address)):
            return
        key = route(row.message, self._routes).key
        for reply in replies:
            if not self._said.full() and not reply.is_notice:
                self._said.put_nowait(_AgentMessage(key, reply))

    async def work(self, receive: Receive) -> None:
        """Pass on queued messages until cancelled; *receive* accepts a message addressed to an agent like any other."""
        while True:
            said = await self._said.get()
            for other, group in self._others(said.reply.outgoing.address):
                try:
                    await self._tell(said, other, group, receive)
                except StoreError as exc:
                    log.warning("a neighbour was not told", detail=str(exc))
            self._said.task_done()

    async def told(self) -> None:
        """Return once all queued messages are passed on."""
        await self._said.join()

    def _others(self, address: Address) -> Iterator[tuple[Address, GroupPolicy]]:
        """Yield the address of the same chat for each other account of ours, if that does not hear bots itself."""
        for (channel, account), policy in self._routes.policy.accounts.items():
            group = policy.groups.get(address.chat)
            if channel != address.channel or account == address.account or group is None:
                continue
            if channel in HIDING or not group.bots:
                yield Address(channel, account, address.chat, address.thread), group

    async def _tell(self, said: _AgentMessage, other: Address, group: GroupPolicy, receive: Receive) -> None:
        if await self._is_marked(said.key, said.reply.turn_id):
            return
        text, id_ = said.reply.outgoing.text, f"agent:{said.reply.id}"
        to_them = group.agents_talk and _is_to(text, other.account, is_mention_needed=group.mention)
        message = InboundMessage(
            other, id_, Sender("", said.key.agent), ChatKind.GROUP, text, True, self._now(), via=Via.AGENT
        )
        if to_them and await receive(message) is None:
            return
        if group.heard and text.strip():
            heard = OverheardMessage(f"{said.key.agent}, another agent", text[:HEARD_CAP], self._now())
            await self._store.overheard.keep(other, id_, heard, group.heard)


async def holds_marked(sessions: Sessions, key: SessionKey, turn: TurnId) -> bool:
    """Return whether a turn holds text with the mark `house`. Raises StoreError."""
    return any(map(is_house, (await sessions.open(key)).entries_of(turn)))


def _is_to(text: str, account: str, *, is_mention_needed: bool) -> bool:
    """Return whether one agent addresses another: by `@` and the account's name, or all; commands are for none."""
    if text.lstrip().startswith("/"):
        return False
    return (
        not is_mention_needed or re.search(rf"(?<!\w)@{re.escape(account)}(?![\w-])", text, re.IGNORECASE) is not None
    )
