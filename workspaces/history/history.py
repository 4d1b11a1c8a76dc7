"""An agent's history: every write of a text file becomes a commit, outside the workspace."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from msgspec import Struct

from workspaces.access import Access
from workspaces.errors import NoSuchFileError, NoSuchRevisionError, TooLargeError
from workspaces.file_errors import no_such_file
from workspaces.history.commits import Commit, CommitId
from workspaces.history.filtered_view import View
from workspaces.history.git_command import Git
from workspaces.history.line_changes import LineChanges, Patch
from workspaces.history.line_origins import LineOrigins, saved_beside
from workspaces.history.line_writers import LineWriters
from workspaces.history.messages import MAINTENANCE, Origin, compose, subject_for
from workspaces.history.pending import EDITOR, Pending
from workspaces.history.purge import Purged, files_holding, purge
from workspaces.history.repair import Mender, Repair
from workspaces.history.tracked_files import Looks, differing, tracked_content
from workspaces.history.turn_changes import FileWriting
from workspaces.history.undo import present_files, without_changes, write_files
from workspaces.history.visibility import sees_all
from workspaces.paths import clean_path
from workspaces.redact import Redaction
from workspaces.workspace import TextFile, Workspace

if TYPE_CHECKING:
    from workspaces.history.repository import Blobs, Repository

_NO_HISTORY = "there is no history, or this conversation may not read it"
_LONG_DEADLINE_S = 300.0
_BUNDLES_KEPT = 5
_MOST_PATCHES = 1_000
_LONGEST_SPAN = 200
"""Most lines whose authors are looked up at once; a longer range is not a passage."""


class RestoredFile(Struct, frozen=True):
    file: TextFile
    changed: bool
    """`False`: the file already had this text, and nothing was written."""


class Authors(Struct, frozen=True):
    """Some lines and the commits that wrote them."""

    text: str
    commits: tuple[Commit, ...]
    """Newest first; empty while the lines are not in the history yet."""


class History:
    """The versions of one agent's text files; `tracked_files.py` lists the exceptions.

    Several processes may write: they take turns by a lock file beside the repository. Methods raise
    HistoryUnusableError when it can be neither used nor repaired. No method but `restore` changes a file.
    """

    def __init__(self, repository: "Repository", workspace: Workspace, clock: Callable[[], datetime]) -> None:
        self._repository = repository
        self._git = Git(repository.path)
        self._changes = LineChanges(repository, self._git)
        self._workspace = workspace
        self._clock = clock
        self._mender = Mender(repository, workspace.folder, clock)
        self._looks = Looks()
        self._pending: Pending | None = None
        self._is_rewritten = False
        """Passages were removed from it since the line origins were derived."""

    @classmethod
    def open(cls, git_dir: Path, workspace: Workspace, clock: Callable[[], datetime]) -> "History":
        """Open the history in *git_dir*; create it if missing; repair it if it is damaged or foreign.

        *git_dir* is outside the workspace, and *clock* gives the time in the owner's zone.
        """
        from workspaces.history.repository import Repository

        history = cls(Repository(git_dir, workspace.agent, workspace.folder.checkpoint), workspace, clock)
        history._mender.check()
        return history

    @property
    def repairs(self) -> tuple[Repair, ...]:
        """Repairs since this history was opened."""
        return tuple(self._mender.repairs)

    def trace(self, origins: LineOrigins) -> None:
        """Bring *origins* up to the newest commit: from what was saved of them, else from all commits."""
        place = saved_beside(self._repository.path)
        if self._is_rewritten:
            origins.forget()
            self._is_rewritten = False
        elif not origins.is_loaded:
            origins.load(place)
        head = self._repository.head()
        if origins.head != head:
            origins.read(self._changes.since(origins.head, head), self._workspace.house)
            with suppress(OSError):  # they are derived anew at the next start
                origins.save(place)
        origins.complete()

    def patches_since(self, commit: str, access: Access) -> tuple[str, list[Patch]]:
        """Return the newest commit, and the latest ones after *commit* with their changes, oldest first.

        None after an unknown commit, nor for who does not see the whole history.
        """
        self.view(access)
        head = self._repository.head()
        ask = "merge-base", "--is-ancestor", commit, head
        if commit in {"", head} or not sees_all(access) or not self._git.succeeds(*ask, deadline_s=_LONG_DEADLINE_S):
            return head, []
        return head, self._changes.since(commit, head)[-_MOST_PATCHES:]

    def line_writers(self, access: Access) -> LineWriters:
        """Return which commit first wrote each line of the private notes; nothing to who does not see all of it."""
        self.view(access)
        writers = LineWriters()
        if sees_all(access):
            writers.read(self._changes.until(self._repository.head()))
        return writers

    def spare(self, pending: Pending) -> None:
        """From now on, remove from *pending* the files that `record` or a new history takes from disk."""
        self._pending = pending
        self._mender.spare(pending)

    def view(self, access: Access) -> View:
        """Return the history as visible to a turn with *access*: there is no other way to read it."""
        if access.agent != self._workspace.agent:
            raise NoSuchRevisionError(_NO_HISTORY)
        return View(self._repository, self._git, self._changes, access)

    def _refuse_partial(self, access: Access) -> None:
        self.view(access)
        if not sees_all(access):
            raise NoSuchRevisionError(_NO_HISTORY)

    def end_of(self, day: date) -> datetime:
        """Return the last second of *day* in the owner's zone; for a future day, that of today."""
        now = self._clock()
        midnight = datetime.combine(min(day, now.date()) + timedelta(days=1), time(), now.tzinfo)
        return midnight.astimezone(UTC) - timedelta(seconds=1)

    def as_of(self, day: date, access: Access) -> Mapping[PurePosixPath, str]:
        """Return every file's text at the end of *day* that is visible to *access*."""
        return self.view(access).as_of(self.end_of(day))

    def authors(self, path: str, lines: range, access: Access, day: date | None = None) -> Authors:
        """Return the authors of *lines*, from 1, of the file at *path* as it is now, or as it was at the end of *day*.

        Raises NoSuchFileError, also for a first line beyond the end and in a partial view.
        """
        view, until = self.view(access), self.end_of(day) if day else None
        if not sees_all(access):
            raise no_such_file(clean_path(path))
        shown = view.recorded(path, until) if until else self._workspace.read(path, access).whole.split("\n")
        wanted = [line for line in lines[:_LONGEST_SPAN] if 1 <= line <= len(shown)]
        if not wanted:
            raise NoSuchFileError(f"{path} has {len(shown):,} lines; there is no line {lines.start:,}")
        text = "\n".join(shown[line - 1] for line in wanted)
        try:
            kept = view.recorded(path, until)
        except NoSuchFileError:
            return Authors(text, ())
        places = (same_line(line, shown, kept) for line in wanted)
        return Authors(text, view.blame(path, [place for place in places if place], until))

    def record(self, changes: Sequence[PurePosixPath], message: str | None, origin: Origin | None) -> CommitId | None:
        """Commit the files at *changes* as they are on disk now; `None` if the history already has them.

        Without *message* the subject is derived from the changes. The id is git's own: not visible to every reader.
        """
        paths = [clean_path(str(path)) for path in changes]

        def commit() -> CommitId | None:
            made = self._commit(self._present_blobs(paths), message, origin)
            if self._pending is not None:
                self._pending.recorded(paths)
            return made

        return self._mender.attempt(commit)

    def record_all(self, message: str | None, origin: Origin | None) -> CommitId | None:
        """Commit every difference between the workspace and the history, including edits in the owner's editor."""
        return self._mender.attempt(lambda: self._commit(self._differences(), message, origin))

    def record_first(self, pending: Pending) -> bool:
        """Commit the first step of *pending* and remove it there; tell whether there was one."""

        def commit() -> bool:
            step = pending.first()
            if step is not None:
                self._commit({path: step.texts[path] for path in list(step.texts)}, None, step.origin)
                pending.forget(step)
            return step is not None

        return self._mender.attempt(commit)

    def look(self, pending: Pending, origin: Origin | None) -> None:
        """Find changes on disk that are not in the history, and add those with an unknown author to *pending*.

        *origin* is their author: the owner's editor, or unknown.
        """

        def find() -> None:
            if not (found := self._differences()):
                return
            with self._workspace.folder.resting():
                pending.found(self._present_blobs(found), origin)

        self._mender.attempt(find)

    def restore(self, revision: str, path: str | PurePosixPath, access: Access, origin: Origin) -> RestoredFile:
        """Restore the earlier text of the file at *path*, after committing its present one.

        Raises NoSuchRevisionError, NoSuchFileError, and the errors of `Workspace.write`: FileChangedError on a
        concurrent write. TooLargeError: the present text is too large for the history, so it stays.
        """
        view, place = self.view(access), clean_path(str(path))
        git_id, text = view.resolve(revision), view.text_at(revision, place)
        now = self._workspace.present(place, access)
        if now is not None and now.whole == text:
            return RestoredFile(now, changed=False)
        with self._repository.locked():  # or the change would be committed as one that was found
            if now is not None:
                self._keep(now)
            file = self._workspace.write(place, text, access, now)
            self.record([place], f"file: restore {place} from {git_id[:7]}", origin)
        return RestoredFile(file, changed=True)

    def without(self, revision: str, access: Access) -> Sequence[FileWriting]:
        """Return the files of a commit, each as it is now and as it would be without that commit's change.

        Later changes stay. Raises EditError for a file in which the change's own lines have changed since.
        """
        changes = self.view(access).changed_texts(revision)
        return without_changes(changes, present_files(self._workspace, access, changes))

    def take_back(self, revision: str, access: Access, origin: Origin) -> Sequence[FileWriting]:
        """Write the files of `without`, after committing their present texts, and return them."""
        view = self.view(access)
        changes, subject = view.changed_texts(revision), view.show(revision).commit.subject
        with self._repository.locked():
            present = present_files(self._workspace, access, changes)
            files = without_changes(changes, present)
            for file in filter(None, present.values()):
                self._keep(file)
            write_files(self._workspace, access, files, present)
            self.record([each.path for each in files], f"undo: {subject}", origin)
        return files

    def bundle(self, access: Access) -> Path:
        """Write the whole history into one file beside the repository, for `git clone`, and return its path.

        The newest five are kept. Raises NoSuchRevisionError in a partial view.
        """
        self._refuse_partial(access)
        with self._repository.locked():
            return self._bundle_file(self._repository.head())

    def purge(self, redaction: Redaction, access: Access) -> Purged:
        """Remove a passage permanently from every version of every file; commits keep author, time and message.

        Raises EditError while a file still contains it, and NoSuchRevisionError in a partial view.
        """
        self._refuse_partial(access)
        self._is_rewritten = True  # not even a hash of the passage stays
        saved_beside(self._repository.path).unlink(missing_ok=True)

        def rewrite() -> Purged:
            self._changes.forget()
            return purge(self._repository, self._git, self._workspace.folder, redaction)

        return self._mender.attempt(rewrite)

    def holding(self, redaction: Redaction, access: Access) -> list[PurePosixPath]:
        """Return the files, of those whose versions are kept, that hold a passage now.

        Raises NoSuchRevisionError for who does not see all of the history.
        """
        self._refuse_partial(access)
        return files_holding(self._workspace.folder, redaction)

    def maintain(self, now: datetime) -> bool:
        """Once a month, pack the repository and index its paths; tell whether it was due."""
        return self._mender.attempt(lambda: self._maintain(now), self._is_whole)

    def _commit(self, contents: "Blobs", message: str | None, origin: Origin | None) -> CommitId | None:
        acts = self._repository.acts(contents)
        if not acts:
            return None
        changed = {path: contents[path] for path in acts}
        words = compose(message or subject_for(acts), origin)
        return CommitId(self._repository.commit(changed, words, self._clock(), by_owner=origin == EDITOR))

    def _differences(self) -> "Blobs":
        known = self._repository.files(self._repository.head())
        return differing(self._workspace.folder, known, self._repository.id_of, self._looks)

    def _present_blobs(self, paths: Iterable[PurePosixPath]) -> "Blobs":
        return {path: tracked_content(self._workspace.folder, path) for path in paths}

    def _keep(self, file: TextFile) -> None:
        """Commit the present *file*, lest it be lost: the owner may have changed it since the last commit."""
        if tracked_content(self._workspace.folder, file.path) is None:
            raise TooLargeError(f"{file.path} is not kept in the history, and its present text would be lost")
        self.record([file.path], None, None)

    def _bundle_file(self, head: str) -> Path:
        folder = self._repository.path.with_name("bundles")
        folder.mkdir(mode=0o700, exist_ok=True)
        older = sorted(folder.glob("*.bundle"))
        if older and older[-1].stem.endswith(head[:10]):
            return older[-1]
        target = folder / f"history-{self._clock().astimezone(UTC):%Y%m%dT%H%M%SZ}-{head[:10]}.bundle"
        self._git.run("bundle", "create", str(target), "HEAD", "main", deadline_s=_LONG_DEADLINE_S)
        target.chmod(0o600)
        for old in older[: 1 - _BUNDLES_KEPT]:
            old.unlink(missing_ok=True)
        return target

    def _maintain(self, now: datetime) -> bool:
        if not self._repository.is_maintenance_due(now):
            return False
        self._git.run("gc", "--quiet", deadline_s=_LONG_DEADLINE_S)
        self._git.run("commit-graph", "write", "--reachable", "--changed-paths", deadline_s=_LONG_DEADLINE_S)
        self._repository.commit_again(compose(MAINTENANCE, None), now)
        self._repository.mark_maintained(now)
        return True

    def _is_whole(self) -> bool:
        """Tell whether every object of the history can be read."""
        return self._repository.is_sound() and self._git.succeeds("fsck", "--full", deadline_s=_LONG_DEADLINE_S)


def same_line(line: int, shown: Sequence[str], kept: Sequence[str]) -> int | None:
    """Return the line of *kept*, from 1, that matches line *line* of *shown*: the nearest one with the same text."""
    same = [place for place, text in enumerate(kept, 1) if text == shown[line - 1]]
    return min(same, key=lambda place: abs(place - line), default=None)
