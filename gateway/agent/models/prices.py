"""This file knows what a model's tokens cost, and works out what a reply did."""

import math
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from gateway.agent.entries import Usage
from gateway.stores.spending import Spend

_NANOS_A_TOKEN = 1_000
"""At a price of one dollar for a million tokens."""


@dataclass(frozen=True, slots=True)
class Price:
    """What a million tokens of one model cost, in US dollars."""

    input: float
    output: float
    cached: float
    """Of what was read from the provider's cache."""


def listed_price(provider: str, model: str) -> Price | None:
    """Return what `prices.toml` says of what *provider* calls *model*; `None` if it does not know it."""
    listed = _table().get(provider, {}).get(model)
    return None if listed is None else Price(listed["in"], listed["out"], listed.get("cached", listed["in"]))


def spent(usage: Usage, price: Price | None) -> Spend:
    """Return what a reply with *usage* cost, a fraction rounded up; without a *price* it is tokens alone."""
    read, written, cached = usage.input_tokens, usage.output_tokens, min(usage.cached_tokens, usage.input_tokens)
    if price is None:
        return Spend(read, written, cached, unpriced_tokens=read + written)
    dollars_a_million = (read - cached) * price.input + cached * price.cached + written * price.output
    return Spend(read, written, cached, math.ceil(round(dollars_a_million * _NANOS_A_TOKEN, 6)))


@cache
def _table() -> dict[str, dict[str, dict[str, float]]]:
    text = files("gateway.agent.models").joinpath("prices.toml").read_text("utf-8")
    return {provider: listed["models"] for provider, listed in tomllib.loads(text).items()}
