from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from gateway.stores.sqlite.store import SqliteStore
from tests.fakes.free_loop import free_loop


@pytest.fixture(autouse=True)
def unblocked_loop() -> Iterator[None]:
    """Fail a test in which code of ours blocks the event loop."""
    with free_loop():
        yield


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = await SqliteStore.open(tmp_path / "state.db")
    yield store
    await store.close()
