"""The part of the history visible to a turn: one filter for logs, diffs and texts alike.

A reader of private files sees all of it. Everybody else sees their own chat's shared notes and nothing else: not the
earlier versions of files that they read today, because passages that the owner removed are not for them. Git's own ids
are hidden from them too: they depend on everything, private files included, and would reveal changes there.
"""

import hashlib
from pathlib import PurePosixPath

from msgspec import structs

from workspaces.access import Access, may_read, readable_scopes, rights, scope_of
from workspaces.history.commits import Commit, CommitId
from workspaces.history.messages import subject_for


def sees_all(access: Access) -> bool:
    """Tell whether *access* sees the whole history of its agent."""
    return rights(access).private


def sees_path(access: Access, path: PurePosixPath) -> bool:
    """Tell whether *access* sees the versions of the file at *path*."""
    scopes = readable_scopes(access)
    return may_read(access, path) and (scopes is None or scope_of(path) in scopes)


def visible_part(commit: Commit, access: Access) -> Commit | None:
    """Return the part of *commit* visible to *access*; `None` if there is none.

    A part reveals neither other changed files nor the turn that it came from.
    """
    if sees_all(access):
        return commit
    changes = tuple(change for change in commit.changes if sees_path(access, change.path))
    if not changes:
        return None
    subject = subject_for({change.path: change.act for change in changes})
    return structs.replace(commit, subject=subject, origin=None, changes=changes)


def partial_id(commit: Commit, number: int) -> CommitId:
    """Return the id under which a partial view shows its *number*-th commit, from the oldest."""
    facts = [str(number), commit.at.isoformat(), *(f"{change.path}\0{change.content}" for change in commit.changes)]
    return CommitId(hashlib.sha1("\0".join(facts).encode(errors="surrogateescape"), usedforsecurity=False).hexdigest())
