"""What a crash, a full disk or a broken one leaves behind."""

import pytest

pytest.register_assert_rewrite("tests.crash.judge")
