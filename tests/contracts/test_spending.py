"""What every store promises about what models have cost."""

import asyncio
from datetime import date, timedelta

from gateway.stores.ports import Store
from gateway.stores.retention import Retention
from gateway.stores.spending import Spend
from gateway.stores.sqlite.store import SqliteStore
from tests.contracts.test_store import Kept

TODAY = date(2026, 11, 21)


async def test_what_is_spent_adds_up_by_agent_day_and_cause(store: Store) -> None:
    """Each sum stands by itself, whoever adds at the same time, and what was counted too high can be taken back."""
    await asyncio.gather(*(store.spending.add("main", TODAY, "chat", Spend(10, 2, 4, 30)) for _ in range(5)))
    await store.spending.add("main", TODAY, "chat", Spend(-20, 1, 0, -50, 7))
    await store.spending.add("main", TODAY, "cron", Spend(1))
    await store.spending.add("other", TODAY, "chat", Spend(3))
    await store.spending.add("main", TODAY + timedelta(days=1), "chat", Spend(9))

    assert await store.spending.on("main", TODAY) == {"chat": Spend(30, 11, 20, 100, 7), "cron": Spend(1)}
    assert await store.spending.on("other", TODAY) == {"chat": Spend(3)}
    assert await store.spending.on("main", TODAY + timedelta(days=1)) == {"chat": Spend(9)}


async def test_nothing_spent_is_nothing(store: Store) -> None:
    """A day without a call, and one whose only call was taken back, have no causes."""
    await store.spending.add("main", TODAY, "chat", Spend(10))
    await store.spending.add("main", TODAY, "chat", Spend(-10))

    assert await store.spending.on("main", TODAY) == {}
    assert await store.spending.on("main", TODAY - timedelta(days=1)) == {}


async def test_what_was_spent_outlives_the_process(kept: Kept) -> None:
    """What was added once is there when the store is opened again."""
    await kept.store.spending.add("main", TODAY, "chat", Spend(10, 5))
    await kept.reopen()
    assert await kept.store.spending.on("main", TODAY) == {"chat": Spend(10, 5)}


async def test_a_correction_is_told_at_once_and_outlives_the_process(kept: Kept) -> None:
    """Whoever asks next finds it, and a store that is closed has stored it."""
    await kept.store.spending.add("main", TODAY, "chat", Spend(10))
    await kept.store.spending.correct("main", TODAY, "chat", Spend(-4, 5))
    assert await kept.store.spending.on("main", TODAY) == {"chat": Spend(6, 5)}
    await kept.store.spending.correct("main", TODAY, "chat", Spend(1))
    await kept.reopen()
    assert await kept.store.spending.on("main", TODAY) == {"chat": Spend(7, 5)}


async def test_old_days_are_pruned_and_this_one_stays(kept: Kept) -> None:
    """SQLite lets go of days past the retention with the rest; in Redis each day's key ends by itself."""
    now, age = kept.clock.now(), Retention().spending
    today, long_ago = now.date(), (now - age - timedelta(days=2)).date()
    for day in (today, long_ago):
        await kept.store.spending.add("main", day, "chat", Spend(1))

    await kept.store.prune(now)

    assert await kept.store.spending.on("main", today) == {"chat": Spend(1)}
    is_gone = await kept.store.spending.on("main", long_ago) == {}
    assert is_gone is isinstance(kept.store, SqliteStore)
