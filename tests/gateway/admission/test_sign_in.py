"""How the owner's browser is let in, and who is not."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gateway.admission.sign_in import STORED_AS, WRONG_AT_MOST, SignIns, TooManyTriesError
from gateway.stores.sqlite.store import SqliteStore
from tests.fakes.clock import ManualClock


async def test_guesses_made_at_the_same_time_are_counted_before_they_are_looked_at(tmp_path: Path) -> None:
    """Of a hundred, as many are compared as of a hundred in a row; all others are refused, the right code too."""
    clock = ManualClock(datetime(2026, 3, 1, tzinfo=UTC))
    store = await SqliteStore.open(tmp_path / "state.db")
    looked_at = 0

    class Counting:
        """The store, which counts how often codes are read."""

        async def get(self, key: str) -> str | None:
            nonlocal looked_at
            looked_at += key == STORED_AS
            return await store.get(key)

        put = store.put

    sign_ins = SignIns(Counting(), clock.now)  # type: ignore[arg-type]
    code = await sign_ins.code()
    looked_at = 0
    guesses = [*(f"AAAA-{number:05}" for number in range(99)), code]
    told = await asyncio.gather(*map(sign_ins.enter, guesses), return_exceptions=True)
    assert looked_at == WRONG_AT_MOST
    assert [type(each) for each in told] == [type(None)] * WRONG_AT_MOST + [TooManyTriesError] * 95
    clock.advance(timedelta(minutes=1).total_seconds())
    assert await sign_ins.enter(code) is not None
    await store.close()


async def test_a_right_code_is_no_try_that_counts(tmp_path: Path) -> None:
    """Whoever signs in often is not kept out."""
    clock = ManualClock(datetime(2026, 3, 1, tzinfo=UTC))
    store = await SqliteStore.open(tmp_path / "state.db")
    sign_ins = SignIns(store, clock.now)
    for _ in range(WRONG_AT_MOST * 2):
        assert await sign_ins.enter(await sign_ins.code()) is not None
    for _ in range(WRONG_AT_MOST):
        assert await sign_ins.enter("wrong") is None
    with pytest.raises(TooManyTriesError):
        await sign_ins.enter(await sign_ins.code())
    await store.close()
