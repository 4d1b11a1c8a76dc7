"""Counters of reason codes in SQLite."""

import sqlite3


def count(reason: str, amount: int, db: sqlite3.Connection) -> None:
    """Add *amount* to the counter of *reason*, inside the caller's transaction."""
    db.execute(
        "INSERT INTO ledger VALUES (?1, ?2) ON CONFLICT (reason) DO UPDATE SET amount = amount + ?2", (reason, amount)
    )


def counters(db: sqlite3.Connection) -> dict[str, int]:
    """Return every counter by its reason code."""
    return dict(db.execute("SELECT reason, amount FROM ledger ORDER BY reason"))
