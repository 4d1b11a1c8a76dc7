"""A statement of a document about another system, and what Strandline does about it."""

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import pytest

from gateway.config import Config
from gateway.config.reading import parse_config

ROOT = Path(__file__).parents[2]
DOCUMENTS = next((each / "shared" / "seeds" for each in ROOT.parents if (each / "shared" / "seeds").is_dir()), None)
"""The documents lie beside the repository, or are absent."""


class Verdict(StrEnum):
    """What Strandline does about a statement."""

    SAME = "same"
    BETTER = "better"
    """Something else on purpose, with the reason."""
    NOT = "not"
    """Nothing of the kind, with the reason."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement in our words, with the proof of the verdict."""

    says: str
    verdict: Verdict
    reason: str = ""
    check: Callable[[], object] | None = None
    """Fails if the verdict is wrong."""
    held_by: tuple[str, ...] = ()
    """Tests that prove it at length, as `tests/….py::test_…`."""

    def hold(self) -> None:
        """Prove the verdict."""
        assert self.check is not None or self.held_by or self.verdict is Verdict.NOT, "nothing proves it"
        assert self.verdict is Verdict.SAME or self.reason, "a difference needs its reason"
        for test in self.held_by:
            file, _, name = test.partition("::")
            assert re.search(rf"^(async )?def {name}\(", (ROOT / file).read_text("utf-8"), re.MULTILINE), test
        if self.check is not None:
            assert self.check() in {None, True}, "it does something else"


def same(says: str, *held_by: str, check: Callable[[], object] | None = None) -> Statement:
    """Return a statement that holds here as it stands."""
    return Statement(says, Verdict.SAME, check=check, held_by=held_by)


def better(says: str, reason: str, *held_by: str, check: Callable[[], object] | None = None) -> Statement:
    """Return a statement that does not hold, because of *reason*."""
    return Statement(says, Verdict.BETTER, reason, check, held_by)


def lacking(says: str, reason: str) -> Statement:
    """Return a statement about what does not exist here, because of *reason*."""
    return Statement(says, Verdict.NOT, reason)


def settings(preset: str) -> Config:
    """Return the configuration with *preset* and nothing else."""
    return parse_config(f'[memory]\npreset = "{preset}"', Path("config.toml"))


def is_document(name: str, digest: str) -> None:
    """Check that the statements were read in this text of the document; skip where it is absent."""
    if DOCUMENTS is None or not (DOCUMENTS / name).is_file():
        pytest.skip("the documents about other systems are not beside this repository")
    assert hashlib.sha256((DOCUMENTS / name).read_bytes()).hexdigest().startswith(digest)
