"""A turn sees of the history what its access allows, and nothing of it depends on the rest."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.workspaces import turns
from tests.workspaces.history.home import ORIGIN, START, Home
from tests.workspaces.turns import GROUP, GROUP_CHAT, GROUP_WITH_USER, GUEST, MAIN, OTHER, OWN
from workspaces.access import Access, rights, scope_of
from workspaces.errors import NoSuchFileError, NoSuchRevisionError, WorkspaceError
from workspaces.history import Act, Commit, CommitId, FileChange, History, LogQuery, Origin, Topic, View, filtered_view
from workspaces.history.visibility import sees_path, visible_part

ALL = LogQuery(limit=1000)
SHARED = PurePosixPath(OWN) / "2026-03-01.md"
SEEING_ALL = [turns.MAIN, turns.HEARTBEAT, turns.FULL_HEARTBEAT, turns.PRIVATE_CRON]
SEEING_OWN = [GROUP, GUEST, GROUP_WITH_USER]
SEEING_NONE = [turns.SUBAGENT, turns.CRON]
PRIVATE_PATHS = [
    "MEMORY.md",
    "USER.md",
    "AGENTS.md",
    "skills/tea/SKILL.md",
    "memory/2026-03-01.md",
    "memory/shared",
    f"{OTHER}/2026-03-01.md",
    f"{OWN}0/2026-03-01.md",
    "memory/shared/TELEGRAM.home.-100/x.md",
    f"notes/{OWN}/x.md",
]
SHARED_PATHS = [f"{OWN}/2026-03-01.md", f"{OWN}/a/b.md", f"{OWN}/Café.md"]

PATHS = st.sampled_from([*PRIVATE_PATHS, *SHARED_PATHS]).map(PurePosixPath)
CHANGES = st.lists(st.builds(FileChange, PATHS, st.sampled_from(Act), st.just("0" * 40)), max_size=5)
COMMITS = st.builds(
    Commit,
    st.just(CommitId("a" * 40)),
    st.just(START),
    st.just("memory: a secret"),
    st.just(Origin("main", "secret")),
    CHANGES.map(tuple),
)


@given(COMMITS)
def test_a_filtered_commit_names_only_what_may_be_seen(commit: Commit) -> None:
    """Who reads private files sees every commit as it is; a chat sees its own notes' part of it; others see none."""
    for access in SEEING_ALL:
        assert visible_part(commit, access) is commit
    for access in SEEING_NONE:
        assert visible_part(commit, access) is None
    own = tuple(change for change in commit.changes if scope_of(change.path) == GROUP_CHAT)
    for access in SEEING_OWN:
        part = visible_part(commit, access)
        assert (part.changes if part else ()) == own
        assert part is None or (part.origin, "secret" in part.subject) == (None, False)


@pytest.mark.parametrize("path", PRIVATE_PATHS)
def test_earlier_versions_are_seen_by_scope_not_by_todays_readers(path: str) -> None:
    """A group reads `AGENTS.md` today, but not what the owner took out of it; nor what only looks like its folder."""
    assert [access for access in SEEING_OWN + SEEING_NONE if sees_path(access, PurePosixPath(path))] == []


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("both"), st.sampled_from(SHARED_PATHS), st.text(max_size=6)),
        st.tuples(st.just("private"), st.sampled_from(PRIVATE_PATHS[:4]), st.text(max_size=6)),
        st.tuples(st.just("mixed"), st.sampled_from(SHARED_PATHS), st.text(max_size=6)),
    ),
    min_size=2,
    max_size=7,
)


@contextmanager
def two_homes() -> Iterator[tuple[Home, Home]]:
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        yield Home(Path(one)), Home(Path(two))


