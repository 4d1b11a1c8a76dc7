"""Fixtures that make test results independent of the machine's speed and load.

A promised duration is tested where it is made, with that duration; everywhere else a test waits patiently.
"""

from collections.abc import Iterator
from dataclasses import fields

import pytest
from hypothesis import HealthCheck, settings

from gateway.agent.recall import RecallSettings
from tests.fakes.patience import PATIENCE_S

settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


@pytest.fixture(autouse=True, scope="session")
def patient_memory() -> Iterator[None]:
    """Let a search, and a turn that has memories brought up, wait for an index that others keep from the processor."""
    with pytest.MonkeyPatch.context() as patch:
        for patience in ("PATIENCE_S", "FIRST_PATIENCE_S", "ALIVE_WITHIN_S"):
            patch.setattr(f"workspaces.memory.search.{patience}", PATIENCE_S)
        defaults = {each.name: each.default for each in fields(RecallSettings)} | {"deadline_s": PATIENCE_S}
        patch.setattr(RecallSettings.__init__, "__defaults__", tuple(defaults.values()))
        yield
