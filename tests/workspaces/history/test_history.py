"""Every write of a text file becomes a commit that can be read, compared and brought back."""

import hashlib
import itertools
from datetime import UTC, date, datetime, timedelta
from pathlib import Path, PurePosixPath
from zoneinfo import ZoneInfo

import pytest

from tests.workspaces.history.home import ORIGIN, START, Home
from tests.workspaces.turns import GROUP, HEARTBEAT, MAIN, OWN, SUBAGENT
from workspaces.errors import (
    BadPathError,
    NoSuchFileError,
    NoSuchRevisionError,
)
from workspaces.files import Folder
from workspaces.history import KEPT_BYTES, Authors, History, LogQuery, Origin, Topic
from workspaces.secrets import REMOVED, guarding
from workspaces.workspace import Workspace

MEMORY = PurePosixPath("MEMORY.md")
ALL = LogQuery(limit=1000)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def subjects(history: History, query: LogQuery = ALL) -> list[str]:
    return [commit.subject for commit in history.view(MAIN).log(query)]


def test_a_history_begins_with_the_files_that_are_there(home: Home) -> None:
    """The first commit has every text file; the repository is bare, ours alone, and outside the workspace."""
    home.put("MEMORY.md", "# Memory\n")
    home.put(f"{OWN}/2026-03-01.md", "- 09:00 hello\n")
    before = home.texts()
    history = home.open()
    assert home.commits() == ["init: initialize memory repository"]
    assert home.tree() == {"MEMORY.md", f"{OWN}/2026-03-01.md"}
    assert home.git("config", "core.bare").strip() == "true"
    assert home.git("config", "core.hooksPath").strip() == "/dev/null"
    assert home.git_dir.stat().st_mode & 0o777 == 0o700
    assert (home.texts(), history.repairs) == (before, ())
    assert home.is_sound()


def test_a_change_is_one_commit_with_its_origin(home: Home) -> None:
    """Subject by the path, trailers from the turn, a neutral author, the time of the clock with its zone."""
    history = home.open()
    made = history.record([home.put("MEMORY.md", "tea\n")], None, ORIGIN)
    assert home.git("log", "-1", "--format=%H%n%an <%ae>%n%aI%n%B").split("\n") == [
        str(made),
        "Strandline agent main <agent@strandline.invalid>",
        home.clock.now.isoformat(),
        "memory: update MEMORY.md",
        "",
        "Session: main",
        "Message: m-1",
        "Turn: t-1",
        "",
        "",
    ]
    (commit, _) = history.view(MAIN).log(ALL)
    assert (commit.id, commit.at, commit.origin) == (made, home.clock.now, ORIGIN)


def test_no_commit_is_empty(home: Home) -> None:
    """What the history has already makes no commit, and neither does a file that never was."""
    history = home.open()
    path = home.put("a.md", "text\n")
    assert history.record([path], None, ORIGIN)
    assert history.record([path], None, ORIGIN) is None
    assert history.record([PurePosixPath("never.md"), PurePosixPath("a.md/b")], None, ORIGIN) is None
    assert history.record([], None, ORIGIN) is None
    assert history.record_all(None, None) is None
    assert len(home.commits()) == 2


def test_several_files_of_a_turn_are_one_commit(home: Home) -> None:
    """A turn's changes come together, deletions too; a subject that is given is kept."""
    history = home.open()
    history.record([home.put("a.md", "a"), home.put("b/c.md", "c")], None, ORIGIN)
    history.record([home.remove("b/c.md")], None, ORIGIN)
    history.record([home.put("a.md", "A")], "file: tidy up", ORIGIN)
    assert home.commits()[1:] == ["file: write a.md and 1 more", "file: delete b/c.md", "file: tidy up"]
    assert home.tree() == {"a.md"}


