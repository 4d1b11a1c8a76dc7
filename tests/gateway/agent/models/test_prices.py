"""What a reply costs, by its provider's count and the list of prices."""

import tomllib
from pathlib import Path

import pytest

from gateway.agent.entries import Usage
from gateway.agent.models import prices
from gateway.agent.models.prices import Price, cost_of_usage, listed_price
from gateway.stores.spending import Spend

LIST = Path(prices.__file__).with_name("prices.toml")


def test_a_reply_costs_what_it_read_what_it_wrote_and_less_for_what_was_cached() -> None:
    """A thousand tokens at 2.50, 10 and 0.25 dollars for a million."""
    usage = Usage(1_000, 100, 600)
    assert cost_of_usage(usage, Price(2.5, 10, 0.25)) == Spend(1_000, 100, 600, 400 * 2_500 + 600 * 250 + 100 * 10_000)


def test_a_fraction_is_rounded_up_and_never_by_the_way_floats_are_kept() -> None:
    """0.0375 dollars for a million are 37.5 thousand-millionths a token."""
    price = Price(0.0375, 0.15, 0.0375)
    assert [cost_of_usage(Usage(n), price).nanos for n in (1, 2, 3, 1_000_000)] == [38, 75, 113, 37_500_000]


def test_without_a_price_there_are_tokens_and_no_money() -> None:
    """They are counted apart, so that nobody takes the sum of money for all of it."""
    assert cost_of_usage(Usage(10, 5, 2), None) == Spend(10, 5, 2, 0, 15)


def test_a_provider_that_counts_more_cached_than_read_earns_us_nothing() -> None:
    """The price never becomes less than what all of it from the cache would cost."""
    assert cost_of_usage(Usage(10, 0, 1_000), Price(1, 1, 0.1)).nanos == 1_000


@pytest.mark.parametrize(
    ("provider", "model", "price"),
    [
        ("cohere", "command-a-03-2025", Price(2.5, 10, 2.5)),
        ("openai", "gpt-4o-mini", Price(0.15, 0.6, 0.075)),
        ("openai", "command-a-03-2025", None),
        ("elsewhere", "gpt-4o", None),
    ],
)
def test_a_price_is_found_by_provider_and_model(provider: str, model: str, price: Price | None) -> None:
    """A provider that names no price for its cache charges what it reads in full."""
    assert listed_price(provider, model) == price


def test_the_list_says_when_it_was_read_and_where() -> None:
    """Every provider has a source, and every price is one that can be believed."""
    text = LIST.read_text("utf-8")
    assert "Read on 2026-11-22" in text
    for listed in tomllib.loads(text).values():
        assert listed["source"].startswith("https://")
        for price in listed["models"].values():
            assert 0 < price.get("cached", price["in"]) <= price["in"] < price["out"] < 1_000
