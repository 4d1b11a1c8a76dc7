"""The agents' budgets, by the configured limits and prices."""

from collections.abc import Awaitable, Callable
from datetime import datetime

from gateway.agent.budget import Budgets
from gateway.agent.models.paid import AgentBudget, Prices
from gateway.agent.models.prices import Price, listed_price
from gateway.config import Config, ModelSettings
from gateway.stores.ports import Store
from workspaces.access import AgentId


def agent_budgets_of(
    config: Config, store: Store, now: Callable[[], datetime], count: Callable[[str], Awaitable[None]]
) -> dict[AgentId, AgentBudget]:
    """Return the budget of every agent; *now* returns the owner's time."""
    prices = Prices({name: price for name, model in config.models.items() if (price := _price(model)) is not None})
    return {
        AgentId(name): AgentBudget(AgentId(name), agent.budget, prices, store.spending, now, count)
        for name, agent in config.agents.items()
    }


def unpriced_models(config: Config) -> tuple[str, ...]:
    """Return a line for each model that no budget of money can limit."""
    if not any(_limits_money(agent.budget) for agent in config.agents.values()):
        return ()
    return tuple(
        f"the price of model {name} is not known, so money_a_day does not limit it; set price_in and price_out"
        for name, settings in config.models.items()
        if _price(settings) is None
    )


def _limits_money(budgets: Budgets) -> bool:
    return any(limit.money_a_day is not None for limit in (budgets, *budgets.causes.values()))


def _price(model: ModelSettings) -> Price | None:
    """Return the price of *model*: as set, or as listed for its provider's own address."""
    if model.price_in is not None and model.price_out is not None:
        cached = model.price_in if model.price_cached is None else model.price_cached
        return Price(model.price_in, model.price_out, cached)
    return listed_price(model.provider, model.model) if model.base_url is None else None
