import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.crash.nursery import WARDS, Nursery, nursery


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the tests of this folder take 15 minutes: each starts a process anew at every step of its work."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent) and item.get_closest_marker("nightly") is None:
            item.add_marker(pytest.mark.timeout(900))


@pytest.fixture
async def wards() -> AsyncIterator[asyncio.Queue[Nursery]]:
    """Processes that fork gateways; one that is taken out is free."""
    free: asyncio.Queue[Nursery] = asyncio.Queue()
    async with AsyncExitStack() as stack:
        for _ in range(WARDS):
            free.put_nowait(await stack.enter_async_context(nursery()))
        yield free
