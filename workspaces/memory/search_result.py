"""Result of a memory search."""

from dataclasses import dataclass, field

from workspaces.memory.fit import fits_clearly
from workspaces.memory.hits import CLEAR, Hit
from workspaces.memory.status import Mode


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The answer to a query, best hit first."""

    hits: tuple[Hit, ...]
    mode: Mode
    notice: str = ""
    """Hints for the reader: keywords only and the reason, a truncated query, notes not yet indexed."""
    rest: tuple[Hit, ...] = ()
    """The next hits that were looked at, best first."""
    is_house: bool = False
    """Some of it stays on the owner's machines."""
    is_withheld: bool = False
    """Something else fits that the reader may not know."""
    question: str = field(default="", compare=False)

    @property
    def left_out(self) -> tuple[Hit, ...]:
        """The next hits, as far as they clearly fit."""
        return tuple(hit for hit in self.rest if hit.score >= CLEAR)

    @property
    def is_clear(self) -> bool:
        """Whether the hits clearly fit; otherwise they are only the nearest."""
        return fits_clearly((*self.hits, *self.rest), self.question)
