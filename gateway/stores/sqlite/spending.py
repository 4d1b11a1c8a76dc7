"""Model costs in SQLite."""

import sqlite3
from collections.abc import Mapping
from datetime import date
from functools import partial

from msgspec import Struct

from gateway.stores.spending import Spend
from gateway.stores.sqlite.group_commit import GroupCommit, transaction


class SqliteSpending(Struct, frozen=True):
    """Implements `Spending`."""

    commits: GroupCommit

    @transaction
    def add(self, db: sqlite3.Connection, agent: str, day: date, cause: str, spend: Spend) -> None:
        _add((agent, day.isoformat(), cause), spend, db)

    async def correct(self, agent: str, day: date, cause: str, spend: Spend) -> None:
        self.commits.ride(partial(_add, (agent, day.isoformat(), cause), spend))

    @transaction
    def on(self, db: sqlite3.Connection, agent: str, day: date) -> Mapping[str, Spend]:
        asked = "SELECT cause, input, output, cached, nanos, unpriced FROM spending WHERE agent = ? AND day = ?"
        found = {str(cause): Spend(*amounts) for cause, *amounts in db.execute(asked, (agent, day.isoformat()))}
        return {cause: spend for cause, spend in found.items() if spend != Spend()}


def _add(key: tuple[str, str, str], spend: Spend, db: sqlite3.Connection) -> None:
    db.execute(
        "INSERT INTO spending VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (agent, day, cause) DO UPDATE SET "
        "input = input + excluded.input, output = output + excluded.output, cached = cached + excluded.cached, "
        "nanos = nanos + excluded.nanos, unpriced = unpriced + excluded.unpriced",
        (*key, spend.input_tokens, spend.output_tokens, spend.cached_tokens, spend.nanos, spend.unpriced_tokens),
    )