def test_only_texts_of_a_sensible_size_are_kept(home: Home) -> None:
    """Binaries, long files, attachments and names that git cannot hold stay out, and break nothing."""
    history = home.open()
    left_out = [
        home.put("nul.md", "a\0b"),
        home.put("latin.md", b"caf\xe9"),
        home.put("long.md", "x" * (KEPT_BYTES + 1)),
        home.put("attachments/photo.txt", "text"),
        home.put("Attachments/other.txt", "text"),
        home.put("notes/GIT~1", "text"),
        home.put("notes/.git .", "text"),
    ]
    assert history.record(left_out, None, ORIGIN) is None
    assert history.record([*left_out, home.put("just.md", "x" * KEPT_BYTES)], None, ORIGIN)
    assert history.record_all(None, None) is None
    assert home.tree() == {"just.md"}
    history.record([home.put("just.md", "now\0binary")], None, ORIGIN)
    assert home.tree() == set()
    assert home.is_sound()


@pytest.mark.parametrize(
    "name",
    ["Café.md", "Cafe\u0301.md", "日記 🐙.md", '"quoted"', "it's", "-n", "--all", "*", ":(top)x", ":!x", "a:b", "#"],
)
def test_any_name_and_any_line_end_comes_back(home: Home, name: str) -> None:
    """A name is never read as an option or a pattern, and a text comes back byte for byte."""
    history = home.open()
    text = "\ufeffone\r\ntwo\n\r\nlast without end 日"
    path = home.put(name, text)
    other = home.put("notes/other", "x")
    first = history.record([path], None, ORIGIN)
    history.record([other], None, ORIGIN)
    view = history.view(MAIN)
    assert first is not None
    assert view.text_at(first, path) == text
    assert [commit.id for commit in view.log(LogQuery(path=path))] == [first]
    assert [diff.path for diff in view.show(first, path).diff.files] == [path]
    assert home.is_sound()


def test_files_and_folders_may_change_places(home: Home) -> None:
    """A file where a folder was, and the other way round, are recorded as they are on disk."""
    history = home.open()
    history.record([home.put("a/b/c.md", "1")], None, ORIGIN)
    home.remove("a/b/c.md")
    (home.root / "workspace/a/b").rmdir()
    history.record([home.put("a/b", "2"), PurePosixPath("a/b/c.md")], None, ORIGIN)
    assert home.tree() == {"a/b"}
    home.remove("a/b")
    history.record([home.put("a/b/d.md", "3"), PurePosixPath("a/b")], None, ORIGIN)
    assert home.tree() == {"a/b/d.md"}


def test_a_path_outside_the_workspace_is_refused(home: Home) -> None:
    """Paths that lead out are no paths here, for writing and for reading."""
    history = home.open()
    newest = history.view(MAIN).log(ALL)[0].id
    for path in ("../x.md", "/etc/passwd", "a/../../x"):
        with pytest.raises(BadPathError):
            history.record([PurePosixPath(path)], None, ORIGIN)
        with pytest.raises(BadPathError):
            history.view(MAIN).text_at(newest, path)


def test_a_link_is_not_followed(home: Home) -> None:
    """What a link leads to does not enter the history."""
    history = home.open()
    (home.root / "secret.md").write_text("secret")
    (home.root / "workspace/link.md").symlink_to("../secret.md")
    assert history.record([PurePosixPath("link.md")], None, ORIGIN) is None
    assert history.record_all(None, None) is None


def test_the_owners_own_edits_are_picked_up(home: Home) -> None:
    """What an editor wrote, made or removed since the last commit is one commit, from no turn."""
    home.put("gone.md", "x")
    history = home.open()
    home.put("MEMORY.md", "mine\n")
    home.put("new/deep.md", "mine\n")
    home.remove("gone.md")
    assert history.record_all(None, None)
    assert home.tree() == {"MEMORY.md", "new/deep.md"}
    (commit, _) = history.view(MAIN).log(ALL)
    assert (commit.subject, commit.origin) == ("memory: update MEMORY.md and 2 more", None)


