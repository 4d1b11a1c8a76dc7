"""An agent's model costs of today, with their limits."""

from gateway.agent.budget import Budget, Cause, summed
from gateway.agent.models.paid import Purse
from gateway.config.budget import OTHERS_TOKENS_A_DAY
from gateway.control.status_wire import SpendingStatus
from gateway.stores.spending import NANOS, Spend


async def spending_of(purse: Purse | None) -> tuple[SpendingStatus, ...]:
    """Return today's spending from *purse*. Raises StoreError."""
    if purse is None:
        return ()
    spent = await purse.spent()
    rows = [_row("all", summed(spent), purse.budgets.total)]
    rows += [_row(cause, spent.get(cause, Spend()), purse.budgets.causes.get(cause, Budget())) for cause in Cause]
    unspent = (SpendingStatus(row.cause, 0, 0.0, 0, limit) for row in rows for limit in (None, OTHERS_TOKENS_A_DAY))
    return tuple(row for row in rows if row not in {*unspent})


def _row(cause: str, spend: Spend, budget: Budget) -> SpendingStatus:
    money_a_day = None if budget.nanos is None else budget.nanos / NANOS
    money = spend.nanos / NANOS
    return SpendingStatus(cause, spend.tokens, money, spend.unpriced_tokens, budget.tokens, money_a_day)
