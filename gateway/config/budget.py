"""This file is the settings of what an agent may spend in a day."""

from typing import Literal

from pydantic import Field

from gateway.config.section import Section

SpendingCause = Literal["chat", "guest", "group", "token", "heartbeat", "cron", "subagent", "flush"]


class SpendingLimit(Section):
    """What may be spent in a day of the owner's; not set: no limit; 0: nothing runs."""

    tokens_a_day: int | None = Field(default=None, ge=0)
    money_a_day: float | None = Field(default=None, ge=0)


OTHERS_TOKENS_A_DAY = 1_000_000
"""What guests may spend of an agent in a day, its groups, and the API's tokens, each kind for itself, unless it is set:
some hundred short turns. Our choice; nobody but the owner spends without a limit."""


class BudgetSettings(SpendingLimit):
    """For all causes together, and for some of them besides."""

    causes: dict[SpendingCause, SpendingLimit] = Field(default={})

    @property
    def limits(self) -> dict[SpendingCause, SpendingLimit]:
        """Those that are set, and for others than the owner the default where nothing is."""
        others = SpendingLimit(tokens_a_day=OTHERS_TOKENS_A_DAY)
        default: dict[SpendingCause, SpendingLimit] = {"guest": others, "group": others, "token": others}
        return default | self.causes
