"""Storage of file versions in one bare git repository, without a work tree and without user settings."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path, PurePosixPath

import pygit2
from filelock import FileLock, Timeout
from pygit2.enums import (
    ConfigLevel,
    DeltaStatus,
    DiffOption,
    ObjectType,
    RepositoryInitFlag,
    RepositoryOpenFlag,
    SortMode,
)

from workspaces.access import AgentId
from workspaces.errors import HistoryUnusableError
from workspaces.fault_points import Checkpoint, unchecked
from workspaces.history.commits import FileDiff
from workspaces.history.messages import Act
from workspaces.history.rewrite import Change, Rewriting, objects_holding
from workspaces.history.trees import blobs_at, files_in, graft, newest_whole

_BRANCH = "refs/heads/main"
_OPEN = RepositoryOpenFlag.BARE | RepositoryOpenFlag.NO_SEARCH
_OTHERS = (ConfigLevel.PROGRAMDATA, ConfigLevel.SYSTEM, ConfigLevel.XDG, ConfigLevel.GLOBAL)
_SETTINGS = {
    "core.hooksPath": os.devnull,
    "core.logAllRefUpdates": "false",
    "gc.auto": "0",
}
_AGENT, _MAINTAINED = "strandline.agent", "strandline.maintained"
_LOCKS = ("*.lock", "gc.pid", "refs/**/*.lock", "objects/info/**/*.lock")
_LOCK_TIMEOUT_S = 30.0
_MAINTAINED_EVERY = timedelta(days=30)
_LOOSE_IN_A_FOLDER = 27
"""Loose objects in one of 256 folders at which git itself considers them too many (6,700 in all)."""
Blobs = Mapping[PurePosixPath, bytes | None]
"""New contents by path; `None` for a deleted file."""


class Repository:
    """A line of commits over the files of one agent; append-only except for `rewrite`.

    Every call opens the repository anew: another process may have packed or replaced it. Raises HistoryUnusableError
    when it cannot be read or written; `is_sound` tells whether it is damaged.
    """

    def __init__(self, path: Path, agent: AgentId, checkpoint: Checkpoint = unchecked) -> None:
        _ignore_others()
        self.path = path
        self._agent = agent
        self._checkpoint = checkpoint
        self._lock = FileLock(f"{path}.lock", timeout=_LOCK_TIMEOUT_S, poll_interval=0.002, mode=0o600)

    def beside(self, ending: str) -> "Repository":
        """Return the repository at this path with *ending* appended."""
        return Repository(self.path.with_name(self.path.name + ending), self._agent, self._checkpoint)

    def ours_beside(self, ending: str) -> list["Repository"]:
        """Return this agent's repositories with names that begin with this one and *ending*, sorted."""
        found = sorted(self.path.parent.glob(f"{self.path.name}{ending}*"))
        beside = [Repository(path, self._agent) for path in found]
        return [each for each in beside if each.is_ours()]

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the write lock, among all processes."""
        try:
            self._lock.acquire()
        except Timeout as exc:
            raise HistoryUnusableError(f"another process has held {self._lock.lock_file} for too long") from exc
        except OSError as exc:
            raise HistoryUnusableError(f"{self._lock.lock_file} cannot be locked: {exc.strerror}") from exc
        try:
            yield
        finally:
            self._lock.release()

    def unlock(self) -> int:
        """Remove git locks left by a crash and return their number; the caller holds ours."""
        with _translated_errors(self.path):
            left = [lock for pattern in _LOCKS for lock in self.path.glob(pattern)]
            for lock in left:
                lock.unlink(missing_ok=True)
        return len(left)

    def create(self, now: datetime) -> None:
        """Create an empty repository, for this agent alone."""
        with _translated_errors(self.path):
            self.path.mkdir(mode=0o700)
            flags = RepositoryInitFlag.BARE | RepositoryInitFlag.NO_REINIT
            repository = pygit2.init_repository(str(self.path), bare=True, flags=flags, initial_head="main")
            for name, value in {**_SETTINGS, _AGENT: self._agent}.items():
                repository.config[name] = value
            repository.free()
        self.mark_maintained(now)

    def is_ours(self) -> bool:
        """Tell whether `create` made this repository for this agent. Raises if that is unknown: no permission."""
        config = self.path / "config"
        try:
            if self.path.is_symlink() or (self.path / "objects/info/alternates").exists():
                return False
            config.read_bytes()
            settings = pygit2.Config(str(config))
            return _AGENT in settings and settings[_AGENT] == self._agent
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError, pygit2.GitError):
            return False
        except OSError as exc:
            raise HistoryUnusableError(f"the history in {self.path} cannot be read: {exc.strerror}") from exc

    def is_sound(self) -> bool:
        """Tell whether the newest commit can be read with every text of it."""
        try:
            with self._open() as repository:
                repository.lookup_reference("HEAD")  # git's own program needs it
                for content in files_in(_newest(repository).tree).values():
                    repository.odb.read(content)
        except HistoryUnusableError:
            return False
        return True

    def head(self) -> str:
        """Return the id of the newest commit."""
        with self._open() as repository:
            return str(_newest(repository).id)

    def log(self) -> list[str]:
        """Return id, time in seconds since 1970, and first line of the message of each commit, oldest first."""
        with self._open() as repository:
            walk = repository.walk(_newest(repository).id, SortMode.TOPOLOGICAL | SortMode.REVERSE)
            return [f"{each.id} {each.commit_time} {each.message.splitlines()[0]}" for each in walk]

    def resolve(self, prefix: str) -> str | None:
        """Return the id of the only commit whose id begins with *prefix*, 7 to 40 hex digits."""
        with self._open() as repository:
            try:
                found = repository.get(prefix)
            except ValueError:
                return None
            return str(found.id) if found is not None and found.type == ObjectType.COMMIT else None

    def parent(self, commit: str) -> str | None:
        """Return the id of the previous commit."""
        with self._open() as repository:
            parents = _commit(repository, commit).parent_ids
            return str(parents[0]) if parents else None

    def newest_at(self, moment: datetime) -> str | None:
        """Return the id of the newest commit at *moment*."""
        end = moment.timestamp()
        with self._open() as repository:
            walk = repository.walk(_newest(repository).id)
            return next((str(commit.id) for commit in walk if commit.commit_time <= end), None)

    def files(self, commit: str | None) -> dict[PurePosixPath, str]:
        """Return git's id of every file's content in *commit*; empty without a commit."""
        if commit is None:
            return {}
        with self._open() as repository:
            return files_in(_commit(repository, commit).tree)

    def contents(self, ids: Sequence[str]) -> list[bytes]:
        with self._open() as repository:
            return [repository.odb.read(each)[1] for each in ids]

    def compare(self, path: PurePosixPath, older: str | None, newer: str | None) -> FileDiff:
        """Return the difference of a file between two content ids; `None` stands for no file."""
        with self._open() as repository:
            old, new = (repository.odb.read(each)[1] if each else b"" for each in (older, newer))
        patch = pygit2.Patch.create_from(old, new, str(path), str(path))
        names = f"--- {f'a/{path}' if older else os.devnull}\n+++ {f'b/{path}' if newer else os.devnull}\n"
        _, added, removed = patch.line_stats
        return FileDiff(path, added, removed, names + "".join(_lines_of(patch)))

    def told_after(self, start: str, head: str, most: int) -> list[bytes] | None:
        """Return id and day, message, and changes without context of the commits after *start*, oldest first.

        `None` if *start* is not among the last *most* commits before *head*.
        """
        with self._open() as repository:
            commits = list[pygit2.Commit]()
            commit = _commit(repository, head)
            while str(commit.id) != start:
                if not commit.parent_ids or len(commits) == most:
                    return None
                commits.append(commit)
                commit = commit.parents[0]
            return [field for each in reversed(commits) for field in _told(each)]

    def id_of(self, data: bytes) -> str:
        """Return git's id of a file with the content *data*."""
        return str(pygit2.hash(data))

    def acts(self, contents: Blobs) -> dict[PurePosixPath, Act]:
        """Return the changes needed to reach *contents*."""
        with self._open() as repository:
            known = blobs_at(_newest(repository).tree, contents)
        return {
            path: Act.DELETE if data is None else Act.WRITE
            for path, data in contents.items()
            if known[path] != (None if data is None else self.id_of(data))
        }

    def commit(self, contents: Blobs, message: str, at: datetime, *, by_owner: bool = False) -> str:
        """Commit the files with *contents*, and return the commit's id; `by_owner` sets its author."""
        with self._open() as repository:
            tree = _newest(repository).tree if _BRANCH in repository.references else None
            self._checkpoint("history.objects", 0)
            made = graft(repository, tree, {path.parts: data for path, data in contents.items()})
            tree_id = made or repository.TreeBuilder().write()
            return self._add(repository, tree_id, message, self._signature(at, by_owner=by_owner))

    def commit_again(self, message: str, at: datetime) -> str:
        """Add an empty commit and return its id."""
        with self._open() as repository:
            return self._add(repository, _newest(repository).tree_id, message, self._signature(at))

    def rewrite(self, change: Change) -> tuple[int, int]:
        """Replace all commits by ones with changed contents; return the numbers of new contents and commits."""
        with self._open() as repository:
            rewriting = Rewriting(repository, change)
            rewriting.move_references()
            return rewriting.changed, sum(old != new for old, new in rewriting.commits.items())

    def holding(self, holds: Callable[[bytes], bool]) -> int:
        """Return the number of objects, reachable or not, in which *holds* finds something."""
        with self._open() as repository:
            return objects_holding(repository, holds)

    def salvage(self, damaged: "Repository") -> bool:
        """Start from the newest commit of *damaged* that can be read with all its objects, if there is one.

        Objects are not synced to disk one by one (five times the duration of a commit), so a power failure may truncate
        the newest ones.
        """
        try:
            damaged._make_recognisable()
            with damaged._open() as old, self._open() as new:
                found = newest_whole(old, new)
                if found is not None:
                    new.references.create(_BRANCH, found)
        except HistoryUnusableError:
            return False
        return found is not None

    def _make_recognisable(self) -> None:
        """Restore the empty folders that git requires of a repository: the rest is in its objects."""
        with _translated_errors(self.path):
            (self.path / "refs").mkdir(exist_ok=True)
            if not (self.path / "HEAD").exists():
                (self.path / "HEAD").write_text(f"ref: {_BRANCH}\n")

    def is_maintenance_due(self, now: datetime) -> bool:
        """Tell whether a month has passed since the last maintenance, or git would find too many loose objects."""
        with self._open() as repository:
            last = str(repository.config[_MAINTAINED]) if _MAINTAINED in repository.config else None
        loose = sum(1 for _ in self.path.glob("objects/17/*"))
        if last is None or loose >= _LOOSE_IN_A_FOLDER:
            return True
        try:
            return not timedelta() <= now - datetime.fromisoformat(last) < _MAINTAINED_EVERY
        except ValueError:
            return True

    def mark_maintained(self, now: datetime) -> None:
        """Store the time of this maintenance."""
        with self._open() as repository:
            repository.config[_MAINTAINED] = now.astimezone(UTC).isoformat()

    def _add(self, repository: pygit2.Repository, tree: pygit2.Oid, message: str, who: pygit2.Signature) -> str:
        parents = [_newest(repository).id] if _BRANCH in repository.references else []
        self._checkpoint("history.commit", 0)
        return str(repository.create_commit(_BRANCH, who, who, message, tree, parents))

    def _signature(self, at: datetime, *, by_owner: bool = False) -> pygit2.Signature:
        offset = at.utcoffset() or timedelta()
        name, address = ("Owner", "owner") if by_owner else (f"Strandline agent {self._agent}", "agent")
        minutes = int(offset.total_seconds() // 60)
        return pygit2.Signature(name, f"{address}@strandline.invalid", int(at.timestamp()), minutes)

    @contextmanager
    def _open(self) -> Iterator[pygit2.Repository]:
        with _translated_errors(self.path):
            repository = pygit2.Repository(str(self.path), _OPEN)
            try:
                yield repository
            finally:
                repository.free()


@contextmanager
def _translated_errors(path: Path) -> Iterator[None]:
    """Translate errors of git and the system into ours."""
    try:
        yield
    except (pygit2.GitError, KeyError, ValueError, OSError) as exc:
        raise HistoryUnusableError(f"the history in {path} cannot be used: {exc}") from exc


def _ignore_others() -> None:
    """Ignore user and system settings in this process, and the ownership of the repository's folder."""
    for level in _OTHERS:
        pygit2.settings.search_path[level] = ""
    pygit2.settings.owner_validation = False


def _newest(repository: pygit2.Repository) -> pygit2.Commit:
    return repository.references[_BRANCH].peel(pygit2.Commit)


def _commit(repository: pygit2.Repository, commit: str) -> pygit2.Commit:
    return repository[commit].peel(pygit2.Commit)


def _told(commit: pygit2.Commit) -> Iterator[bytes]:
    """Yield what `git log` tells of *commit*; only that a name holds no escapes."""
    author = commit.author
    day = datetime.fromtimestamp(author.time, timezone(timedelta(minutes=author.offset))).date()
    yield f"{commit.id} {day}".encode()
    yield commit.raw_message
    diff = commit.parents[0].tree.diff_to_tree(commit.tree, DiffOption.FORCE_TEXT, context_lines=0)
    yield "".join(part for patch in diff if patch is not None for part in _changes_of(patch)).encode()


def _changes_of(patch: pygit2.Patch) -> Iterator[str]:
    was, now = patch.delta.old_file.path, patch.delta.new_file.path
    yield f"diff --git a/{was} b/{now}\n"
    if patch.delta.status is DeltaStatus.ADDED:
        yield "new file mode 100644\n"
    yield f"--- a/{was}\n+++ {os.devnull if patch.delta.status is DeltaStatus.DELETED else f'b/{now}'}\n"
    yield from _lines_of(patch)


def _lines_of(patch: pygit2.Patch) -> Iterator[str]:
    for hunk in patch.hunks:
        yield hunk.header
        for line in hunk.lines:
            yield (line.origin if line.origin in " +-" else "") + line.raw_content.decode(errors="replace")
