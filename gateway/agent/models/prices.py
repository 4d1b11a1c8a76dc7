"""Token prices of models, and the cost of a reply."""

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
    """Price of a million tokens of one model, in US dollars."""

    input: float
    output: float
    cached: float
    """For tokens read from the provider's cache."""


def listed_price(provider: str, model: str) -> Price | None:
    """Return the price that `prices.toml` lists for *model* of *provider*; `None` if it lists none."""
    listed = _table().get(provider, {}).get(model)
    return None if listed is None else Price(listed["in"], listed["out"], listed.get("cached", listed["in"]))


def cost_of_usage(usage: Usage, price: Price | None) -> Spend:
    """Return the cost of a reply with *usage*, rounded up; without a *price* it counts tokens alone."""
    read, written, cached = usage.input_tokens, usage.output_tokens, min(usage.cached_tokens, usage.input_tokens)
    if price is None:
        return Spend(read, written, cached, unpriced_tokens=read + written)
    dollars_a_million = (read - cached) * price.input + cached * price.cached + written * price.output
    return Spend(read, written, cached, math.ceil(round(dollars_a_million * _NANOS_A_TOKEN, 6)))


@cache
def _table() -> dict[str, dict[str, dict[str, float]]]:
    text = files("gateway.agent.models").joinpath("prices.toml").read_text("utf-8")
    return {provider: listed["models"] for provider, listed in tomllib.loads(text).items()}