@settings(max_examples=6, deadline=None)
@given(STEPS)
def test_what_a_chat_sees_is_the_same_whatever_is_private(steps: list[tuple[str, str, str]]) -> None:
    """Two histories that differ in private files alone answer a group's every question with the same words."""
    with two_homes() as homes:
        histories = [home.open() for home in homes]
        for kind, path, text in steps:
            now = max(home.clock.now for home in homes)
            for number, (home, history) in enumerate(zip(homes, histories, strict=True)):
                home.clock.now = now
                _step(home, history, kind, (path, text), number)
        shown = [commit.id for commit in histories[0].view(GROUP).log(ALL)]
        revisions = [histories[0].view(MAIN).log(ALL)[0].id, *shown[:1], *shown[-1:]]
        one, two = (_everything(history.view(GROUP), revisions) for history in histories)
        assert one == two
        assert "secret" not in str(one)


def _step(home: Home, history: History, kind: str, what: tuple[str, str], number: int) -> None:
    path, text = what
    secret = f"secret {number} {text}\n" * (number + 1)
    if kind == "private":
        history.record([home.put(path, secret)], f"file: write secret {number}", ORIGIN)
        return
    changed = [home.put(path, text)]
    if kind == "mixed":
        changed += [home.put(f"secret/{number}/{extra}.md", secret) for extra in range(number + 1)]
    history.record(changed, None, Origin(f"secret {number}"))


def _everything(view: View, revisions: Sequence[str]) -> list[str]:
    """Return an answer of *view* to every kind of question, refusals included."""
    paths = [PurePosixPath(path) for path in ("MEMORY.md", SHARED_PATHS[0])]
    queries = [ALL, LogQuery(path=PurePosixPath("memory")), LogQuery(topic=Topic.FILES)]
    queries += [LogQuery(before=one) for one in revisions]
    questions: list[Callable[[], object]] = [partial(view.as_of, START + timedelta(days=1))]
    questions += [partial(view.log, query) for query in queries]
    for one in revisions:
        questions += [partial(view.show, one), partial(view.diff, one)]
        questions += [partial(view.text_at, one, path) for path in paths]
    return [_answer(question) for question in questions]


def _answer(question: Callable[[], object]) -> str:
    try:
        return repr(question())
    except WorkspaceError as refusal:
        return f"{type(refusal).__name__}: {refusal}"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_a_chat_reads_the_versions_of_its_own_notes(home: Home) -> None:
    """A group's log, diffs and texts are those of its shared notes, under ids that are not git's."""
    history = home.open()
    private = history.record([home.put("MEMORY.md", "secret\n")], None, ORIGIN)
    history.record([home.put(str(SHARED), "one\n"), home.put("MEMORY.md", "secret 2\n")], None, ORIGIN)
    history.record([home.put(str(SHARED), "two\n"), home.put(f"{OTHER}/x.md", "secret\n")], None, ORIGIN)
    assert private is not None
    view = history.view(GROUP)
    newest, oldest = view.log(ALL)
    assert [commit.subject for commit in (newest, oldest)] == ["log: add daily log 2026-03-01"] * 2
    assert (view.text_at(oldest.id, SHARED), view.text_at(newest.id[:7], SHARED)) == ("one\n", "two\n")
    (diff,) = view.show(newest.id).diff.files
    assert diff.text == f"--- a/{SHARED}\n+++ b/{SHARED}\n@@ -1 +1 @@\n-one\n+two\n"
    assert view.diff(oldest.id).files == (diff,)
    assert view.log(LogQuery(before=newest.id)) == (oldest,)
    assert view.as_of(START + timedelta(days=1)) == {SHARED: "two\n"}
    real = {commit.id for commit in history.view(MAIN).log(ALL)}
    assert real.isdisjoint({newest.id, oldest.id})
    with pytest.raises(NoSuchFileError) as refused:
        view.text_at(newest.id, "MEMORY.md")
    with pytest.raises(NoSuchFileError) as absent:
        view.text_at(newest.id, "NOTHING.md")
    assert str(refused.value) == str(absent.value).replace("NOTHING", "MEMORY")
    for git_id in real:
        with pytest.raises(NoSuchRevisionError):
            view.show(git_id)


