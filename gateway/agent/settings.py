"""Settings of a turn's limits and of its recall."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

RecallMode = Literal["on", "past", "off"]
"""Whether memories are brought up unasked; `past`: only for messages that ask about the past."""


@dataclass(frozen=True, slots=True)
class TurnLimits:
    """The limits of one turn; all but the time keep counting when a turn is resumed after a crash."""

    steps: Annotated[int, Field(ge=1, le=200)] = 12
    """Replies of the model."""
    identical_calls: Annotated[int, Field(ge=2, le=50)] = 3
    """From this number on, calls with the same name and arguments are no longer run."""
    tokens: Annotated[int, Field(ge=1_000)] = 1_000_000
    """Input and output of all steps together."""
    turn_s: Annotated[float, Field(gt=0, le=86_400)] = 300.0
    calls: Annotated[int, Field(ge=1, le=10_000)] = 64
    """Calls in one reply; if a reply has more, none is run. Our choice: models ask for a few."""
