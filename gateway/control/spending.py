"""An agent's model costs of today, with their limits."""

from gateway.agent.budget import OTHERS_TOKENS_A_DAY, Budget, CostCause, total_spend
from gateway.agent.models.paid import AgentBudget
from gateway.control.status_wire import SpendingStatus
from gateway.stores.spending import NANOS, Spend


async def spending_of(agent_budget: AgentBudget | None) -> tuple[SpendingStatus, ...]:
    """Return today's spending from *agent_budget*. Raises StoreError."""
    if agent_budget is None:
        return ()
    spent = await agent_budget.spent()
    rows = [_row("all", total_spend(spent), agent_budget.budgets)]
    rows += [_row(cause, spent.get(cause, Spend()), agent_budget.budgets.of(cause)) for cause in CostCause]
    unspent = (SpendingStatus(row.cause, 0, 0.0, 0, limit) for row in rows for limit in (None, OTHERS_TOKENS_A_DAY))
    return tuple(row for row in rows if row not in {*unspent})


def _row(cause: str, spend: Spend, budget: Budget) -> SpendingStatus:
    money = spend.nanos / NANOS
    return SpendingStatus(cause, spend.tokens, money, spend.unpriced_tokens, budget.tokens_a_day, budget.money_a_day)
