"""Model wrapper that charges calls to its agent's budget: counted by cause, and within limits."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import date, datetime
from functools import reduce
from operator import add

from msgspec import Struct, field

from gateway.agent.budget import Budgets, CostCause, ModelCall, check_budget
from gateway.agent.entries import OFFLINE, ReplyEntry, Usage
from gateway.agent.models.port import Model, ModelRequest, OnText, WrappedModel
from gateway.agent.models.prices import Price, cost_of_usage
from gateway.agent.window.count import CAUTIOUS
from gateway.errors import BudgetError, ModelError, ModelFloodError, StoreError
from gateway.stores.spending import Spend, Spending
from workspaces.access import AgentId
from workspaces.secrets import redact_all


class Prices(Struct, frozen=True):
    """Prices of the configured models, by configured name; a missing one is unknown."""

    known: Mapping[str, Price]

    def of(self, model: str, usage: Usage) -> Spend:
        """Return the cost of a reply of *model*; the offline responder is free."""
        return Spend() if model == OFFLINE else cost_of_usage(usage, self.known.get(model))


class AgentBudget(Struct, frozen=True):
    """The model budget of one agent: every call is counted in the store, so a restart loses nothing."""

    agent: AgentId
    budgets: Budgets
    prices: Prices
    spending: Spending
    now: Callable[[], datetime]
    """In the owner's time zone: the budget is a day's."""
    count: Callable[[str], Awaitable[None]]
    _loading: asyncio.Lock = field(default_factory=asyncio.Lock)
    _known: dict[date, dict[str, Spend]] = field(default_factory=dict)
    """Spending of the latest day by cause, as the store has it: nobody else charges this agent."""

    async def hold(self, cause: CostCause, model: str, request: ModelRequest) -> ModelCall:
        """Count the minimum cost of *request* before it is sent: no crash and no other chat can then exceed the budget.

        Without one, nothing waits for the count. Raises BudgetError, and counts it, if that is more than the rest of
        the budget.
        """
        tokens = CAUTIOUS.tokens(request.characters)
        call = ModelCall(cause, self.now().date(), self.prices.of(model, Usage(tokens)))
        spent = await self._spent_on(call.day)
        try:
            check_budget(self.agent, self.budgets, spent, call)
        except BudgetError as exc:
            await self.count(f"budget.{exc.cause}")
            raise
        if call.least != Spend():  # no await lies between the check and this: two calls cannot both have the rest
            self._charge(call, call.least)
            is_limited = next(self.budgets.over(call.cause), None) is not None
            count = self.spending.add if is_limited else self.spending.correct
            try:
                await count(self.agent, call.day, call.cause, call.least)
            except StoreError:
                self._charge(call, Spend() - call.least)
                raise
        return call

    async def settle(self, call: ModelCall, cost: Spend) -> None:
        """Replace the amount held for *call* by its real cost; after a crash the held amount stays."""
        if cost != call.least:
            self._charge(call, cost - call.least)
            await self.spending.correct(self.agent, call.day, call.cause, cost - call.least)

    async def _spent_on(self, day: date) -> Mapping[str, Spend]:
        """Return the spending on *day*, which is read from the store once."""
        async with self._loading:
            if day not in self._known:
                spent = dict(await self.spent(day))
                self._known.clear()
                self._known[day] = spent
            return self._known[day]

    def _charge(self, call: ModelCall, amount: Spend) -> None:
        if (spent := self._known.get(call.day)) is not None:
            spent[call.cause] = spent.get(call.cause, Spend()) + amount

    async def spent(self, day: date | None = None) -> Mapping[str, Spend]:
        """Return the spending on *day*, or today, by cause."""
        return await self.spending.on(self.agent, day or self.now().date())


class PaidModel(WrappedModel):
    """Implements `Model` with another one; every call is charged to *agent_budget*, as one for *cause*."""

    def __init__(self, model: Model, agent_budget: AgentBudget, cause: CostCause = CostCause.CHAT) -> None:
        super().__init__(model)
        self._agent_budget = agent_budget
        self._cause = cause

    def under(self, cause: CostCause) -> "PaidModel":
        """Return the same model, charged for another cause."""
        return PaidModel(self._model, self._agent_budget, cause)

    def cost(self, reply: ReplyEntry) -> Spend:
        """Return the cost of *reply*, an earlier one of this agent, by today's prices."""
        return self._agent_budget.prices.of(reply.model, reply.usage)

    async def reply(self, request: ModelRequest, on_text: OnText) -> ReplyEntry:
        """Answer as `Model.reply` does.

        Raises BudgetError, before anything is sent, if the budget does not cover the call.

        A failed call costs nothing; an interrupted one, or a reply without token counts, costs the amount held for it.
        Neither the request nor the reply holds a known secret.
        """
        request = redact_all(request)
        call = await self._agent_budget.hold(self._cause, self.name, request)
        try:
            reply = await self._model.reply(request, on_text)
        except ModelFloodError as flood:
            written = Usage(0, CAUTIOUS.tokens(flood.characters))
            await self._agent_budget.settle(call, call.least + self._agent_budget.prices.of(self.name, written))
            raise
        except ModelError:
            await self._agent_budget.settle(call, Spend())
            raise
        has_counted = reply.usage.input_tokens > 0 or reply.model == OFFLINE
        await self._agent_budget.settle(call, self.cost(reply) if has_counted else call.least)
        return redact_all(reply)


def paid_for(model: Model, cause: CostCause) -> Model:
    """Return *model*, charged for *cause*; an unpaid one is returned unchanged."""
    return model.under(cause) if isinstance(model, PaidModel) else model


def cost_of(model: Model, replies: Iterable[ReplyEntry]) -> Spend | None:
    """Return the cost of earlier *replies* of *model*'s agent, by present prices; `None` if the model is not paid."""
    return reduce(add, map(model.cost, replies), Spend()) if isinstance(model, PaidModel) else None
