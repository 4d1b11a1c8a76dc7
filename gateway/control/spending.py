"""This file tells what an agent's models cost today, beside what they may."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gateway.agent.budget import Budget, Cause, dollars, summed
from gateway.control.status_wire import SpendingStatus
from gateway.stores.spending import NANOS, OTHERS_TOKENS_A_DAY, Spend

if TYPE_CHECKING:  # the command line shows spending without loading models
    from gateway.agent.models.paid import Purse


async def spending_of(purse: "Purse | None") -> tuple[SpendingStatus, ...]:
    """Return what was spent out of *purse* today. Raises StoreError."""
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


def spending_lines(rows: Sequence[SpendingStatus]) -> Iterator[str]:
    """Give a line for each of *rows*; a limit stands beside what it limits."""
    for row in rows:
        of = "" if row.tokens_a_day is None else f" of {row.tokens_a_day:,}"
        yield f"{row.cause}: {row.tokens:,}{of} tokens{_money(row)}"


def _money(row: SpendingStatus) -> str:
    unknown = f", {row.unpriced_tokens:,} of them at a price that is not known" if row.unpriced_tokens else ""
    if row.money_a_day is not None:
        return f", {_dollars(row.money)} of {_dollars(row.money_a_day)}{unknown}"
    return f", {_dollars(row.money)}{unknown}" if row.money else unknown


def _dollars(amount: float) -> str:
    return dollars(round(amount * NANOS))
