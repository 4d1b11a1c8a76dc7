"""Every call of a model is counted in the store, and made only within the day's budget."""

import asyncio
from collections.abc import Mapping
from datetime import date

import pytest
from msgspec import structs

from gateway.agent.budget import Budgets, CostCause
from gateway.agent.entries import OFFLINE, ReplyEntry, ToolCall, TurnNoteEntry, Usage, UserEntry
from gateway.agent.models.paid import AgentBudget, PaidModel, Prices, paid_for
from gateway.agent.models.port import Model, ModelRequest, OnText
from gateway.agent.models.prices import Price
from gateway.errors import BudgetError, ModelFloodError, ModelUnavailableError, StoreError
from gateway.stores.spending import Spend
from gateway.stores.sqlite.spending import SqliteSpending
from gateway.stores.sqlite.store import SqliteStore
from tests.fakes.clock import START, ManualClock
from tests.fakes.model import ScriptedModel, says
from workspaces.access import AgentId
from workspaces.secrets import REMOVED, guarding

MAIN = AgentId("main")
REQUEST = ModelRequest("x" * 300, [UserEntry("y" * 300, START, "", "")], ())
"""By the cautious estimate 200 tokens."""
SEEN = says("well", usage=Usage(120, 30, 20))
PRICES = Prices({"scripted": Price(2.0, 10.0, 1.0)})


def agent_budget(store: SqliteStore, budgets: Budgets | None = None, clock: ManualClock | None = None) -> AgentBudget:
    now = (clock or ManualClock()).now
    return AgentBudget(MAIN, budgets or Budgets(), PRICES, store.spending, now, store.count)


async def ask(model: Model) -> ReplyEntry:
    return await model.reply(REQUEST, unheard)


async def unheard(_: str) -> None:
    """Nobody listens."""


class StuckModel(ScriptedModel):
    """Waits for ever."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()

    async def reply(self, request: ModelRequest, on_text: OnText) -> ReplyEntry:
        self.asked.set()
        await asyncio.Event().wait()
        raise AssertionError


async def test_a_reply_is_counted_under_its_cause_with_what_it_cost(store: SqliteStore) -> None:
    """As the provider counted it, not as it was estimated; each cause by itself."""
    spending = agent_budget(store)
    model = PaidModel(ScriptedModel(SEEN, SEEN, SEEN), spending)
    await ask(model)
    await ask(paid_for(model, CostCause.CRON))
    await ask(paid_for(model, CostCause.CRON))
    once = Spend(120, 30, 20, 100 * 2_000 + 20 * 1_000 + 30 * 10_000)
    assert await spending.spent() == {"chat": once, "cron": once + once}


async def test_a_call_that_would_pass_the_budget_is_not_made(store: SqliteStore) -> None:
    """It is stopped before anything is sent, and counted by its cause."""
    inner = ScriptedModel(SEEN, SEEN)
    model = PaidModel(inner, agent_budget(store, Budgets(tokens_a_day=349)))
    await ask(model)
    with pytest.raises(BudgetError, match="150 of 349 tokens are spent, and this call needs 200 more"):
        await ask(model)
    assert len(inner.requests) == 1
    assert (await store.report()).reasons == {"budget.chat": 1}


async def test_two_calls_at_once_cannot_both_have_what_is_left_for_one(store: SqliteStore) -> None:
    """What a call takes at least is set aside before it is sent."""
    stuck, other = StuckModel(), ScriptedModel(SEEN)
    spending = agent_budget(store, Budgets(tokens_a_day=399))
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(ask(PaidModel(stuck, spending)))
        await stuck.asked.wait()
        with pytest.raises(BudgetError):
            await ask(PaidModel(other, spending))
        task.cancel()
    assert other.requests == []


async def test_a_call_that_was_cut_off_stays_counted(store: SqliteStore) -> None:
    """Nobody knows what the provider makes of it, so a crash or a cancelled turn is no way to spend more."""
    stuck, spending = StuckModel(), agent_budget(store)
    task = asyncio.ensure_future(ask(PaidModel(stuck, spending)))
    await stuck.asked.wait()
    task.cancel()
    await asyncio.wait([task])
    assert await agent_budget(store).spent() == {"chat": Spend(200, nanos=400_000)}


async def test_a_call_that_failed_costs_nothing(store: SqliteStore) -> None:
    """What was set aside for it is given back."""
    spending = agent_budget(store, Budgets(tokens_a_day=300))
    model = PaidModel(ScriptedModel(ModelUnavailableError("down"), SEEN), spending)
    with pytest.raises(ModelUnavailableError):
        await ask(model)
    assert await spending.spent() == {}
    assert await ask(model) == SEEN


async def test_a_reply_that_did_not_end_is_counted_by_what_was_written(store: SqliteStore) -> None:
    """The provider charges for it, and says nothing of how much."""
    spending = agent_budget(store)
    with pytest.raises(ModelFloodError):
        await ask(PaidModel(ScriptedModel(ModelFloodError(3_000)), spending))
    assert await spending.spent() == {"chat": Spend(200, 1_000, nanos=400_000 + 10_000_000)}


async def test_a_provider_that_does_not_count_is_counted_by_estimate(store: SqliteStore) -> None:
    """A server that says no tokens is no way around a budget."""
    spending = agent_budget(store, Budgets(tokens_a_day=300))
    model = PaidModel(ScriptedModel("one", "two"), spending)
    await ask(model)
    with pytest.raises(BudgetError):
        await ask(model)
    assert (await spending.spent())["chat"].tokens == 200


async def test_the_offline_responder_is_free_and_still_stopped_by_nothing(store: SqliteStore) -> None:
    """It may go on where the tokens are spent, unless the owner lets nothing run."""
    free = ReplyEntry("hello", (), OFFLINE, Usage())
    spending = agent_budget(store, Budgets(tokens_a_day=1))
    await ask(PaidModel(ScriptedModel(free, name=OFFLINE), spending))
    assert await spending.spent() == {}
    with pytest.raises(BudgetError, match="is 0"):
        await ask(PaidModel(ScriptedModel(free, name=OFFLINE), agent_budget(store, Budgets(tokens_a_day=0))))


async def test_the_next_day_goes_on_by_itself(store: SqliteStore) -> None:
    """What was spent yesterday stands in yesterday's sums."""
    clock = ManualClock()
    spending = agent_budget(store, Budgets(tokens_a_day=200), clock)
    model = PaidModel(ScriptedModel(SEEN, SEEN), spending)
    await ask(model)
    with pytest.raises(BudgetError):
        await ask(model)
    clock.advance(86_400)
    await ask(model)
    assert (await spending.spent())["chat"].tokens == 150


