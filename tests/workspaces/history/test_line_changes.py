"""The changed lines of each commit, and the file that keeps them: it may be lost, and the answers stay."""

import random
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest

from tests.workspaces.history.home import ORIGIN, Home
from workspaces.access import AgentId, owner_access
from workspaces.history import CommitId, LineOrigins, LogQuery, Origin
from workspaces.redact import Redaction

OWNER = owner_access(AgentId("main"), "test")
MEMORY = "MEMORY.md"


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    home = Home(tmp_path)
    yield home
    home.workspace.folder.close()


def write(home: Home, text: str, path: str = MEMORY) -> str:
    """Change a file, record it, and return the commit."""
    made = home.open().record([home.put(path, text)], None, ORIGIN)
    assert made
    return made


def kept(home: Home) -> Path:
    (place,) = home.root.glob("history.git.lines")
    return place


def mentioning(home: Home, words: str, before: str | None = None) -> list[str]:
    return [commit.id for commit in home.open().view(OWNER).mentioning(words, before, 20)]


def test_each_line_has_its_writer_after_any_edits(home: Home) -> None:
    """Through insertions, removals, moves and indentation, at the end and after every second commit before it."""
    chance, number = random.Random(18), 0
    lines: list[tuple[str, str]] = []
    stages: list[tuple[CommitId, list[str]]] = []
    history = home.open()
    for _ in range(25):
        fresh = []
        for _ in range(chance.randint(1, 4)):
            number += 1
            fresh.append(f"- fact {number}")
        lines = [each for each in lines if chance.random() > 0.1]
        if len(lines) > 3 and chance.random() < 0.4:
            moved = lines.pop(chance.randrange(len(lines)))
            lines.insert(chance.randrange(len(lines)), (f"  {moved[0]}", moved[1]))
        at = chance.randint(0, len(lines))
        lines[at:at] = [(text, "") for text in fresh]
        made = history.record([home.put(MEMORY, "".join(f"{text}\n" for text, _ in lines))], None, ORIGIN)
        assert made is not None
        lines = [(text, writer or made) for text, writer in lines]
        stages.append((made, [writer for _, writer in lines]))
    view = home.open().view(OWNER)
    moments = {commit.id: commit.at for commit in view.log(LogQuery(limit=100))}
    for commit, writers in stages[1::2]:
        found = [view.blame(MEMORY, [line], moments[commit]) for line in range(1, len(writers) + 1)]
        assert [[each.id for each in commits] for commits in found] == [[writer] for writer in writers]


def test_files_with_any_name_have_writers(home: Home) -> None:
    """Also with letters, spaces and signs that git quotes in its differences."""
    for path in ("Café notes.md", 'a "quoted" name.md', "memory/日記.md"):
        first = write(home, "- one\n", path)
        second = write(home, "- zero\n- one\n", path)
        view = home.open().view(OWNER)
        assert [view.blame(path, [line])[0].id for line in (1, 2)] == [second, first]


def test_a_search_finds_what_came_or_went(home: Home) -> None:
    """In any case of letters, also in subjects and names; not a line that moved within its file."""
    first = write(home, "- Tea with Ann\n- milk\n- bread\n")
    write(home, "- milk\n- bread\n- Tea with Ann\n")
    gone = write(home, "- milk\n- bread\n")
    named = write(home, "x\n", "plans/ANN.md")
    assert mentioning(home, "tea WITH") == [gone, first]
    assert mentioning(home, "ann") == [named, gone, first]
    assert mentioning(home, "ann", before=gone) == [first]
    assert mentioning(home, "new file mode") == mentioning(home, " ") == []


def test_the_file_may_be_lost_or_damaged(home: Home) -> None:
    """Missing, cut, altered or of another history: the answers stay, and the file comes back."""
    first = write(home, "- tea\n")
    assert mentioning(home, "tea") == [first]
    whole = kept(home).read_bytes()
    for damaged in (b"", whole[:-3], whole.replace(b"tea", b"tee"), whole.replace(first.encode(), b"0" * 40)):
        kept(home).write_bytes(damaged)
        assert mentioning(home, "tea") == [first]
        assert kept(home).read_bytes() == whole
    kept(home).unlink()
    assert mentioning(home, "tea") == [first]
    assert kept(home).stat().st_mode & 0o777 == 0o600


