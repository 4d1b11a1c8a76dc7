"""Record of a change of an index's layout that was held back, or accepted by the owner in spite of its losses."""

import json
from contextlib import suppress
from pathlib import Path

from msgspec import Struct, structs

HELD = "held.json"
"""File in the index's folder."""


class HeldChange(Struct, frozen=True):
    """A change that lost answers in its examination."""

    serving: str
    """Layout that goes on answering."""
    refused: str
    """Layout that was not taken into use."""
    chunking: str
    """Chunking of the serving one."""
    asked: int
    """Questions of the examination."""
    before: int
    """Questions that the serving one answered."""
    after: int
    """Questions that the refused one answered."""
    is_accepted: bool = False
    """The owner wants it nevertheless."""

    def __str__(self) -> str:
        """Return what was held back, and what can be done, for the owner."""
        return (
            f"the change from {self.serving} to {self.refused} is held back: of {self.asked} questions about your "
            f"notes {self.before} are answered now, and it would answer {self.after}. "
            "Accept it: strandline memory accept; or put the former [memory] settings back"
        )


def read_held(folder: Path) -> HeldChange | None:
    """Return the record in the index's *folder*; `None` without a readable one."""
    with suppress(OSError, ValueError, TypeError):
        return HeldChange(**json.loads((folder / HELD).read_text("utf-8")))
    return None


def write_held(folder: Path, held: HeldChange) -> None:
    """Record *held*."""
    (folder / HELD).write_text(json.dumps(structs.asdict(held)), "utf-8")


def forget_held(folder: Path) -> None:
    """Remove the record."""
    (folder / HELD).unlink(missing_ok=True)
