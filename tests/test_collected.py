"""The processes of a test run have the tests when they begin."""

import subprocess
import sys

import pytest
from execnet import XSpec
from execnet.gateway_io import popen_args

from tests.collected import EXECNETS, forked_workers, slow_first

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux alone")
HAS_THE_TESTS = f"import sys; sys.exit(7 * ({__name__!r} in sys.modules))"


def has_the_tests() -> bool:
    """Start a process as execnet does, and ask it."""
    asked = subprocess.run(EXECNETS, input=f"{HAS_THE_TESTS!r}\n", capture_output=True, text=True, check=False)
    assert asked.returncode in (0, 7), asked.stderr
    return asked.returncode == 7


def test_a_process_of_the_run_has_imported_the_tests_already() -> None:
    """It is forked from the one that has; outside of the run it is started."""
    with forked_workers([__file__]):
        assert has_the_tests()
    assert not has_the_tests()


def test_without_a_process_to_fork_from_it_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """It then imports the tests itself."""
    monkeypatch.setattr("tests.collected.__name__", "tests.there_is_no_such_module")
    with forked_workers([__file__]):
        assert not has_the_tests()


def test_execnet_starts_a_process_as_we_know_it() -> None:
    """Or nothing would be forked, and nobody would see it."""
    assert popen_args(XSpec("execmodel=main_thread_only//popen")) == EXECNETS


@pytest.mark.parametrize("parts", [1, 2, 4, 8])
@pytest.mark.parametrize(("count", "slow"), [(0, 0), (3, 3), (100, 7), (101, 60), (103, 0)])
def test_each_process_begins_with_its_share_of_slow_tests(parts: int, count: int, slow: int) -> None:
    """No test is lost, and none comes twice."""
    ordered = slow_first(range(count), parts, lambda test: test >= count - slow)
    assert sorted(ordered) == list(range(count))
    begun = 0
    for part in range(parts):
        own = ordered[begun : (begun := begun + (count - begun) // (parts - part))]
        kinds = [test >= count - slow for test in own]
        assert kinds == sorted(kinds, reverse=True)
        assert count < slow * parts or abs(sum(kinds) - slow / parts) < 1
