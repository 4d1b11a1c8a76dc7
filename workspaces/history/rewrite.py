"""Rewriting of a line of commits with changed contents; used only by a purge."""

from collections.abc import Callable

import pygit2
from msgspec import Struct, field
from pygit2.enums import ObjectType, ReferenceType, SortMode

Change = Callable[[bytes], bytes]
"""Return the new content of a file; the same if unchanged."""


class Rewriting(Struct):
    """Rewrites commits, each with its own author, dates, message and other files; unchanged ones keep their ids."""

    repository: pygit2.Repository
    change: Change
    contents: dict[pygit2.Oid, pygit2.Oid] = field(default_factory=dict)
    """The new content by the old one, as far as visited."""
    trees: dict[pygit2.Oid, pygit2.Oid] = field(default_factory=dict)
    commits: dict[pygit2.Oid, pygit2.Oid] = field(default_factory=dict)

    @property
    def changed(self) -> int:
        """Number of changed contents."""
        return sum(old != new for old, new in self.contents.items())

    def move_references(self) -> None:
        """Move every branch and tag to the rewritten commit: each atomically, at the end of its line."""
        for name in list(self.repository.references):
            reference = self.repository.references[name]
            if reference.type == ReferenceType.DIRECT:
                reference.set_target(self._line(reference.peel(pygit2.Commit).id))

    def _line(self, newest: pygit2.Oid) -> pygit2.Oid:
        """Rewrite every ancestor of *newest*, oldest first; return its replacement."""
        for commit in self.repository.walk(newest, SortMode.TOPOLOGICAL | SortMode.REVERSE):
            if commit.id not in self.commits:
                self.commits[commit.id] = self._commit(commit)
        return self.commits[newest]

    def _commit(self, commit: pygit2.Commit) -> pygit2.Oid:
        tree = self._tree(commit.tree)
        parents = [self.commits[parent] for parent in commit.parent_ids]
        if tree == commit.tree_id and parents == commit.parent_ids:
            return commit.id
        return self.repository.create_commit(
            None, commit.author, commit.committer, commit.message, tree, [str(parent) for parent in parents]
        )

    def _tree(self, tree: pygit2.Tree) -> pygit2.Oid:
        if tree.id not in self.trees:
            builder = self.repository.TreeBuilder(tree)
            for entry in tree:
                made = self._tree(entry) if isinstance(entry, pygit2.Tree) else self._content(entry)
                if made != entry.id:
                    builder.insert(str(entry.name), made, entry.filemode)
            self.trees[tree.id] = builder.write()
        return self.trees[tree.id]

    def _content(self, entry: pygit2.Object) -> pygit2.Oid:
        if entry.type != ObjectType.BLOB:
            return entry.id
        if entry.id not in self.contents:
            old = self.repository.odb.read(entry.id)[1]
            new = self.change(old)
            self.contents[entry.id] = entry.id if new == old else self.repository.create_blob(new)
        return self.contents[entry.id]


def objects_holding(repository: pygit2.Repository, holds: Callable[[bytes], bool]) -> int:
    """Return the number of objects, reachable or not, in which *holds* finds something; trees contain only names."""
    return sum(
        holds(data)
        for type_, data in (repository.odb.read(oid)[:2] for oid in repository.odb)
        if type_ != ObjectType.TREE
    )
