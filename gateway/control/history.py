"""Operator requests about an agent's history."""

from collections.abc import Iterable
from pathlib import PurePosixPath

from msgspec import Struct

from gateway.agent.agent import Agent
from gateway.approvals.diff import difference
from gateway.control.agents import AgentDirectory, terminal_access
from gateway.control.wire import HistoryAnswer, HistoryCommit, HistoryFile, HistoryOrder
from gateway.errors import StrandlineError
from workspaces.access import Access, Grant
from workspaces.errors import NotTextError
from workspaces.history import OWNERS_COMMANDS, Commit, Diff, FileWriting, History, LogQuery, Origin, Topic
from workspaces.paths import clean_path
from workspaces.workspace import Workspace


class HistoryOperator(Struct, frozen=True):
    """Reads and restores versions of the agents' files."""

    agents: AgentDirectory

    async def answer(self, order: HistoryOrder) -> HistoryAnswer:
        """Execute *order*. Raises StrandlineError, and the errors of the history."""
        agent = self.agents.named(order.agent)
        grants = (Grant.APPROVED,) if order.is_for_others else ()
        return await answer_history(agent, order, terminal_access(agent.id, *grants))


async def answer_history(agent: Agent, order: HistoryOrder, access: Access) -> HistoryAnswer:
    """Execute *order*. Raises StrandlineError for missing or invalid arguments, and the errors of the history."""
    history = await agent.history_writer.history()
    if order.act in _WRITING and order.is_preview:
        return await agent.history_writer.ask(_PREVIEWS[order.act], history, order, access, agent.workspace)
    if order.act in _WRITING:  # it writes files, so it runs on the workspace's thread
        answer = await agent.run(_WRITING[order.act], history, order, access)
        agent.memory.touched()
        return answer
    return await agent.history_writer.ask(_READING[order.act], history, order, access)


def _log(history: History, order: HistoryOrder, access: Access) -> HistoryAnswer:
    view = history.view(access)
    if order.words:
        return HistoryAnswer(commits=tuple(map(_commit, view.mentioning(order.words, order.revision, order.limit))))
    commits = view.log(LogQuery(_place(order), Topic(order.topic), order.revision, order.limit))
    return HistoryAnswer(commits=tuple(map(_commit, commits)))


def _show(history: History, order: HistoryOrder, access: Access) -> HistoryAnswer:
    shown = history.view(access).show(_required(order.revision, "a revision"), _place(order))
    return _diff_answer(shown.diff, (_commit(shown.commit),))


def _diff(history: History, order: HistoryOrder, access: Access) -> HistoryAnswer:
    older = _required(order.revision, "a revision")
    return _diff_answer(history.view(access).diff(older, order.newer, _place(order)))


def _restore(history: History, order: HistoryOrder, access: Access) -> HistoryAnswer:
    revision, path = _required(order.revision, "a revision"), _required(order.path, "a path")
    try:
        restored = history.restore(revision, path, access, Origin(OWNERS_COMMANDS, undoes=revision))
    except NotTextError as exc:
        raise StrandlineError(f"{exc}, which no version keeps; move the file away, then restore it again") from exc
    done = f"is again as it was at {revision}" if restored.changed else "already has that content; nothing was written"
    return HistoryAnswer(outcome=f"{restored.file.path} {done}")


def _take_back(history: History, order: HistoryOrder, access: Access) -> HistoryAnswer:
    revision = _required(order.revision, "a revision")
    files = history.take_back(revision, access, Origin(OWNERS_COMMANDS, undoes=revision))
    return HistoryAnswer(outcome=f"Undone: {', '.join(str(each.path) for each in files)}")


def _preview_restore(history: History, order: HistoryOrder, access: Access, workspace: Workspace) -> HistoryAnswer:
    revision, path = _required(order.revision, "a revision"), clean_path(_required(order.path, "a path"))
    text, now = history.view(access).text_at(revision, path), workspace.present(path, access)
    return _changes_answer([FileWriting(path, now.whole if now else None, text)])


def _preview_take_back(history: History, order: HistoryOrder, access: Access, _: Workspace) -> HistoryAnswer:
    return _changes_answer(history.without(_required(order.revision, "a revision"), access))


def _changes_answer(files: Iterable[FileWriting]) -> HistoryAnswer:
    changed = [each for each in files if each.before != each.after]
    texts = [difference(each.before, each.after) for each in changed]
    return HistoryAnswer(
        files=tuple(
            HistoryFile(str(each.path), text.count("\n+") + text.startswith("+"), text.count("\n-"), text)
            for each, text in zip(changed, texts, strict=True)
        )
    )


def _bundle(history: History, _: HistoryOrder, access: Access) -> HistoryAnswer:
    return HistoryAnswer(outcome=str(history.bundle(access)))


_WRITING = {"restore": _restore, "revert": _take_back}
_PREVIEWS = {"restore": _preview_restore, "revert": _preview_take_back}
_READING = {"log": _log, "show": _show, "diff": _diff, "bundle": _bundle}


def _place(order: HistoryOrder) -> PurePosixPath | None:
    """Return the requested path; `None` for the workspace itself, which is no filter."""
    place = clean_path(order.path or ".")
    return place if place.name else None


def _required(value: str | None, what: str) -> str:
    if not value:
        raise StrandlineError(f"{what} is missing; strandline history log lists the revisions")
    return value


def _commit(commit: Commit) -> HistoryCommit:
    origin = commit.origin
    return HistoryCommit(
        revision=commit.id,
        at=commit.at,
        subject=commit.subject,
        session=origin.session if origin else None,
        message=origin.message if origin else None,
        paths=tuple(str(change.path) for change in commit.changes),
        approved_by=origin.approved_by if origin else None,
    )


def _diff_answer(diff: Diff, commits: tuple[HistoryCommit, ...] = ()) -> HistoryAnswer:
    files = tuple(HistoryFile(str(each.path), each.added, each.removed, each.text) for each in diff.files)
    return HistoryAnswer(commits=commits, files=files, omitted=diff.omitted)
