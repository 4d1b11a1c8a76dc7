"""What an agent may spend in a day, decided without a store."""

from collections.abc import Mapping
from datetime import date

import pytest
from msgspec import structs

from gateway.agent.budget import Budget, Budgets, CostCause, ModelCall, check_budget, total_spend
from gateway.errors import BudgetError
from gateway.stores.spending import NANOS, Spend, dollars

DAY = date(2026, 11, 21)
CHAT = ModelCall(CostCause.CHAT, DAY, Spend(100, nanos=NANOS // 10))
SPENT = {"chat": Spend(600, 200, nanos=NANOS), "cron": Spend(100, nanos=NANOS)}


def stopped(budgets: Budgets, call: ModelCall = CHAT, spent: Mapping[str, Spend] = SPENT) -> BudgetError | None:
    try:
        check_budget("main", budgets, spent, call)
    except BudgetError as exc:
        return exc
    return None


@pytest.mark.parametrize(
    ("budgets", "is_stopped"),
    [
        (Budgets(), False),
        (Budgets(tokens_a_day=1_000), False),
        (Budgets(tokens_a_day=999), True),
        (Budgets(money_a_day=(2 * NANOS + NANOS // 10) / NANOS), False),
        (Budgets(money_a_day=(2 * NANOS + NANOS // 10 - 1) / NANOS), True),
        (Budgets(causes={CostCause.CHAT: Budget(tokens_a_day=900)}), False),
        (Budgets(causes={CostCause.CHAT: Budget(tokens_a_day=899)}), True),
        (Budgets(causes={CostCause.CRON: Budget(tokens_a_day=0)}), False),
        (Budgets(tokens_a_day=999, causes={CostCause.CHAT: Budget(tokens_a_day=5_000)}), True),
    ],
)
def test_a_call_may_reach_a_limit_and_not_pass_it(budgets: Budgets, *, is_stopped: bool) -> None:
    """The limit of all causes counts them all, a cause's own counts that one; both have to be kept."""
    assert (stopped(budgets) is not None) is is_stopped


@pytest.mark.parametrize("zero", [Budget(tokens_a_day=0), Budget(money_a_day=0)])
def test_a_budget_of_nothing_lets_nothing_run(zero: Budget) -> None:
    """Not even what costs nothing, such as the offline responder; and it says so plainly, without a tomorrow."""
    free = structs.replace(CHAT, least=Spend())
    error = stopped(Budgets(zero.tokens_a_day, zero.money_a_day), free, {})
    assert error is not None
    assert "is 0" in str(error)
    assert "2026-11-22" not in str(error)
    assert stopped(Budgets(tokens_a_day=900), free) is None


def test_the_owner_reads_what_is_spent_which_setting_stops_it_and_when_it_goes_on() -> None:
    """All that is needed to raise it, or to wait."""
    error = stopped(Budgets(causes={CostCause.CHAT: Budget(tokens_a_day=850)}))
    assert error is not None
    setting = "[agents.main.budget.causes.chat] tokens_a_day"
    for part in ("800 of 850", "100 more", setting, "2026-11-22", "at once", "chat"):
        assert part in str(error)


def test_another_limit_another_day_or_another_cause_is_another_mark() -> None:
    """By its mark it is known whether somebody was told: a limit that was raised and reached again is told again."""
    tomorrow = structs.replace(CHAT, day=date(2026, 11, 22))
    errors = [
        stopped(Budgets(tokens_a_day=10)),
        stopped(Budgets(tokens_a_day=20)),
        stopped(Budgets(money_a_day=(10) / NANOS)),
        stopped(Budgets(tokens_a_day=10), tomorrow),
        stopped(Budgets(tokens_a_day=10), structs.replace(CHAT, cause=CostCause.CRON)),
    ]
    again = stopped(Budgets(tokens_a_day=10), structs.replace(CHAT, least=Spend(7)))
    marks = [error.mark for error in errors if error]
    assert len(set(marks)) == len(errors)
    assert again is not None
    assert again.mark == marks[0]


def test_money_is_told_so_that_little_is_not_nothing() -> None:
    """Cents in two places, less in four."""
    assert [dollars(amount) for amount in (0, NANOS // 500, 5 * NANOS // 2, 1_234 * NANOS)] == [
        "$0.00",
        "$0.0020",
        "$2.50",
        "$1,234.00",
    ]
    assert total_spend(SPENT) == Spend(700, 200, nanos=2 * NANOS)
