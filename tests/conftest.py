"""Fixtures of every test: results independent of the machine's speed and load, and no key left in a home.

A promised duration is tested where it is made, with that duration; everywhere else a test waits patiently.
"""

import gc
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import certifi
import pytest
import structlog
from hypothesis import HealthCheck, settings

from gateway.__main__ import GARBAGE
from gateway.agent.recall import RecallSettings
from tests.collected import forked_workers, slow_first
from tests.fakes.packages import install
from tests.fakes.patience import PATIENCE_S
from tests.leak_search import leaks_in_homes
from tests.zygote import forked_programs, started_programs

__all__ = ["install"]

IN_MEMORY, ROOM_BYTES = Path("/dev/shm"), 4_000_000_000
"""Where files of tests lie if so much is free: no test is about a power cut, and many flush some eight files."""
JOURNEYS = Path(__file__).with_name("journeys")

settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


def pytest_configure() -> None:
    """Keep the files of tests in memory where there is room; those of a test that passed are removed at its end."""
    if IN_MEMORY.is_dir() and os.access(IN_MEMORY, os.W_OK) and shutil.disk_usage(IN_MEMORY).free >= ROOM_BYTES:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(IN_MEMORY))


def pytest_collection_finish() -> None:
    """Look for garbage as the gateway does, and never among the tests themselves."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GARBAGE)


def pytest_xdist_auto_num_workers() -> int:
    """Return the number of processes for `-n auto`: more than cores, since many tests wait for other processes."""
    return 3 * (os.cpu_count() or 1)


def pytest_xdist_setupnodes(config: pytest.Config) -> None:
    """Fork the processes of `-n` from one that has imported the tests."""
    if sys.platform == "linux":
        stack = ExitStack()
        stack.enter_context(forked_workers(config.args))
        config.add_cleanup(stack.close)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let each process of `-n` begin with tests that may take longer than others."""
    if worker := getattr(config, "workerinput", None):
        items[:] = slow_first(items, worker["workercount"], takes_long)


def takes_long(item: pytest.Item) -> bool:
    """Say whether *item* may take seconds: it says so itself, or several processes take part in it."""
    return bool(item.get_closest_marker("timeout")) or item.path.is_relative_to(JOURNEYS)


@pytest.fixture(autouse=True, scope="session")
def patient_turns() -> Iterator[None]:
    """Let a turn wait for its memories and tools, whose programs others may keep from the processor."""
    with pytest.MonkeyPatch.context() as patch:
        for patience in ("PATIENCE_S", "FIRST_PATIENCE_S", "JUST_BEGUN_S", "ALIVE_WITHIN_S"):
            patch.setattr(f"workspaces.memory.source_index.{patience}", PATIENCE_S)
        patch.setattr("gateway.agent.mcp.server.PATIENCE_S", PATIENCE_S)
        patch.setattr("gateway.app.agents.RecallSettings", partial(RecallSettings, deadline_s=PATIENCE_S))
        yield


@pytest.fixture(autouse=True, scope="session")
def one_authority(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Trust one certificate instead of 140: each client reads them, and none leaves this machine."""
    first, end, _ = Path(certifi.where()).read_text().partition("-----END CERTIFICATE-----\n")
    file = tmp_path_factory.mktemp("authority") / "cert.pem"
    file.write_text(first + end)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(file))
        patch.setattr("certifi.where", lambda: str(file))
        yield


@pytest.fixture(autouse=True, scope="session")
def plain_tracebacks() -> None:
    """Log an error as the gateway does, without a picture of each frame's variables, which takes seconds."""
    structlog.get_config()["processors"][-1].exception_formatter = structlog.dev.plain_traceback


@pytest.fixture(autouse=True, scope="session")
def quick_programs(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fork our programs where tests start them; a process of `-n` waits until it can: each starts dozens."""
    is_worker = hasattr(request.config, "workerinput")
    with forked_programs(all_of_them=is_worker and sys.platform == "linux"):
        yield


@pytest.fixture
def real_start() -> Iterator[None]:
    """Start programs of ours as everybody does, in a test of the start or of what the system shows of a process."""
    with started_programs():
        yield


@pytest.fixture(autouse=True)
def no_key_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test after which a configured key stands in a file or a version of a home, but for its configuration."""
    folder = request.getfixturevalue("tmp_path") if "tmp_path" in request.fixturenames else None
    yield
    if folder is not None:
        assert leaks_in_homes(folder) == []
