"""Operations on git's objects: find files in trees, insert new ones, and copy readable commits."""

from collections.abc import Collection, Mapping
from pathlib import PurePosixPath
from typing import cast

import pygit2
from pygit2.enums import FileMode, ObjectType

_Stored = pygit2.Commit | pygit2.Tree | pygit2.Blob
_TRIES = 50
"""Most commits, from the newest, tried when a damaged repository is copied."""


def blobs_at(tree: pygit2.Tree, paths: Collection[PurePosixPath]) -> dict[PurePosixPath, str | None]:
    """Return the id of the content of each file at *paths*; each folder is read once."""
    folders = {parent: _entry(tree, str(parent)) if parent.name else tree for parent in {each.parent for each in paths}}
    found = {path: _entry(folders[path.parent], path.name) for path in paths}
    return {path: str(each.id) if isinstance(each, pygit2.Blob) else None for path, each in found.items()}


def _entry(tree: pygit2.Object | None, path: str) -> pygit2.Object | None:
    try:
        return tree[path] if isinstance(tree, pygit2.Tree) else None
    except KeyError:
        return None


def files_in(tree: pygit2.Tree) -> dict[PurePosixPath, str]:
    """Return the id of every file below *tree* by its path."""
    found: dict[PurePosixPath, str] = {}
    waiting = [(PurePosixPath(), tree)]
    while waiting:
        path, folder = waiting.pop()
        for entry in folder:
            if isinstance(entry, pygit2.Tree):
                waiting.append((path / str(entry.name), entry))
            elif entry.type == ObjectType.BLOB:
                found[path / str(entry.name)] = str(entry.id)
    return found


def graft(
    repository: pygit2.Repository, tree: pygit2.Tree | None, contents: Mapping[tuple[str, ...], bytes | None]
) -> pygit2.Oid | None:
    """Write *tree* with *contents*, by the components of their paths, inserted; `None` for a folder without files.

    Content `None` removes an existing file.
    """
    builder = repository.TreeBuilder(tree) if tree is not None else repository.TreeBuilder()
    for name, here in _by_first(contents).items():
        data = here.pop((), None)
        there = tree[name] if tree is not None and name in tree else None
        folder = there if isinstance(there, pygit2.Tree) else None
        if data is not None:
            builder.insert(name, repository.create_blob(data), FileMode.BLOB)
        elif here and (made := graft(repository, folder, here)):
            builder.insert(name, made, FileMode.TREE)
        else:
            builder.remove(name)
    return builder.write() if len(builder) else None


def _by_first(contents: Mapping[tuple[str, ...], bytes | None]) -> dict[str, dict[tuple[str, ...], bytes | None]]:
    grouped: dict[str, dict[tuple[str, ...], bytes | None]] = {}
    for (first, *rest), data in contents.items():
        grouped.setdefault(first, {})[tuple(rest)] = data
    return grouped


def newest_whole(old: pygit2.Repository, new: pygit2.Repository) -> pygit2.Oid | None:
    """Copy from *old* to *new* the newest commit whose objects can all be read, with them; return its id."""
    objects = (_readable(old, oid) for oid in old.odb)
    commits = [found for found in objects if isinstance(found, pygit2.Commit)]
    commits.sort(key=lambda commit: commit.commit_time, reverse=True)
    return next((commit.id for commit in commits[:_TRIES] if _copy_commit(old, new, commit.id)), None)


def _copy_commit(old: pygit2.Repository, new: pygit2.Repository, commit: pygit2.Oid) -> bool:
    """Copy *commit* and all its objects; tell whether it was complete."""
    waiting, copied = [commit], set[pygit2.Oid]()
    while waiting:
        oid = waiting.pop()
        if oid in copied:
            continue
        found = _readable(old, oid)
        match found:
            case None:
                return False
            case pygit2.Commit():
                waiting += [found.tree_id, *found.parent_ids]
            case pygit2.Tree():
                waiting += [entry.id for entry in found]
        new.odb.write(found.type, found.read_raw())
        copied.add(oid)
    return True


def _readable(repository: pygit2.Repository, oid: pygit2.Oid) -> _Stored | None:
    try:
        found = repository[oid]
    except (pygit2.GitError, KeyError, ValueError):
        return None
    return cast("_Stored", found)  # its stubs do not declare a Commit as an Object
