"""A file comes back as it was, and what it is now is never lost for it."""

from datetime import datetime
from pathlib import Path

import pytest

from tests.workspaces.history.home import ORIGIN, Home
from tests.workspaces.turns import GROUP, MAIN, OWN
from workspaces.errors import FileChangedError, NoSuchFileError, NotTextError, TooLargeError
from workspaces.history import KEPT_BYTES, History, LogQuery, Origin

ALL = LogQuery(limit=1000)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_a_file_is_brought_back_and_nothing_is_lost(home: Home) -> None:
    """Restoring commits what the owner wrote meanwhile, then what comes back; it can be undone the same way."""
    history = home.open()
    first = history.record([home.put("MEMORY.md", "old\r\n")], None, ORIGIN)
    assert first is not None
    home.put("MEMORY.md", "the owner's own, not yet committed\n")
    restored = history.restore(first[:9], "MEMORY.md", MAIN, Origin("main", "m-2"))
    assert (restored.changed, restored.file.whole) == (True, "old\r\n")
    assert home.texts()["MEMORY.md"] == b"old\r\n"
    newest, kept, *_ = history.view(MAIN).log(ALL)
    assert newest.subject == f"file: restore MEMORY.md from {first[:7]}"
    assert newest.origin == Origin("main", "m-2")
    assert history.view(MAIN).text_at(kept.id, "MEMORY.md") == "the owner's own, not yet committed\n"
    assert not history.restore(first, "MEMORY.md", MAIN, ORIGIN).changed
    history.restore(kept.id, "MEMORY.md", MAIN, ORIGIN)
    assert home.texts()["MEMORY.md"] == b"the owner's own, not yet committed\n"


def test_a_deleted_file_comes_back(home: Home) -> None:
    """A file that is gone is written anew; one that was not there then is not found."""
    history = home.open()
    first = history.record([home.put("notes/a.md", "a\n")], None, ORIGIN)
    second = history.record([home.remove("notes/a.md")], None, ORIGIN)
    assert first is not None
    assert second is not None
    history.restore(first, "notes/a.md", MAIN, ORIGIN)
    assert home.texts() == {"notes/a.md": b"a\n"}
    with pytest.raises(NoSuchFileError):
        history.restore(second, "notes/a.md", MAIN, ORIGIN)


def test_a_restore_never_overwrites_what_it_has_not_kept(home: Home) -> None:
    """An edit in the very moment, a binary and a text too long for the history stay as they are."""
    history = home.open()
    first = history.record([home.put("a.md", "old\n")], None, ORIGIN)
    assert first is not None
    home.put("a.md", "newer\n")

    def looked_at_while_the_owner_types() -> datetime:
        home.put("a.md", "the owner is typing\n")
        return home.clock()

    meddled = History.open(home.git_dir, home.workspace, looked_at_while_the_owner_types)
    with pytest.raises(FileChangedError):
        meddled.restore(first, "a.md", MAIN, ORIGIN)
    assert home.texts()["a.md"] == b"the owner is typing\n"
    for present, refusal in (("now\0binary", NotTextError), ("x" * (KEPT_BYTES + 1), TooLargeError)):
        home.put("a.md", present)
        with pytest.raises(refusal):
            history.restore(first, "a.md", MAIN, ORIGIN)
        assert home.texts()["a.md"] == present.encode()


def test_a_restore_is_a_write_like_any_other(home: Home) -> None:
    """Who may not write a file may not bring it back: the owner's turn none of a group's, and a group none but its."""
    history = home.open()
    private = history.record([home.put("MEMORY.md", "old\n")], None, ORIGIN)
    shared = history.record([home.put(f"{OWN}/2026-03-01.md", "old\n")], None, ORIGIN)
    assert private is not None
    assert shared is not None
    history.record([home.put("MEMORY.md", "new\n"), home.put(f"{OWN}/2026-03-01.md", "new\n")], None, ORIGIN)
    with pytest.raises(NoSuchFileError):
        history.restore(shared, f"{OWN}/2026-03-01.md", MAIN, ORIGIN)
    own = history.view(GROUP).log(ALL)[-1].id
    with pytest.raises(NoSuchFileError):
        history.restore(own, "MEMORY.md", GROUP, ORIGIN)
    assert set(home.texts().values()) == {b"new\n"}
    history.restore(own, f"{OWN}/2026-03-01.md", GROUP, ORIGIN)
    assert home.texts() == {"MEMORY.md": b"new\n", f"{OWN}/2026-03-01.md": b"old\n"}