def test_the_log_is_filtered_by_path_topic_and_place(home: Home) -> None:
    """Newest first, by file or folder, by topic, older than a revision, and no more than was asked for."""
    history = home.open()
    for number in range(3):
        for path in ("MEMORY.md", "memory/2026-03-01.md", "notes/a.md", "notes/b.md"):
            history.record([home.put(path, f"{number}\n")], None, ORIGIN)
    view = history.view(MAIN)
    every = view.log(ALL)
    assert len(every) == 13
    assert [commit.at for commit in every] == sorted((commit.at for commit in every), reverse=True)
    assert subjects(history, LogQuery(topic=Topic.MEMORY)) == ["memory: update MEMORY.md"] * 3
    assert subjects(history, LogQuery(topic=Topic.DAILY)) == ["log: add daily log 2026-03-01"] * 3
    assert len(view.log(LogQuery(topic=Topic.FILES))) == 6
    assert subjects(history, LogQuery(path=PurePosixPath("notes/a.md"))) == ["file: write notes/a.md"] * 3
    assert len(view.log(LogQuery(path=PurePosixPath("notes")))) == 6
    assert view.log(LogQuery(path=PurePosixPath("notes"), topic=Topic.MEMORY)) == ()
    assert view.log(LogQuery(limit=4)) == every[:4]
    assert view.log(LogQuery(before=every[3].id, limit=4)) == every[4:8]
    assert view.log(LogQuery(before=every[-1].id)) == ()
    assert view.log(LogQuery(path=PurePosixPath("not"))) == ()


def test_a_diff_shows_the_lines_that_changed(home: Home) -> None:
    """Show, and a diff of two revisions, give unified diffs by file; a missing last line end is said."""
    history = home.open()
    history.record([home.put("a.md", "one\ntwo\n"), home.put("b.md", "gone\n")], None, ORIGIN)
    home.remove("b.md")
    last = history.record([home.put("a.md", "one\n2"), PurePosixPath("b.md")], None, ORIGIN)
    assert last is not None
    shown = history.view(MAIN).show(last)
    a, b = shown.diff.files
    assert a.text == "--- a/a.md\n+++ b/a.md\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n\\ No newline at end of file\n"
    assert (a.added, a.removed) == (1, 1)
    assert b.text == "--- a/b.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n"
    first = history.view(MAIN).log(ALL)[-1].id
    (only,) = history.view(MAIN).diff(first, last).files
    assert only.text == "--- /dev/null\n+++ b/a.md\n@@ -0,0 +1,2 @@\n+one\n+2\n\\ No newline at end of file\n"
    assert history.view(MAIN).diff(first) == history.view(MAIN).diff(first, last)
    assert history.view(MAIN).diff(first, path=PurePosixPath("b.md")).files == ()


def test_a_commit_of_many_files_is_shown_in_part(home: Home) -> None:
    """Fifty files are compared, and the rest is counted."""
    for number in range(60):
        home.put(f"{number:02}.md", "x\n")
    history = home.open()
    shown = history.view(MAIN).show(history.view(MAIN).log(ALL)[0].id)
    assert (len(shown.diff.files), shown.diff.omitted) == (50, 10)


def test_only_a_revision_of_the_log_is_a_revision(home: Home) -> None:
    """Names, ranges, options and the ids of other objects are refused in the same words as an unknown id."""
    history = home.open()
    newest = history.record([home.put("a.md", "a")], None, ORIGIN)
    assert newest is not None
    blob = home.git("rev-parse", "main:a.md").strip()
    tree = home.git("rev-parse", "main^{tree}").strip()
    names = ["HEAD", "main", "@", f"{newest}~1", f"{newest}^", "--all", "-n1", ":/init", newest[:6], newest.upper(), ""]
    view = history.view(MAIN)
    for name in [*names, f"{newest}\n", f"{newest}0", blob, tree, "0" * 40, "f" * 7]:
        for read in (view.show, view.diff, lambda name: view.text_at(name, "a.md"), view.resolve):
            with pytest.raises(NoSuchRevisionError) as refusal:
                read(name)
            assert str(refusal.value).replace(repr(name), "") == (
                ": there is no such revision, or more than one, or this conversation may not read it; a revision is "
                "7 to 40 hex digits, as the log gives them"
            )
    assert view.resolve(newest[:7]) == newest


