"""A purged passage is in no object of the history any more; everything else of it stays as it was."""

from datetime import timedelta
from pathlib import Path

import pytest

from tests.workspaces.history.home import ORIGIN, Home, every_object
from tests.workspaces.turns import GROUP, MAIN
from workspaces.errors import EditError, HistoryUnusableError, NoSuchRevisionError
from workspaces.history import LogQuery
from workspaces.history.git_command import Git
from workspaces.redact import Redaction

PASSAGE = "the vault opens with heron"
VAULT = Redaction(PASSAGE)
ALL = LogQuery(limit=1000)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """Seven versions; the passage stands in some of them, in three files."""
    home = Home(tmp_path)
    home.put("MEMORY.md", "# Memory\n\n- tea\n")
    history = home.open()
    history.record([home.put("notes/plan.md", "first\n")], None, None)
    history.record([home.put("MEMORY.md", f"# Memory\n\n- tea\n- {PASSAGE}\n")], None, ORIGIN)
    history.record([home.put("memory/2026-03-01.md", f"- 09:00 {PASSAGE}\n- 10:00 keys\n")], None, ORIGIN)
    history.record([home.put("notes/plan.md", "second\n")], None, None)
    history.record([home.put("notes/deep/er.md", f"So {PASSAGE}, ünï.\n")], None, ORIGIN)
    forgotten = [
        home.put("MEMORY.md", "# Memory\n\n- tea\n"),
        home.put("memory/2026-03-01.md", "- 10:00 keys\n"),
        home.put("notes/deep/er.md", "So what.\n"),
    ]
    history.record(forgotten, None, ORIGIN)
    return home


def facts(home: Home) -> list[str]:
    return home.git("log", "--format=%an %ae %aI %cn %ce %cI %B %N", "main").splitlines()


def files(home: Home, path: str) -> list[str]:
    """Return the texts of one file, a version a commit that has it."""
    ids = home.git("log", "--reverse", "--format=%H", "main", "--", path).split()
    return [home.git("show", f"{each}:{path}") for each in ids]


@pytest.mark.parametrize("is_packed", [False, True])
def test_no_object_holds_the_passage_any_more(home: Home, is_packed: bool) -> None:
    """Neither loose nor packed, nor in what nothing leads to; git finds the history sound."""
    history = home.open()
    if is_packed:
        home.clock.now += timedelta(days=40)
        assert history.maintain(home.clock.now)
    assert PASSAGE in every_object(home.git_dir)
    purged = history.purge(VAULT, MAIN)
    assert PASSAGE not in every_object(home.git_dir)
    assert (purged.versions, purged.exports, purged.set_aside) == (3, 0, ())
    assert home.is_sound()
    assert history.repairs == ()


def test_everything_else_stays(home: Home) -> None:
    """Every commit with its author, its dates, its message; every other file in each of its versions."""
    history = home.open()
    told, plan, ids = facts(home), files(home, "notes/plan.md"), home.git("log", "--format=%H", "main").split()
    purged = history.purge(VAULT, MAIN)
    assert facts(home) == told
    assert files(home, "notes/plan.md") == plan == ["first\n", "second\n"]
    assert files(home, "memory/2026-03-01.md") == ["- 10:00 keys\n"]
    assert files(home, "notes/deep/er.md") == ["So , ünï.\n", "So what.\n"]
    after = home.git("log", "--format=%H", "main").split()
    assert purged.commits == 5
    assert after[-2:] == ids[-2:]
    assert not set(after[:-2]) & set(ids[:-2])
    assert history.record_all(None, None) is None


def test_the_history_goes_on_after_a_purge(home: Home) -> None:
    """It takes new versions, and reads, compares and restores the old ones."""
    history = home.open()
    history.purge(VAULT, MAIN)
    history.record([home.put("MEMORY.md", "# Memory\n\n- coffee\n")], None, ORIGIN)
    newest, *_ = history.view(MAIN).log(ALL)
    assert "coffee" in history.view(MAIN).show(newest.id).diff.files[0].text
    (_, first) = history.view(MAIN).log(LogQuery(path=home.put("notes/plan.md", "third\n")))
    history.restore(first.id, "notes/plan.md", MAIN, ORIGIN)
    assert home.texts()["notes/plan.md"] == b"first\n"
    assert home.open().repairs == ()


