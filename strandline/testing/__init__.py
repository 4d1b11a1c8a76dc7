"""Tests for authors of packages: contract suites to inherit, and fakes that work; they need pytest and pytest-asyncio.

Nothing of the program imports this package.
"""

import pytest

pytest.register_assert_rewrite("strandline.testing.channels")

from strandline.testing.adapter import FakeAdapter  # noqa: E402  # after the rewriting of asserts is asked for
from strandline.testing.channels import AskedChannelContract, ChannelContract, Platform, StoreFullError  # noqa: E402
from strandline.testing.listening import Received, listening  # noqa: E402
from strandline.testing.patience import PATIENCE_S  # noqa: E402

__all__ = [
    "PATIENCE_S",
    "AskedChannelContract",
    "ChannelContract",
    "FakeAdapter",
    "Platform",
    "Received",
    "StoreFullError",
    "listening",
]
