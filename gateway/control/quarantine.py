"""Operator requests about quarantined rows and files: list, retry, delete."""

from collections.abc import Callable, Mapping, Sequence
from datetime import tzinfo

from msgspec import Struct

from gateway.agent.agent import Agent
from gateway.control.quarantine_wire import QuarantineAnswer, QuarantineLine, QuarantineOrder
from gateway.errors import StrandlineError
from gateway.stores.quarantine import Quarantine, QuarantinedRow
from gateway.stores.rows import InboxRow, OutboxRow
from workspaces.access import AgentId


class QuarantineOperator(Struct, frozen=True):
    """Executes the owner's decisions about quarantined rows."""

    quarantine: Quarantine
    agents: Mapping[AgentId, Agent]
    """Agents, whose memories know the files that were left out."""
    wake: Callable[[Sequence[OutboxRow]], None]
    """Notified of a reply that waits to be sent again."""
    take_in: Callable[[InboxRow], None]
    """Notified of a message that waits for its turn again."""
    zone: tzinfo
    """The owner's."""

    async def answer(self, order: QuarantineOrder) -> QuarantineAnswer:
        """Execute *order*. Raises StrandlineError for an unknown row, and StoreError."""
        if order.act == "list":
            rows = tuple(_line(row, self.zone) for row in await self.quarantine.all())
            return QuarantineAnswer(rows, tuple(self._files()))
        if order.id is None:
            raise StrandlineError("the row is missing; strandline quarantine list names them")
        if order.id in self._files():
            return QuarantineAnswer(outcome=await self._file(order.act, order.id))
        if order.act == "drop":
            if not await self.quarantine.drop(order.id):
                raise _unknown(order.id)
            return QuarantineAnswer(outcome=f"Deleted {order.id}.")
        return QuarantineAnswer(outcome=await self._retry(order.id))

    async def _retry(self, row: str) -> str:
        match await self.quarantine.retry(row):
            case None:
                raise _unknown(row)
            case InboxRow() as message:
                self.take_in(message)
                return f"The message from {message.message.address} is queued again."
            case OutboxRow() as reply:
                self.wake([reply])
                return f"The reply to {reply.outgoing.address} will be sent again."
            case job:
                return f"Job {job} runs on schedule again from the next start of the gateway."

    def _files(self) -> list[str]:
        return [f"file:{name}:{path}" for name, agent in self.agents.items() for path in sorted(agent.memory.deadly)]

    async def _file(self, act: str, name: str) -> str:
        _, agent, path = name.split(":", 2)
        if act == "drop":
            raise StrandlineError(f"{path} is a file of agent {agent}: change or delete it there, and it is read again")
        memory = self.agents[AgentId(agent)].memory
        await memory.sync(retry=True)
        return f"The search {'still crashes on' if path in memory.deadly else 'finds'} {path}."


def _unknown(row: str) -> StrandlineError:
    return StrandlineError(f"there is no row {row!r} in quarantine; strandline quarantine list names them")


def _line(row: QuarantinedRow, zone: tzinfo) -> QuarantineLine:
    return QuarantineLine(row.id, row.kind, row.reason, row.why, row.at.astimezone(zone), row.excerpt)
