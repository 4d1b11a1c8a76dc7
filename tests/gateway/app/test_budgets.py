"""What the configuration says of money becomes prices and budgets."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.agent.budget import OTHERS_TOKENS_A_DAY, Budget, CostCause
from gateway.agent.entries import Usage
from gateway.app.budgets import agent_budgets_of, unpriced_models
from gateway.config import Config, read_config
from gateway.control.exposition import StatusCollector
from gateway.control.spending_text import spending_lines
from gateway.control.status_wire import AgentStatus, SpendingStatus, Status
from gateway.errors import ConfigError
from gateway.stores.spending import NANOS, Spend
from gateway.stores.sqlite.store import SqliteStore
from tests.fakes.clock import ManualClock
from workspaces.access import AgentId

MODELS = """
[models.listed]
provider = "openai"
model = "gpt-4o-mini"
api_key_env = "K"
[models.elsewhere]
provider = "openai"
model = "gpt-4o-mini"
base_url = "http://127.0.0.1:1/v1"
[models.mine]
provider = "openai"
model = "gpt-4o-mini"
api_key_env = "K"
price_in = 1.0
price_out = 2.0
[models.unheard]
provider = "cohere"
model = "command-z"
api_key_env = "K"
"""


def read(folder: Path, text: str) -> Config:
    file = folder / "config.toml"
    file.write_text(text, "utf-8")
    file.chmod(0o600)
    return read_config(file)


async def test_prices_and_budgets_are_those_of_the_configuration(tmp_path: Path) -> None:
    """A price that is set comes first, then the list, which holds at the provider's own address only."""
    budget = "[agents.main.budget]\nmoney_a_day = 1.5\ncauses = { cron = { tokens_a_day = 7 } }\n"
    config = read(tmp_path, f"{budget}[agents.other]\n{MODELS}")
    store = await SqliteStore.open(tmp_path / "state.db")
    agent_budgets = agent_budgets_of(config, store, ManualClock().now, store.count)
    main, other = agent_budgets[AgentId("main")], agent_budgets[AgentId("other")]
    million = Usage(1_000_000, 1_000_000, 1_000_000)
    money = {name: main.prices.of(name, million).nanos / NANOS for name in config.models}
    assert money == {"listed": 0.675, "elsewhere": 0, "mine": 3.0, "unheard": 0}
    assert main.prices.of("elsewhere", million).unpriced_tokens == 2_000_000
    assert main.prices.of("offline", million) == Spend()
    assert (main.budgets.tokens_a_day, main.budgets.money_a_day, main.budgets.nanos) == (None, 1.5, 1_500_000_000)
    assert main.budgets.of(CostCause.CRON) == Budget(7)
    assert not [*other.budgets.over(CostCause.CHAT)]
    await store.close()


def test_who_limits_money_is_told_which_models_that_does_not_limit(tmp_path: Path) -> None:
    """Nobody else is, as tokens are counted all the same."""
    limited = "[agents.main.budget.causes.chat]\nmoney_a_day = 1\n"
    told = unpriced_models(read(tmp_path, limited + MODELS))
    assert [line.split()[4] for line in told] == ["elsewhere", "unheard"]
    assert all("price_in and price_out" in line for line in told)
    assert unpriced_models(read(tmp_path, "[agents.main.budget]\ntokens_a_day = 1\n" + MODELS)) == ()


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[agents.main.budget]\ntokens_a_day = -1\n", "agents.main.budget.tokens_a_day"),
        ("[agents.main.budget.causes.lunch]\ntokens_a_day = 1\n", "agents.main.budget.causes.lunch"),
        ('[models.m]\nprovider = "openai"\nmodel = "m"\napi_key_env = "K"\nprice_in = 1\n', "price_out"),
        ('[models.m]\nprovider = "openai"\nmodel = "m"\napi_key_env = "K"\nprice_cached = 1\n', "price_in"),
    ],
)
def test_what_cannot_be_a_budget_or_a_price_is_named(tmp_path: Path, text: str, named: str) -> None:
    """By its key, before anything starts."""
    with pytest.raises(ConfigError, match=named.replace(".", r"\.")):
        read(tmp_path, text)


def rows() -> Iterator[SpendingStatus]:
    yield SpendingStatus("all", 1_500, 0.25, 500, 2_000, 1.0)
    yield SpendingStatus("chat", 1_000, 0.25)
    yield SpendingStatus("cron", 500, 0.0, 500)
    yield SpendingStatus("flush", 0, 0.0, 0, 9)


def test_what_was_spent_stands_beside_what_may_be() -> None:
    """What has no known price is named, no money where there is none, and no line where nothing was spent."""
    assert list(spending_lines([*rows()])) == [
        "all: 1,500 of 2,000 tokens, $0.2500 of $1.00, 500 of them of unknown price",
        "chat: 1,000 tokens, $0.2500",
        "cron: 500 tokens, all of unknown price",
    ]
    assert list(spending_lines([SpendingStatus("chat", 0, 0.0, 0, 9)])) == ["nothing"]


def test_prometheus_reads_what_was_spent_by_agent_and_cause() -> None:
    """One sample each of tokens and of dollars."""
    agent = AgentStatus("main", "m", None, spending=tuple(rows()))
    status = Status("1", "/", ready=True, uptime_s=1, time_zone="UTC", time_zone_source="", agents=(agent,))
    samples = {
        (sample.name, sample.labels.get("cause")): sample.value
        for metric in StatusCollector(status).collect()
        for sample in metric.samples
    }
    assert samples["strandline_spent_tokens", "chat"] == 1_000
    assert samples["strandline_spent_dollars", "all"] == 0.25


async def test_others_than_the_owner_have_a_limit_without_any_setting(tmp_path: Path) -> None:
    """Guests, groups and the API's tokens, each for itself; a table replaces it, an empty one takes it away."""
    store = await SqliteStore.open(tmp_path / "state.db")

    def causes(text: str) -> dict[str, Budget]:
        agent_budget = agent_budgets_of(
            read(tmp_path, f"[agents.main]\n{text}"), store, ManualClock().now, store.count
        )[AgentId("main")]
        return {str(cause): agent_budget.budgets.of(cause) for cause in CostCause}

    limit = Budget(OTHERS_TOKENS_A_DAY)
    none = dict.fromkeys(map(str, CostCause), Budget())
    assert causes("") == none | {"guest": limit, "group": limit, "token": limit}
    own = "[agents.main.budget.causes.guest]\ntokens_a_day = 5\n[agents.main.budget.causes.group]\n"
    assert causes(own) == none | {"guest": Budget(5), "group": Budget(), "token": limit}
    await store.close()
