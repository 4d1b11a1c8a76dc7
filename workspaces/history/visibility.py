"""This file decides which part of the history a turn sees: one filter, for logs, diffs and texts alike.

Whoever reads private files sees all of it. Everybody else sees their own chat's shared notes and nothing else: not the
earlier versions of files that they read today, because what the owner took out of those is not for them. Git's own ids
are not shown to them either: they are made of everything, private files included, and would differ with those.
"""

import hashlib
from dataclasses import replace
from pathlib import PurePosixPath

from workspaces.access import Access, may_read, readable_scopes, rights, scope_of
from workspaces.history.commits import Commit, CommitId
from workspaces.history.messages import subject_for


def sees_all(access: Access) -> bool:
    """Say whether *access* sees the whole history of its agent."""
    return rights(access).private


def sees_path(access: Access, path: PurePosixPath) -> bool:
    """Say whether *access* sees the versions of the file at *path*."""
    scopes = readable_scopes(access)
    return may_read(access, path) and (scopes is None or scope_of(path) in scopes)


def seen(commit: Commit, access: Access) -> Commit | None:
    """Return what *access* sees of *commit*; `None` where that is nothing.

    A part tells neither which other files changed nor which turn it came from.
    """
    if sees_all(access):
        return commit
    changes = tuple(change for change in commit.changes if sees_path(access, change.path))
    if not changes:
        return None
    subject = subject_for({change.path: change.act for change in changes})
    return replace(commit, subject=subject, origin=None, changes=changes)


def partial_id(commit: Commit, number: int) -> CommitId:
    """Return the id under which the *number*-th commit that a turn sees, from the oldest, is shown to it."""
    facts = [str(number), commit.at.isoformat(), *(f"{change.path}\0{change.content}" for change in commit.changes)]
    return CommitId(hashlib.sha1("\0".join(facts).encode(errors="surrogateescape"), usedforsecurity=False).hexdigest())