def test_an_ambiguous_revision_is_none(home: Home) -> None:
    """Seven digits with which two objects begin mean neither."""
    history = home.open()
    one, two = _two_texts_whose_ids_begin_alike()
    history.record([home.put("a.md", one), home.put("b.md", two)], None, ORIGIN)
    with pytest.raises(NoSuchRevisionError):
        history.view(MAIN).resolve(_git_id(one)[:7])


def _git_id(text: str) -> str:
    return hashlib.sha1(f"blob {len(text)}\0{text}".encode()).hexdigest()


def _two_texts_whose_ids_begin_alike() -> tuple[str, str]:
    """Return two texts with the same first seven digits of git's ids; some ten thousand tries find them."""
    known: dict[str, str] = {}
    for text in map(str, itertools.count()):
        if (other := known.setdefault(_git_id(text)[:7], text)) != text:
            return other, text
    raise AssertionError


def test_a_bundle_is_the_whole_history_in_one_file(home: Home, tmp_path: Path) -> None:
    """Git itself clones it; it lies beside the workspace, for its owner alone; five are kept."""
    history = home.open()
    history.record([home.put("MEMORY.md", "text\n")], None, ORIGIN)
    bundle = history.bundle(MAIN)
    assert bundle == history.bundle(HEARTBEAT)
    assert (bundle.parent, bundle.stat().st_mode & 0o777) == (home.root / "bundles", 0o600)
    home.git("clone", "--quiet", str(bundle), str(tmp_path / "clone"))
    assert (tmp_path / "clone/MEMORY.md").read_text() == "text\n"
    for number in range(6):
        history.record([home.put("MEMORY.md", f"{number}\n")], None, ORIGIN)
        bundle = history.bundle(MAIN)
    assert len(list(bundle.parent.iterdir())) == 5
    assert bundle.exists()
    for access in (GROUP, SUBAGENT):
        with pytest.raises(NoSuchRevisionError):
            history.bundle(access)


def test_a_past_moment_has_its_texts(home: Home) -> None:
    """As of a time the files are what the last commit before it says; before the first there are none."""
    history = home.open()
    history.record([home.put("MEMORY.md", "one\n")], None, ORIGIN)
    moment = home.clock.now
    history.record([home.put("MEMORY.md", "two\n"), home.put("b.md", "b\n")], None, ORIGIN)
    view = history.view(MAIN)
    assert view.as_of(moment) == {MEMORY: "one\n"}
    assert view.as_of(moment - timedelta(seconds=1)) == {}
    assert view.as_of(START - timedelta(days=9)) == {}
    assert view.as_of(moment + timedelta(days=9)) == {MEMORY: "two\n", PurePosixPath("b.md"): "b\n"}


def test_maintenance_is_done_once_a_month(home: Home) -> None:
    """After thirty days the repository is packed, its paths are indexed, and the log says so; all stays readable."""
    history = home.open()
    for number in range(30):
        history.record([home.put("MEMORY.md", f"{number}\n")], None, ORIGIN)
    before = history.view(MAIN).log(ALL)
    assert not history.maintain(START + timedelta(days=29))
    assert history.maintain(START + timedelta(days=31))
    assert not home.open().maintain(START + timedelta(days=60))
    assert home.commits()[-1] == "gc: repository maintenance"
    assert (home.git_dir / "objects/info/commit-graph").exists()
    assert home.git("count-objects").startswith("1 objects")
    assert history.view(MAIN).log(ALL)[1:] == before
    assert history.view(MAIN).log(LogQuery(path=MEMORY, limit=1000)) == before[:-1]
    assert home.is_sound()
    assert home.open().maintain(START + timedelta(days=62))


def test_maintenance_comes_early_when_much_was_written(home: Home) -> None:
    """Thousands of loose objects are packed before the month is over."""
    history = home.open()
    crowd = home.git_dir / "objects/17"
    crowd.mkdir(exist_ok=True)
    for number in range(27):
        (crowd / f"{number:038x}").symlink_to("nowhere")
    assert history._repository.is_maintenance_due(START + timedelta(days=1))


