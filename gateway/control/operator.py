"""The operator of the gateway in this process."""

from dataclasses import dataclass

from gateway.control.agents import AgentDirectory
from gateway.control.chat import ChatOperator
from gateway.control.checkup import CheckupOperator
from gateway.control.checkup_wire import CheckOrder
from gateway.control.memory import MemoryOperator
from gateway.control.operator_api import OnReply, OnSign, Progress, ignore_sign
from gateway.control.order import Answer, Answers, Order
from gateway.control.wire import ChatOrder, IndexOrder


@dataclass(frozen=True, slots=True)
class LocalOperator:
    """Executes the operator's requests with the gateway's own parts."""

    agents: AgentDirectory
    conversation: ChatOperator
    memory: MemoryOperator
    checkups: CheckupOperator
    answers: Answers

    async def ask(self, order: Order[Answer]) -> Answer:
        """Execute *order*."""
        answer: Answer = await self.answers[type(order)](order)
        return answer

    async def chat(self, order: ChatOrder, on_reply: OnReply, on_sign: OnSign = ignore_sign) -> str:
        """Send a message to an agent as the owner; return its name once the answer, or a notice, was delivered."""
        agent = self.agents.named(order.agent)
        await self.conversation.chat(agent.id, order.text, on_reply, on_sign)
        return agent.id

    async def index(self, order: IndexOrder, progress: Progress) -> str:
        """Bring an agent's index up to date."""
        return await self.memory.index(order, progress)

    async def check(self, order: CheckOrder, progress: Progress) -> str:
        """Check an agent's notes."""
        return await self.checkups.check(order, progress)
