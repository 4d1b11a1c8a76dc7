"""The history as one turn sees it: logs, diffs and earlier texts, restricted by the turn's access."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from datetime import datetime
from itertools import islice
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from workspaces.access import PRIVATE, Access, readable_scopes, scope_folder
from workspaces.errors import NoSuchFileError, NoSuchRevisionError
from workspaces.file_errors import no_such_file
from workspaces.history.commits import LOG_FORMAT, Commit, CommitId, Diff, read_log
from workspaces.history.git_command import Git
from workspaces.history.line_changes import LineChanges, Patch, writers_of
from workspaces.history.messages import LONG_TERM, NOTES_FOLDER, Act, Origin, Topic, topic_of
from workspaces.history.turn_changes import FAR_BACK, NEAR, FileWriting, TurnChanges
from workspaces.history.visibility import partial_id, sees_all, sees_path, visible_part
from workspaces.lazy_pattern import lazy_pattern
from workspaces.paths import clean_path

if TYPE_CHECKING:
    from workspaces.history.repository import Repository

_REVISION = lazy_pattern(r"[0-9a-f]{7,40}")
_LOG_DEADLINE_S = 20.0
_COMPARED = 50
"""Most files with line differences in one diff."""


class LogQuery(Struct, frozen=True):
    """Query for commits, newest first."""

    path: PurePosixPath | None = None
    """Only commits that touch this file, or a file below this folder."""
    topic: Topic = Topic.ALL
    before: str | None = None
    """Only commits older than this revision."""
    limit: int = 20

    def takes(self, commit: Commit) -> bool:
        """Tell whether *commit* matches, apart from `before`."""
        if self.path is None and self.topic is Topic.ALL:
            return True
        return any(
            _is_within(change.path, self.path) and self.topic in {Topic.ALL, topic_of(change.path)}
            for change in commit.changes
        )

    @property
    def folders(self) -> tuple[PurePosixPath, ...]:
        """The files or folders that all of them touch, so that git need not look further; none for everywhere."""
        if self.path is not None:
            return (self.path,)
        return {Topic.MEMORY: tuple(sorted(LONG_TERM)), Topic.DAILY: (NOTES_FOLDER,)}.get(self.topic, ())


class VisibleCommit(Struct, frozen=True):
    commit: Commit
    diff: Diff


class View:
    """One turn's view of its agent's history; anything its access does not allow looks absent.

    Created for a turn and dropped with it. Methods raise NoSuchRevisionError for a revision that is not 7 to 40 hex
    digits of one commit that the turn sees, and HistoryUnusableError when the history cannot be read.
    """

    def __init__(self, repository: "Repository", git: Git, changes: LineChanges, access: Access) -> None:
        self._repository = repository
        self._git = git
        self._changes = changes
        self._access = access

    def log(self, query: LogQuery) -> tuple[Commit, ...]:
        """Return the commits that match *query*, newest first."""
        newest = self._repository.parent(self.resolve(query.before)) if query.before else self._repository.head()
        if newest is None:
            return ()
        with closing(self._visible_commits(newest, query.folders)) as listed:
            return tuple(islice((commit for _, commit in listed if query.takes(commit)), query.limit))

    def mentioning(self, words: str, before: str | None, limit: int) -> tuple[Commit, ...]:
        """Return the commits that added or removed *words*, or name them in subject or paths, newest first.

        For turns with a full view; others find none.
        """
        newest = self._repository.parent(self.resolve(before)) if before else self._repository.head()
        if newest is None or not sees_all(self._access) or not words.strip():
            return ()
        patches, wanted = self._patches(newest), words.casefold()
        named = (patch.commit for patch in reversed(patches) if patch.mentions(wanted))
        return self._commits([*islice(named, limit)])

    def changed_texts(self, revision: str) -> list[FileWriting]:
        """Return the files that a commit changed, each before and after it, as far as this turn sees them."""
        git_id = self.resolve(revision)
        with closing(self._visible_commits(git_id, ())) as listed:
            _, commit = next(listed)
        return self._writings(structs.replace(commit, id=CommitId(git_id)), every=True)

    def show(self, revision: str, path: PurePosixPath | None = None) -> VisibleCommit:
        """Return a commit with its changes, or only those at or below *path*."""
        git_id = self.resolve(revision)
        with closing(self._visible_commits(git_id, ())) as listed:
            _, commit = next(listed)
        return VisibleCommit(commit, self._compare(self._repository.parent(git_id), git_id, path))

    def diff(self, older: str, newer: str | None = None, path: PurePosixPath | None = None) -> Diff:
        """Return the differences at or below *path* between two revisions; without *newer*, to the newest."""
        first = self.resolve(older)
        return self._compare(first, self.resolve(newer) if newer else self._repository.head(), path)

    def text_at(self, revision: str, path: str | PurePosixPath) -> str:
        """Return the text of the file at *path*. Raises NoSuchFileError if it did not exist, and BadPathError."""
        git_id, place = self.resolve(revision), clean_path(str(path))
        content = self._repository.files(git_id).get(place) if sees_path(self._access, place) else None
        if content is None:
            raise no_such_file(place)
        return self._repository.contents([content])[0].decode()

    def as_of(self, moment: datetime) -> Mapping[PurePosixPath, str]:
        """Return every file's text at *moment*, which carries its zone, as recorded in the history."""
        files = self._repository.files(self._repository.newest_at(moment))
        allowed = {path: content for path, content in files.items() if sees_path(self._access, path)}
        texts = self._repository.contents(list(allowed.values()))
        return {path: text.decode(errors="replace") for path, text in zip(allowed, texts, strict=True)}

    def recorded(self, path: str | PurePosixPath, until: datetime | None = None) -> tuple[str, ...]:
        """Return the lines of the file at *path* at *until*, by default in the newest commit.

        Raises NoSuchFileError if it did not exist, and BadPathError.
        """
        place = clean_path(str(path))
        newest = self._repository.newest_at(until) if until else self._repository.head()
        content = self._repository.files(newest).get(place) if sees_path(self._access, place) else None
        if content is None:
            raise no_such_file(place)
        return tuple(self._repository.contents([content])[0].decode().removesuffix("\n").split("\n"))

    def blame(
        self, path: str | PurePosixPath, lines: Sequence[int], until: datetime | None = None
    ) -> tuple[Commit, ...]:
        """Return the commits that wrote *lines*, from 1, of the result of `recorded`, newest first.

        Moving or indenting a line does not count as writing it. For turns with a full view; for others no line has an
        author. Raises NoSuchFileError, also for a line beyond the end, and BadPathError.
        """
        place = clean_path(str(path))
        newest = self._repository.newest_at(until) if until else self._repository.head()
        if newest is None or not sees_all(self._access):
            raise no_such_file(place)
        total = len(self.recorded(place, until))
        if absent := [line for line in lines if not 1 <= line <= total]:
            raise NoSuchFileError(f"{place} has {total:,} lines; there is no line {absent[0]:,}")
        writers = writers_of(lines, place, self._patches(newest))
        return self._commits([*writers])

    def writing(self, session: str, mark: str | None = None) -> TurnChanges | None:
        """Return the changes by the turn *mark* of *session*, or by its last turn, to notes visible to this turn.

        `None` if there are none, and for changes further back than `FAR_BACK` changes of notes.
        """
        steps = self._steps(session, (*sorted(LONG_TERM), NOTES_FOLDER), lambda origin: mark in {origin.mark, None})
        return _as_one([step for step in steps if step.files])

    def latest(self, session: str, chat: str) -> TurnChanges | None:
        """Return what the last turn of *session* that answered in *chat*, and wrote anything, wrote; also no notes.

        `None` where that is nothing, and for what is longer ago than `FAR_BACK` changes.
        """
        return _as_one(self._steps(session, (), lambda origin: origin.chat == chat))

    def written(self, path: PurePosixPath) -> Generator[tuple[str, str | None]]:
        """Yield each text of the notes at *path*, newest first, with the author of the turn that wrote it."""
        for commit in self._log_commits(self._repository.head(), (path,)) if sees_path(self._access, path) else ():
            for change in commit.changes:
                if change.path != path:
                    continue
                if change.act is Act.DELETE:
                    return
                text = self._repository.contents([change.content])[0].decode()
                yield text, commit.origin.author if commit.origin else None

    def _steps(
        self, session: str, folders: tuple[PurePosixPath, ...], is_meant: Callable[[Origin], bool]
    ) -> list[TurnChanges]:
        """Return the changes of the last turn of *session* with a mark that *is_meant*, newest first."""
        found, undone, since = list[TurnChanges](), set[str](), 0
        with closing(self._log_commits(self._repository.head(), folders)) as logged:
            for commit in islice(logged, FAR_BACK):
                since += bool(found)
                if since > NEAR:
                    break
                origin = commit.origin
                if origin is None or origin.session != session:
                    continue
                undone |= {origin.undoes} if origin.undoes else set()
                if origin.mark is None or not is_meant(origin) or (found and found[0].mark != origin.mark):
                    continue
                step = self._step(commit, origin.mark, origin.turn)
                found += [step] if step.files or step.others else []
        return [structs.replace(step, is_undone=step.mark in undone) for step in found]

    def _step(self, commit: Commit, mark: str, turn: str | None) -> TurnChanges:
        files = tuple(self._writings(commit))
        notes = {each.path for each in files}
        others = (each.path for each in commit.changes if each.path not in notes and sees_path(self._access, each.path))
        return TurnChanges(mark, files, is_undone=False, turn=turn, others=tuple(others))

    def note_texts(self) -> Generator[tuple[PurePosixPath, str]]:
        """Yield path and text of every version of the notes that this turn sees, newest commit first."""
        folders = (*sorted(LONG_TERM), NOTES_FOLDER)
        with closing(self._log_commits(self._repository.head(), folders)) as logged:
            for change in (change for commit in logged for change in commit.changes):
                is_note = any(_is_within(change.path, folder) for folder in folders)
                if change.act is not Act.DELETE and is_note and sees_path(self._access, change.path):
                    yield change.path, self._repository.contents([change.content])[0].decode()

    def _writings(self, commit: Commit, *, every: bool = False) -> list[FileWriting]:
        """Return the changes of *commit* to the notes visible to this turn, or to *every* file that is."""
        paths = [each.path for each in commit.changes if every or topic_of(each.path) is not Topic.FILES]
        before, after = self._repository.files(self._repository.parent(commit.id)), self._repository.files(commit.id)
        return [
            FileWriting(path, self._text(before.get(path)), self._text(after.get(path)))
            for path in paths
            if sees_path(self._access, path)
        ]

    def _text(self, content: str | None) -> str | None:
        return None if content is None else self._repository.contents([content])[0].decode()

    def resolve(self, revision: str) -> str:
        """Return git's own id, which is not visible to every reader, of the commit meant by *revision*."""
        found = self._find(revision) if _REVISION.fullmatch(revision) else None
        if found is None:
            raise NoSuchRevisionError(
                f"{revision[:80]!r}: there is no such revision, or more than one, or this conversation may not read "
                "it; a revision is 7 to 40 hex digits, as the log gives them"
            )
        return found

    def _find(self, revision: str) -> str | None:
        if sees_all(self._access):
            return self._repository.resolve(revision)
        listed = self._visible_commits(self._repository.head(), ())
        found = [git_id for git_id, commit in listed if commit.id.startswith(revision)]
        return found[0] if len(found) == 1 else None

    def _visible_commits(self, newest: str, folders: tuple[PurePosixPath, ...]) -> Generator[tuple[str, Commit]]:
        """Yield git's own id and the visible part of each commit from *newest* back; others are skipped."""
        if sees_all(self._access):
            with closing(self._log_commits(newest, folders)) as logged:
                for commit in logged:
                    yield commit.id, commit
            return
        own = tuple(scope_folder(scope) for scope in readable_scopes(self._access) or () if scope != PRIVATE)
        if own:
            logged = self._log_commits(newest, own)
            parts = [(commit.id, part) for commit in logged if (part := visible_part(commit, self._access))]
            for number, (git_id, part) in zip(range(len(parts), 0, -1), parts, strict=True):
                yield git_id, structs.replace(part, id=partial_id(part, number))

    def _patches(self, newest: str) -> list[Patch]:
        """Return what each commit up to *newest* changed, oldest first; only for turns with a full view."""
        patches = self._changes.until(self._repository.head())
        place = next((n for n, patch in enumerate(patches, 1) if patch.commit == newest), 0)
        return patches[:place]

    def _commits(self, ids: Sequence[str]) -> tuple[Commit, ...]:
        return tuple(self._log_commits("--no-walk=unsorted", (), *ids)) if ids else ()

    def _log_commits(self, newest: str, folders: tuple[PurePosixPath, ...], *more: str) -> Generator[Commit]:
        paths = [str(folder) for folder in folders]
        options = ["-z", "--raw", "--no-abbrev", "--no-renames", "--full-diff", "--root", "-m", "--first-parent"]
        fields = self._git.fields(
            "log", *options, *more, f"--format={LOG_FORMAT}", newest, "--", *paths, deadline_s=_LOG_DEADLINE_S
        )
        with closing(fields):
            yield from read_log(fields)

    def _compare(self, older: str | None, newer: str, path: PurePosixPath | None) -> Diff:
        before, after = self._repository.files(older), self._repository.files(newer)
        differing = sorted(
            each
            for each in before.keys() | after.keys()
            if before.get(each) != after.get(each) and _is_within(each, path) and sees_path(self._access, each)
        )
        shown = (self._repository.compare(each, before.get(each), after.get(each)) for each in differing[:_COMPARED])
        return Diff(tuple(shown), omitted=len(differing[_COMPARED:]))


def _as_one(steps: Sequence[TurnChanges]) -> TurnChanges | None:
    """Return the changes of one turn, newest first, as one."""
    if not steps:
        return None
    files = tuple(file for step in steps for file in step.files)
    return structs.replace(steps[0], files=files, others=tuple(path for step in steps for path in step.others))


def _is_within(path: PurePosixPath, folder: PurePosixPath | None) -> bool:
    return folder is None or path == folder or folder in path.parents
