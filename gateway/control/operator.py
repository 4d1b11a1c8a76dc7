"""The operator of the gateway in this process."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from gateway.control.agents import AgentDirectory
from gateway.control.chat import ChatOperator
from gateway.control.operator_api import OnReply, OnSign, Progress, ignore_sign
from gateway.control.order import Answer, Answers, Order

if TYPE_CHECKING:
    from gateway.control.stream_wire import ChatOrder, CheckOrder, IndexOrder


@dataclass(frozen=True, slots=True)
class Operations:
    """The functions that execute the operator's requests."""

    answers: Answers
    index: Callable[["IndexOrder", Progress], Awaitable[str]]
    check: Callable[["CheckOrder", Progress], Awaitable[str]]


class LocalOperator:
    """Executes the operator's requests with the gateway's own parts; most are built for the first request."""

    def __init__(self, agents: AgentDirectory, conversation: ChatOperator, build: Callable[[], Operations]) -> None:
        self.agents = agents
        self.conversation = conversation
        self._build = build

    @cached_property
    def _operations(self) -> Operations:
        return self._build()

    @property
    def answers(self) -> Answers:
        """The function for each kind of order."""
        return self._operations.answers

    async def ask(self, order: Order[Answer]) -> Answer:
        answer: Answer = await self.answers[type(order)](order)
        return answer

    async def chat(self, order: "ChatOrder", on_reply: OnReply, on_sign: OnSign = ignore_sign) -> str:
        """Send a message to an agent as the owner; return its name once the answer, or a notice, was delivered."""
        agent = self.agents.named(order.agent)
        await self.conversation.chat(agent.id, order.text, on_reply, on_sign)
        return agent.id

    async def index(self, order: "IndexOrder", progress: Progress) -> str:
        """Bring an agent's index up to date."""
        return await self._operations.index(order, progress)

    async def check(self, order: "CheckOrder", progress: Progress) -> str:
        """Check an agent's notes."""
        return await self._operations.check(order, progress)
