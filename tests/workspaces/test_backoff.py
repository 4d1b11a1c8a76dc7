"""Exponential backoff."""

from workspaces.backoff import Backoff


def test_the_delay_doubles_up_to_the_longest() -> None:
    """The first failure waits for the first delay, each further one twice as long, and none longer than the longest."""
    backoff = Backoff(0.5, 3.0)
    assert [backoff.delay_s(earlier) for earlier in range(5)] == [0.5, 1.0, 2.0, 3.0, 3.0]


def test_an_outage_of_years_overflows_nothing() -> None:
    """However many attempts have failed in a row, the delay is a number."""
    assert Backoff(0.05, 600.0).delay_s(1_000_000) == 600.0
