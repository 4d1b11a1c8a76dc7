"""Settings of the part of a conversation that a model sees."""

from dataclasses import dataclass
from datetime import timedelta
from fnmatch import fnmatchcase
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from gateway.settings.section import Temperature

_ToolPatterns = tuple[Annotated[str, StringConstraints(min_length=1, max_length=200)], ...]

SMALL_WINDOW = 32_000
"""Tokens up to which a window is small: 20,000 for what a turn reads would leave nothing for the conversation."""
_SMALL_SHARE, _SMALL_KEPT = 0.8, 10
"""Share of a small window at which a summary is due, and the part of it that stays whole then: one in so many."""
_WORTH = 10
"""A summary is worth its price from one in so many tokens of the window on."""


@dataclass(frozen=True, slots=True)
class ContextSettings:
    """The part of a conversation that a model sees, and when notes are saved and the older part is summarised.

    The defaults are those of the reference systems.
    """

    prune: Literal["cache-ttl", "off"] = "cache-ttl"
    """`off`: no tool result is ever trimmed."""
    prune_ttl_s: Annotated[float, Field(gt=0, le=86_400)] = 300
    """How long a provider keeps a prompt."""
    prune_only: _ToolPatterns = ()
    """Names or patterns of the tools whose results may be trimmed; empty means all."""
    prune_never: _ToolPatterns = ()
    """Names or patterns of the tools whose results never are."""
    trim_share: Annotated[float, Field(ge=0, le=1)] = 0.3
    """Share of the window from which on long results are cut down to their ends."""
    clear_share: Annotated[float, Field(ge=0, le=1)] = 0.5
    """Share of the window from which on whole results are cleared, the oldest first."""
    least_cleared_chars: Annotated[int, Field(ge=0)] = 50_000
    """Fewest characters worth clearing: for less, a cold cache is too expensive."""
    long_chars: Annotated[int, Field(ge=200)] = 4_000
    """Characters from which on a result is long."""
    head_chars: Annotated[int, Field(ge=0)] = 1_500
    tail_chars: Annotated[int, Field(ge=0)] = 1_500
    whole_turns: Annotated[int, Field(ge=1, le=1_000)] = 3
    """The latest turns, in which nothing is trimmed."""
    compact: bool = True
    reserve_tokens: Annotated[int, Field(ge=0)] = 20_000
    """Kept free for the answer and the results that the turn reads."""
    flush_tokens: Annotated[int, Field(ge=0)] = 4_000
    """Kept free in addition, for writing notes before."""
    share: Annotated[float, Field(ge=0.2, le=0.95)] | None = None
    """Share of the window at which a summary is due, instead of the two numbers (OneClaw: 0.8)."""
    kept_tokens: Annotated[int, Field(ge=0)] = 20_000
    """The latest turns that stay whole; at most a quarter of the window, a tenth of a small one."""
    flush: bool = True
    flush_prompt: Annotated[str, Field(min_length=1, max_length=10_000)] | None = None
    """Asks for notes; `None` for the built-in words."""
    flush_steps: Annotated[int, Field(ge=1, le=50)] = 5
    flush_temperature: Temperature = 0.3

    def __post_init__(self) -> None:
        if self.head_chars + self.tail_chars >= self.long_chars:
            raise ValueError("head_chars and tail_chars together must be less than long_chars")

    @property
    def cache_ttl(self) -> timedelta | None:
        """How long a provider keeps a prompt; with `None` nothing is ever trimmed."""
        return timedelta(seconds=self.prune_ttl_s) if self.prune == "cache-ttl" else None

    def may_trim(self, tool: str) -> bool:
        """Return whether results of *tool* may be trimmed; those of a tool in both lists may not."""
        allowed = not self.prune_only or any(fnmatchcase(tool, pattern) for pattern in self.prune_only)
        return allowed and not any(fnmatchcase(tool, pattern) for pattern in self.prune_never)

    def limit(self, window_tokens: int) -> int:
        """Return the size of a request, in tokens, from which on a conversation is summarised."""
        if self.share is not None or window_tokens <= SMALL_WINDOW:
            return int(window_tokens * (self.share or _SMALL_SHARE))
        return max(window_tokens - self.reserve_tokens - self.flush_tokens, window_tokens // 2)

    def is_worth(self, older_tokens: int, window_tokens: int) -> bool:
        """Return whether a summary of *older_tokens* frees enough: nothing else of a request gets smaller by it."""
        return older_tokens >= window_tokens // _WORTH

    def kept(self, window_tokens: int) -> int:
        """Return how many tokens of the latest turns stay whole."""
        return min(self.kept_tokens, window_tokens // (_SMALL_KEPT if window_tokens <= SMALL_WINDOW else 4))
