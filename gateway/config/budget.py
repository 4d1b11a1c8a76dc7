"""Settings of an agent's daily spending limits."""

from typing import Literal

from pydantic import Field

from gateway.agent.budget import OTHERS_TOKENS_A_DAY
from gateway.settings.section import Section

SpendingCause = Literal["chat", "guest", "group", "token", "heartbeat", "cron", "subagent", "flush"]


class SpendingLimit(Section):
    """Limits for one of the owner's days; not set: no limit; 0: nothing runs."""

    tokens_a_day: int | None = Field(default=None, ge=0)
    money_a_day: float | None = Field(default=None, ge=0)


class BudgetSettings(SpendingLimit):
    """Limits for all causes together, and for single causes in addition."""

    causes: dict[SpendingCause, SpendingLimit] = Field(default={})

    @property
    def limits(self) -> dict[SpendingCause, SpendingLimit]:
        """The limits that are set, and the default for each cause other than the owner's without one."""
        others = SpendingLimit(tokens_a_day=OTHERS_TOKENS_A_DAY)
        default: dict[SpendingCause, SpendingLimit] = {"guest": others, "group": others, "token": others}
        return default | self.causes