def test_the_ids_of_a_chats_view_stay(home: Home) -> None:
    """A revision that a group was given means the same after later commits and after maintenance."""
    history = home.open()
    history.record([home.put(str(SHARED), "one\n")], None, ORIGIN)
    (given,) = history.view(GROUP).log(ALL)
    for number in range(3):
        history.record([home.put(str(SHARED), f"{number}\n")], None, ORIGIN)
        history.record([home.put("MEMORY.md", f"{number}\n")], None, ORIGIN)
    history.maintain(START + timedelta(days=40))
    assert history.view(GROUP).log(ALL)[-1] == given
    assert history.view(GROUP).text_at(given.id, SHARED) == "one\n"


def test_an_ambiguous_id_of_a_chats_view_is_none(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """Digits with which two ids begin mean neither."""
    history = home.open()
    for number in range(2):
        history.record([home.put(str(SHARED), f"{number}\n")], None, ORIGIN)
    monkeypatch.setattr(filtered_view, "partial_id", lambda commit, number: CommitId(f"abcdef0{number}"))
    assert history.view(GROUP).show("abcdef01").commit.subject == "log: add daily log 2026-03-01"
    with pytest.raises(NoSuchRevisionError):
        history.view(GROUP).show("abcdef0")


@pytest.mark.parametrize("access", SEEING_NONE)
def test_who_has_no_notes_sees_no_history(home: Home, access: Access) -> None:
    """For a subagent or a plain job there is no commit, no text and no revision."""
    assert not rights(access).own_scope
    history = home.open()
    made = history.record([home.put(str(SHARED), "one\n"), home.put("AGENTS.md", "x")], None, ORIGIN)
    assert made is not None
    view = history.view(access)
    assert (view.log(ALL), view.as_of(START + timedelta(days=1))) == ((), {})
    with pytest.raises(NoSuchRevisionError):
        view.show(made)


def test_a_line_leads_to_the_commit_that_wrote_it(home: Home) -> None:
    """Not to who moved or indented it; several lines to all who wrote them, newest first; as of a time as it was."""
    history, memory = home.open(), PurePosixPath("MEMORY.md")
    long = "the spare key is with the neighbour downstairs"
    first = history.record([home.put("MEMORY.md", f"- {long}\n- tea\n")], None, Origin("main/main", "1", "t-1"))
    early = home.clock.now
    second = history.record([home.put("MEMORY.md", f"- coffee\n  - {long}\n")], None, Origin("main/main", "2", "t-2"))
    view = history.view(MAIN)
    assert [commit.id for commit in view.blame(memory, [1])] == [second]
    assert [commit.id for commit in view.blame(memory, [2])] == [first]
    assert [commit.id for commit in view.blame(memory, [1, 2])] == [second, first]
    assert [commit.id for commit in view.blame(memory, [2], early)] == [first]
    assert view.recorded(memory) == ("- coffee", f"  - {long}")
    assert view.blame(memory, []) == ()
    (found,) = view.blame("MEMORY.md", [1])
    assert (found.origin, found.subject) == (Origin("main/main", "2", "t-2"), "memory: update MEMORY.md")
    with pytest.raises(NoSuchFileError, match="2 lines"):
        view.blame(memory, [3])
    for path, until in (("NOTHING.md", None), ("MEMORY.md", START - timedelta(days=1))):
        with pytest.raises(NoSuchFileError):
            view.blame(path, [1], until)


@pytest.mark.parametrize("access", SEEING_OWN + SEEING_NONE)
def test_nobody_else_learns_who_wrote_a_line(home: Home, access: Access) -> None:
    """Not even of notes that the chat reads: a commit tells of the turn and of the other files."""
    history = home.open()
    history.record([home.put(str(SHARED), "one\n"), home.put("MEMORY.md", "secret\n")], None, ORIGIN)
    for path in (SHARED, "MEMORY.md", "NOTHING.md"):
        with pytest.raises(NoSuchFileError, match="there is no such file, or this conversation may not read it"):
            history.view(access).blame(path, [1])
