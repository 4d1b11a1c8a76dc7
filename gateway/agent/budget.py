"""Daily budget of an agent: decides whether a model call fits the limits that the owner has set."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from enum import StrEnum
from functools import reduce
from operator import add
from typing import Annotated

from msgspec import Struct
from pydantic import Field

from gateway.errors import BudgetError
from gateway.stores.spending import NANOS, Spend, dollars

OTHERS_TOKENS_A_DAY = 1_000_000
"""Default daily tokens per agent for guests, groups and API tokens, each kind separately: some hundred short turns.

Our choice; nobody but the owner spends without a limit.
"""


class CostCause(StrEnum):
    """The purpose of a model call."""

    CHAT = "chat"
    """The owner's own messages."""
    GUEST = "guest"
    GROUP = "group"
    TOKEN = "token"  # noqa: S105  # whoever asks by the API with a token that is not the owner's
    HEARTBEAT = "heartbeat"
    CRON = "cron"
    SUBAGENT = "subagent"
    FLUSH = "flush"
    """Saving notes and summarising, in any session."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Spending limit for one day in the owner's time zone; `None` sets no limit, 0 allows nothing."""

    tokens_a_day: Annotated[int, Field(ge=0)] | None = None
    """Input and output tokens, including those that the provider had cached."""
    money_a_day: Annotated[float, Field(ge=0)] | None = None
    """In US dollars."""

    @property
    def nanos(self) -> int | None:
        """The money in billionths of a dollar."""
        return None if self.money_a_day is None else round(self.money_a_day * NANOS)

    @property
    def is_set(self) -> bool:
        return self.tokens_a_day is not None or self.money_a_day is not None


_OTHERS = (CostCause.GUEST, CostCause.GROUP, CostCause.TOKEN)


@dataclass(frozen=True, slots=True)
class Budgets(Budget):
    """The spending limits of one agent: for all causes together, and for single causes in addition."""

    causes: dict[CostCause, Budget] = field(default_factory=dict)

    def of(self, cause: CostCause) -> Budget:
        """Return the limit for *cause* alone: as set, or the default of others than the owner."""
        return self.causes.get(cause, Budget(OTHERS_TOKENS_A_DAY if cause in _OTHERS else None))

    def over(self, cause: CostCause) -> Iterator[tuple[CostCause | None, Budget]]:
        """Yield each budget that a call for *cause* has to keep, the one for all causes under `None`."""
        found: tuple[tuple[CostCause | None, Budget], ...] = ((None, self), (cause, self.of(cause)))
        yield from ((of, budget) for of, budget in found if budget.is_set)


def total_spend(spent: Mapping[str, Spend]) -> Spend:
    """Return the spending of all causes together."""
    return reduce(add, spent.values(), Spend())


def check_budget(agent: str, budgets: Budgets, spent: Mapping[str, Spend], call: "ModelCall") -> None:
    """Raise BudgetError if *call* would exceed one of the *budgets* of *agent*; *spent* is the day's total so far."""
    for of, budget in budgets.over(call.cause):
        so_far = total_spend(spent) if of is None else spent.get(of, Spend())
        table = f"[agents.{agent}.budget{'' if of is None else f'.causes.{of}'}]"
        if _passes(budget.tokens_a_day, so_far.tokens, call.least.tokens):
            facts = f"{so_far.tokens:,} of {budget.tokens_a_day:,} tokens are spent, and this call needs "
            facts += f"{call.least.tokens:,} more"
            raise _stop(call, f"{table} tokens_a_day", budget.tokens_a_day or 0, facts)
        if _passes(budget.nanos, so_far.nanos, call.least.nanos):
            facts = f"{dollars(so_far.nanos)} of {dollars(budget.nanos or 0)} are spent, and this call "
            facts += f"needs at least {dollars(call.least.nanos)} more"
            raise _stop(call, f"{table} money_a_day", budget.nanos or 0, facts)


class ModelCall(Struct, frozen=True):
    """A model call that is about to be made."""

    cause: CostCause
    day: date
    """In the owner's time zone."""
    least: Spend
    """Minimum cost: the input of the request."""


def _passes(limit: int | None, so_far: int, more: int) -> bool:
    return limit is not None and (limit == 0 or so_far + more > limit)


def _stop(call: ModelCall, setting: str, limit: int, facts: str) -> BudgetError:
    if limit == 0:
        said = f"I may not call a language model for this ({call.cause}): {setting} is 0. Raise it to allow this."
    else:
        tomorrow = call.day + timedelta(days=1)
        said = (
            f"I stopped because my budget for today does not cover the next model call ({call.cause}): {facts}. I "
            f"continue automatically on {tomorrow:%Y-%m-%d}; to continue sooner, raise {setting} in the configuration: "
            "it takes effect at once."
        )
    return BudgetError(call.cause, said, f"{call.cause}:{call.day}:{setting}:{limit}")


def format_spend(spend: Spend) -> str:
    """Format *spend*; usage without a known price is named, not counted as free."""
    if not spend.unpriced_tokens:
        return dollars(spend.nanos)
    unknown = f"{spend.unpriced_tokens:,} tokens of unknown price"
    return f"{dollars(spend.nanos)} and {unknown}" if spend.nanos else unknown