def test_a_passage_that_still_stands_in_a_file_is_refused(home: Home) -> None:
    """It would come back with the next commit; nothing is changed, and the files are named."""
    home.put("notes/copy.md", f"again: {PASSAGE}\n")
    history = home.open()
    before = home.git("rev-parse", "main")
    with pytest.raises(EditError, match=r"is still in notes/copy\.md"):
        history.purge(VAULT, MAIN)
    assert home.git("rev-parse", "main") == before


def test_exports_go_and_damaged_ones_are_named(home: Home) -> None:
    """They hold what the history had: the first can be made again, the others are their owner's to delete."""
    history = home.open()
    bundle = history.bundle(MAIN)
    aside = home.git_dir.with_name("history.git.damaged-20260101T000000Z")
    aside.mkdir()
    purged = history.purge(VAULT, MAIN)
    assert (purged.exports, purged.set_aside) == (1, (aside.name,))
    assert not bundle.exists()


def test_what_a_crash_left_half_made_goes_too(home: Home) -> None:
    """A bundle that was being written, and a repository that was to take the place of a damaged one."""
    history = home.open()
    history.bundle(MAIN)
    half = home.git_dir.with_name("bundles") / "history-20260301T000000Z-1234567890.bundle.lock"
    fresh = home.git_dir.with_name("history.git.new")
    fresh.mkdir()
    for left in (half, fresh / "HEAD"):
        left.write_text(PASSAGE)
    assert history.purge(VAULT, MAIN).exports == 2
    assert not half.exists()
    assert not fresh.exists()


def test_what_git_was_asked_for_by_hand_keeps_no_passage(home: Home) -> None:
    """Branches, tags with their words, notes, the log of a reference, an index: nothing brings it back."""
    history = home.open()
    old = home.git("log", "--reverse", "--format=%H", "main", "--", "notes/deep/er.md").split()[0]
    home.git("branch", "mine", old)
    home.git("update-ref", "refs/stash", old)
    who = ("-c", "user.name=Owner", "-c", "user.email=owner@strandline.invalid")
    home.git(*who, "tag", "-a", "-m", PASSAGE, "mine", old)
    home.git(*who, "notes", "add", "-m", PASSAGE, old)
    home.git(*who, "update-ref", "--create-reflog", "-m", PASSAGE, "refs/heads/logged", old)
    home.git("read-tree", old)
    history.purge(VAULT, MAIN)
    assert PASSAGE not in every_object(home.git_dir)
    assert [file for file in home.git_dir.rglob("*") if file.is_file() and PASSAGE.encode() in file.read_bytes()] == []
    assert home.is_sound()


def test_a_name_that_holds_the_passage_is_told(home: Home) -> None:
    """Names of files are not rewritten; nobody is told that the passage is gone."""
    history = home.open()
    history.record([home.put(f"{PASSAGE}.md", "x\n")], None, ORIGIN)
    home.remove(f"{PASSAGE}.md")
    history.record_all(None, None)
    with pytest.raises(HistoryUnusableError, match="part of a file's name"):
        history.purge(VAULT, MAIN)


def test_a_purge_that_was_cut_off_is_finished_by_the_next(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """The branch moves in one step; until the rest is done, nobody is told that the passage is gone."""
    history = home.open()

    def fail(*_: object, **__: object) -> None:
        raise HistoryUnusableError("git took too long; nothing was lost, try again later")

    with monkeypatch.context() as broken:
        broken.setattr(Git, "run", fail)
        with pytest.raises(HistoryUnusableError):
            history.purge(VAULT, MAIN)
    assert PASSAGE in every_object(home.git_dir)
    assert PASSAGE not in "".join(files(home, "MEMORY.md"))
    assert home.is_sound()
    history.purge(VAULT, MAIN)
    assert PASSAGE not in every_object(home.git_dir)


def test_what_git_leaves_behind_is_noticed(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """A purge that did not work says so."""
    with monkeypatch.context() as broken:
        broken.setattr(Git, "run", lambda *_, **__: None)
        with pytest.raises(HistoryUnusableError, match="is still in 3 objects"):
            home.open().purge(VAULT, MAIN)


def test_who_does_not_see_all_of_the_history_purges_nothing(home: Home) -> None:
    """Not even their own notes."""
    with pytest.raises(NoSuchRevisionError):
        home.open().purge(VAULT, GROUP)
    assert PASSAGE in every_object(home.git_dir)


def test_an_unknown_passage_changes_nothing(home: Home) -> None:
    """The commits keep their ids."""
    before = home.git("rev-parse", "main")
    purged = home.open().purge(Redaction("nobody ever wrote this"), MAIN)
    assert (purged.versions, purged.commits) == (0, 0)
    assert home.git("rev-parse", "main") == before