async def test_what_was_spent_is_read_once_a_day(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls of many chats at once wait for one another's commit at most, not for a question to the store each."""
    asked: list[date] = []
    really_on = SqliteSpending.on

    async def on(spending: SqliteSpending, agent: str, day: date) -> Mapping[str, Spend]:
        asked.append(day)
        return await really_on(spending, agent, day)

    monkeypatch.setattr(SqliteSpending, "on", on)
    clock = ManualClock()
    spending = agent_budget(store, Budgets(tokens_a_day=100_000), clock)
    await asyncio.gather(*(ask(PaidModel(ScriptedModel(SEEN), spending)) for _ in range(20)))
    clock.advance(86_400)
    await asyncio.gather(*(ask(PaidModel(ScriptedModel(SEEN), spending)) for _ in range(20)))
    assert len(asked) == len({*asked}) == 2


async def test_a_call_that_could_not_be_counted_takes_nothing_of_the_budget(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not made; the next one, when the disk works again, has all that is left."""

    async def full(*_: object) -> None:
        raise StoreError("full")

    inner, spending = ScriptedModel(SEEN), agent_budget(store, Budgets(tokens_a_day=300))
    with monkeypatch.context() as broken:
        broken.setattr(SqliteSpending, "add", full)
        with pytest.raises(StoreError):
            await ask(PaidModel(inner, spending))
    assert inner.requests == []
    assert await ask(PaidModel(inner, spending)) == SEEN


async def test_a_model_that_nobody_pays_for_stays_as_it_is() -> None:
    """Parts that are tested by themselves need no purse."""
    model = ScriptedModel()
    assert paid_for(model, CostCause.FLUSH) is model


async def test_neither_request_nor_reply_holds_a_known_secret(store: SqliteStore) -> None:
    """What was said before a key was known is not sent once it is; a model that says one is not repeated."""
    key = "canary-of-models"
    inner = ScriptedModel(says(f"It is {key}.", ToolCall("c", "write_file", f'{{"text": "{key}"}}')))
    said = UserEntry(f"c {key}", START, "", "")
    request = structs.replace(REQUEST, stable=f"a {key}", entries=[TurnNoteEntry(f"b {key}"), said, *REQUEST.entries])
    with guarding([key]):
        reply = await PaidModel(inner, agent_budget(store)).reply(request, unheard)
    (sent,) = inner.requests
    assert sent.stable == f"a {REMOVED}"
    said = UserEntry(f"c {REMOVED}", START, "", "")
    assert list(sent.entries) == [TurnNoteEntry(f"b {REMOVED}"), said, *REQUEST.entries]
    assert (reply.text, reply.calls[0].arguments) == (f"It is {REMOVED}.", f'{{"text": "{REMOVED}"}}')