def test_a_workspace_of_another_agent_has_another_history(home: Home, tmp_path: Path) -> None:
    """An access of one agent opens no view of another's history, whatever its type."""
    other = Workspace(Folder(tmp_path / "workspace"), type(MAIN.agent)("other"))
    history = History.open(tmp_path / "other.git", other, home.clock)
    for access in (MAIN, GROUP):
        with pytest.raises(NoSuchRevisionError):
            history.view(access)
        with pytest.raises(NoSuchRevisionError):
            history.bundle(access)


def test_lines_of_the_present_file_have_authors(home: Home) -> None:
    """Also when the file was edited since: a line that only moved keeps its author, one that is new has none yet."""
    history = home.open()
    history.record([home.put("MEMORY.md", "- tea\n- coffee\n")], None, Origin("main/main", "1", "t-1"))
    home.put("MEMORY.md", "- new\n- tea\n- coffee\n")
    assert history.authors("MEMORY.md", range(1, 2), MAIN) == Authors("- new", ())
    moved = history.authors("MEMORY.md", range(2, 4), MAIN)
    assert (moved.text, [commit.origin for commit in moved.commits]) == (
        "- tea\n- coffee",
        [Origin("main/main", "1", "t-1")],
    )
    home.put("other.md", "x\n")
    assert history.authors("other.md", range(1, 2), MAIN).commits == ()
    for path, lines in (("MEMORY.md", range(5, 6)), ("NOTHING.md", range(1, 2)), ("MEMORY.md", range(1, 1))):
        with pytest.raises(NoSuchFileError):
            history.authors(path, lines, MAIN)
    home.put(f"{OWN}/2026-03-01.md", "- not recorded yet\n")
    for path in ("MEMORY.md", f"{OWN}/2026-03-01.md"):
        with pytest.raises(NoSuchFileError):
            history.authors(path, range(1, 2), GROUP)


def test_lines_of_an_earlier_day_have_authors(home: Home) -> None:
    """Of the file as it was at the end of that day, in the owner's zone."""
    history = home.open()
    history.record([home.put("MEMORY.md", "- tea\n")], None, ORIGIN)
    home.clock.now += timedelta(days=1)
    history.record([home.put("MEMORY.md", "- coffee\n")], None, None)
    (commit,) = history.authors("MEMORY.md", range(1, 2), MAIN, START.date()).commits
    assert commit.origin == ORIGIN
    assert history.authors("MEMORY.md", range(1, 2), MAIN, date.max).text == "- coffee"
    with pytest.raises(NoSuchFileError):
        history.authors("MEMORY.md", range(1, 2), MAIN, START.date() - timedelta(days=1))


def test_a_day_ends_at_the_owners_midnight(tmp_path: Path) -> None:
    """Also on the day on which clocks are put back, which has 25 hours."""
    home = Home(tmp_path)
    home.clock.now = datetime(2026, 11, 1, 12, tzinfo=ZoneInfo("Europe/Berlin"))
    history = home.open()
    assert history.end_of(date(2026, 10, 25)) == datetime(2026, 10, 25, 22, 59, 59, tzinfo=UTC)
    assert history.end_of(date(2026, 10, 24)) == datetime(2026, 10, 24, 21, 59, 59, tzinfo=UTC)
    assert history.end_of(date(2027, 1, 1)) == datetime(2026, 11, 1, 22, 59, 59, tzinfo=UTC)


def test_no_object_holds_a_known_secret(home: Home) -> None:
    """Neither a version of a file that its owner edited by hand nor a message; what is the same makes no commit."""
    key = "canary-of-history"
    home.put("MEMORY.md", f"- {key}\n")
    with guarding([key]):
        history = home.open()
        path = home.put("a.md", f"a {key} b\n")
        assert history.record([path], f"note {key}", ORIGIN)
        assert history.record([path], None, ORIGIN) is None
        assert history.record_all(None, None) is None
    assert home.git("show", "HEAD:a.md") == f"a {REMOVED} b\n"
    assert f"note {REMOVED}" in home.git("log", "--format=%B")
    objects = home.git("cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)").splitlines()
    assert len(objects) > 5
    for each in objects:
        name, kind = each.split()
        assert kind == "tree" or key not in home.git("cat-file", kind, name)
