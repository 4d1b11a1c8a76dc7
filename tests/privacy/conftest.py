import asyncio
from collections.abc import Iterator

import pytest
from structlog.testing import capture_logs

from tests.fakes.clock import ManualClock
from tests.privacy.world import stand_ins
from workspaces.memory.client import WorkerClient, WorkerSettings


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def clock(runner: asyncio.Runner) -> Iterator[ManualClock]:
    """Let one clock and one memory worker serve all worlds."""
    clock, worker = ManualClock(), WorkerClient(WorkerSettings(deadline_s=300.0))
    with pytest.MonkeyPatch.context() as patch, capture_logs():
        stand_ins(patch, worker, clock)
        yield clock
    runner.run(worker.close())
