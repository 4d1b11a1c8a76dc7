"""Fuzzing of all that reads others' bytes: some seconds each in the suite, minutes each by night."""

import os
import random
from typing import Any

import pytest

from tests.fuzz import archive_reader, chunker, formatters, splitter, stream_parser, transcript_reader, updates
from tests.fuzz.campaign import Target, fuzz

MINUTES = float(os.environ.get("STRANDLINE_FUZZ_MINUTES", "10"))
"""Of each target, by night."""
SECONDS = float(os.environ.get("STRANDLINE_FUZZ_SECONDS", "2"))
"""Of each target, in the suite."""
TARGETS: tuple[Target[Any], ...] = (
    formatters.TARGET,
    splitter.TARGET,
    chunker.TARGET,
    transcript_reader.TARGET,
    updates.TELEGRAM,
    updates.DISCORD,
    stream_parser.TARGET,
    archive_reader.TARGET,
)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name.replace(" ", "-"))
def test_random_inputs_for_seconds(target: Target[Any]) -> None:
    """No crash, no hang, no broken invariant; the same inputs each time, as far as the time goes."""
    assert fuzz(target, SECONDS, first_seed=1).inputs > 0


@pytest.mark.nightly
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name.replace(" ", "-"))
def test_random_inputs_for_minutes(target: Target[Any]) -> None:
    """Others each time, as long as `STRANDLINE_FUZZ_MINUTES` says; and memory does not grow."""
    first = random.SystemRandom().randrange(2**32)
    print(f"\n{fuzz(target, 60 * MINUTES, first)}; first seed {first}")
