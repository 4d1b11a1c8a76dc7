"""Limits of the workspace files in a prompt."""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, Literal

from annotated_types import Interval


class BootstrapRole(StrEnum):
    """Role of a bootstrap file in the limits."""

    FILE = "file"
    MEMORY = "memory"
    TODAY = "today"
    YESTERDAY = "yesterday"


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits in characters. The defaults for files, total and days are the reference systems'; the shares are ours."""

    file_chars: Annotated[int, Interval(ge=500, le=200_000)] = 20_000
    total_chars: Annotated[int, Interval(ge=1_000, le=400_000)] = 24_000
    today_chars: Annotated[int, Interval(ge=0, le=100_000)] = 4_000
    yesterday_chars: Annotated[int, Interval(ge=0, le=100_000)] = 2_000
    memory_share_chars: Annotated[int, Interval(ge=0, le=200_000)] = 8_000
    """Reserved for `MEMORY.md` if it is that long; daily notes keep their full length."""
    file_share_chars: Annotated[int, Interval(ge=0, le=200_000)] = 500
    """Reserved for every other file: a long `AGENTS.md` does not crowd out the files that describe the agent."""
    daily_notes_in_prompt: bool = True
    """Put today's and yesterday's notes into the prompt."""
    preset: Literal["standard", "openclaw", "oneclaw"] = "standard"
    """`oneclaw`: the end is cut off, and memory is one block between markers; other limits are the default."""

    @property
    def is_oneclaw(self) -> bool:
        return self.preset == "oneclaw"

    def of(self, part: BootstrapRole) -> int:
        match part:
            case BootstrapRole.TODAY:
                return self.today_chars
            case BootstrapRole.YESTERDAY:
                return self.yesterday_chars
            case BootstrapRole.FILE | BootstrapRole.MEMORY:
                return self.file_chars

    def within(self, chars: int) -> "Limits":
        """Return the limits for a prompt of which the files may take *chars*; shares shrink with the total."""
        if chars >= self.total_chars:
            return self
        share = chars / self.total_chars
        small = replace(self, total_chars=chars, file_chars=min(self.file_chars, chars))
        return replace(
            small,
            today_chars=int(self.today_chars * share),
            yesterday_chars=int(self.yesterday_chars * share),
            memory_share_chars=int(self.memory_share_chars * share),
            file_share_chars=int(self.file_share_chars * share),
        )

    def reserved(self, part: BootstrapRole) -> int:
        """Return the length that earlier files must leave for *part*."""
        match part:
            case BootstrapRole.FILE:
                return self.file_share_chars
            case BootstrapRole.MEMORY:
                return self.memory_share_chars
            case BootstrapRole.TODAY | BootstrapRole.YESTERDAY:
                return self.of(part)


ONECLAW = Limits(file_chars=4_000, today_chars=4_000, yesterday_chars=2_000, preset="oneclaw")
"""Preset with OneClaw's limits."""