def test_the_file_only_grows(home: Home) -> None:
    """A later commit is added to it; two processes that add the same one give one answer."""
    write(home, "- tea\n")
    mentioning(home, "tea")
    before = kept(home).read_bytes()
    one, other = home.open(), home.open()
    for each in (one, other):
        each.view(OWNER).mentioning("tea", None, 5)
    second = write(home, "- tea\n- coffee\n")
    kept_before = kept(home).read_bytes()
    assert [commit.id for commit in one.view(OWNER).mentioning("coffee", None, 5)] == [second]
    grown = kept(home).read_bytes()
    kept(home).write_bytes(grown + grown[len(kept_before) :])
    assert grown.startswith(before)
    assert mentioning(home, "coffee") == [second]


def test_a_place_that_cannot_be_written_costs_only_time(home: Home) -> None:
    """The answers are the same when something else has the file's name."""
    first = write(home, "- tea\n")
    (home.root / "history.git.lines").symlink_to(home.root / "elsewhere")
    assert mentioning(home, "tea") == [first]
    assert not (home.root / "elsewhere").exists()


def test_a_purge_leaves_nothing_in_the_file(home: Home) -> None:
    """Neither at once nor when it is written anew."""
    write(home, "- the code is 4711\n- tea\n")
    write(home, "- tea\n")
    mentioning(home, "4711")
    assert b"4711" in kept(home).read_bytes()
    home.open().purge(Redaction("the code is 4711"), OWNER)
    assert not any(b"4711" in path.read_bytes() for path in home.root.glob("history.git.lines"))
    assert mentioning(home, "4711") == []
    assert len(mentioning(home, "tea")) == 1
    assert b"4711" not in kept(home).read_bytes()


def test_no_origin_is_lost(home: Home) -> None:
    """A commit that is found through the file is the one of the log, trailers and paths included."""
    commit = write(home, "- tea\n")
    (found,) = home.open().view(OWNER).mentioning("tea", None, 5)
    assert found == next(each for each in home.open().view(OWNER).log(LogQuery()) if each.id == commit)
    assert (found.origin, [change.path for change in found.changes]) == (
        Origin("main", "m-1", "t-1"),
        [PurePosixPath(MEMORY)],
    )


def test_changes_are_read_as_git_tells_them(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the lines, names, line ends and bytes; and without a start of git's program for a few commits."""
    chance, history = random.Random(3), home.open()
    texts: dict[str, list[str]] = {name: [] for name in (MEMORY, 'a "q" name.md', "memory/日記.md")}
    kinds = ("- a", "", "--- x", "+++ b/y", "日", "\\ No newline", "x\u2028y", "a\rb", "@@ -1 +1 @@")
    first = history._repository.head()
    history.trace(LineOrigins())
    for number in range(40):
        name, rows = chance.choice([*texts.items()])
        rows.insert(chance.randint(0, len(rows)), f"{chance.choice(kinds)} {number}")
        if chance.random() < 0.3:
            rows.pop(chance.randrange(len(rows)))
        data = ("\ufeff" * (number % 2) + "\n".join(rows) + "\n" * (number % 3 > 0)).encode() + b"\xff" * (
            number % 5 < 1
        )
        path = home.remove(name) if number % 11 == 10 and rows[1:] else home.put(name, data)
        history.record([path], f"subject\n\né {number}" if number % 2 else None, ORIGIN)
    kept(home).unlink()
    told = home.open()._changes.until(history._repository.head())[1:]  # by git's program: nothing is kept
    monkeypatch.setenv("PATH", "")
    fresh = history._changes.since(first, history._repository.head())
    assert [(each.commit, each.day, each.message) for each in fresh] == [
        (each.commit, each.day, each.message) for each in told
    ]
    assert [[*each.files()] for each in fresh] == [[*each.files()] for each in told]
