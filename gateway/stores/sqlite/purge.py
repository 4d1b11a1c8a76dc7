"""Removal of passages from the state database."""

import sqlite3
from functools import partial

from gateway.stores.sqlite.group_commit import GroupCommit
from gateway.stores.sqlite.unreadable import as_it_stands
from workspaces.redact import Redaction

_TEXTS = (
    # A reply of which a part was sent keeps its text: the parts are counted by it.
    (
        "SELECT id, CAST(outgoing AS BLOB) FROM outbox WHERE state IN ('sent', 'dead') OR parts_sent = 0",
        "UPDATE outbox SET outgoing = CAST(? AS TEXT) WHERE id = ?",
    ),
    ("SELECT id, CAST(heard AS BLOB) FROM heard", "UPDATE heard SET heard = CAST(? AS TEXT) WHERE id = ?"),
    ("SELECT id, content FROM quarantine", "UPDATE quarantine SET content = ? WHERE id = ?"),
)


async def purge(commits: GroupCommit, redaction: Redaction) -> int:
    """Remove passages from stored texts, and all traces of them from the file; return how many rows held one.

    Raises StoreError.
    """
    count = await commits.run(partial(_redact, redaction))
    await commits.compact()
    return count


def _redact(redaction: Redaction, db: sqlite3.Connection) -> int:
    """Runs on the writer's thread, inside a transaction."""
    count = 0
    for select, update in _TEXTS:
        for id_, stored in db.execute(select).fetchall():
            text = as_it_stands(stored)
            clean = str(redaction.over(text))
            if clean != text:
                count += db.execute(update, (clean.encode("utf-8", "surrogateescape"), id_)).rowcount
    return count
