from collections.abc import Iterator

import pytest

from tests.fakes.free_loop import free_loop


@pytest.fixture(autouse=True)
def unblocked_loop() -> Iterator[None]:
    """Fail a test in which code of ours blocks the event loop."""
    with free_loop():
        yield
