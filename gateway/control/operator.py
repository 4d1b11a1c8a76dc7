"""The operator of the gateway in this process."""

from collections.abc import Callable
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

from gateway.control.agents import AgentDirectory
from gateway.control.chat import ChatOperator
from gateway.control.operator_api import OnReply, OnSign, ignore_sign
from gateway.control.order import Answer, Answers, LongOrder, Order, Progress, ignore_progress

if TYPE_CHECKING:
    from gateway.control.stream_wire import ChatOrder

SEARCH = "/control/search"
"""The path of a `SearchOrder`, whose type is loaded with the rest."""


class LocalOperator:
    """Executes the operator's requests with the gateway's own parts; most are built for the first request."""

    def __init__(self, agents: AgentDirectory, conversation: ChatOperator, build: Callable[[], Answers]) -> None:
        self.agents = agents
        self.conversation = conversation
        self._build = build

    @cached_property
    def answers(self) -> Answers:
        """The functions for the orders."""
        return self._build()

    async def foresee(self, path: str) -> None:
        """Begin what the order that came to *path* will wait for: the memory worker, for a search.

        It then starts while the parts that answer are loaded, which after a start takes as long as its own imports.
        """
        if path == SEARCH:
            for agent in islice(self.agents, 1):  # one worker serves all
                await agent.memory.wake()

    async def ask(self, order: Order[Answer]) -> Answer:
        answer: Answer = await self.answers.short[type(order)](order)
        return answer

    async def chat(self, order: "ChatOrder", on_reply: OnReply, on_sign: OnSign = ignore_sign) -> str:
        """Send a message to an agent as the owner; return its name once the answer, or a notice, was delivered."""
        agent = self.agents.named(order.agent)
        if order.listens:
            await self.conversation.listen(agent.id, on_reply)
        else:
            await self.conversation.chat(agent.id, order.text, on_reply, on_sign)
        return agent.id

    async def follow(self, order: LongOrder, progress: Progress = ignore_progress) -> str:
        return await self.answers.long[type(order)](order, progress)
