from pathlib import Path

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the tests of this folder take 15 minutes: each starts a process anew at every step of its work."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent) and item.get_closest_marker("nightly") is None:
            item.add_marker(pytest.mark.timeout(900))
