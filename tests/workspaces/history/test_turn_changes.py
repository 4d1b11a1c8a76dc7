"""What one turn wrote into the notes is found by its mark, as far as whoever asks may see it."""

from pathlib import Path, PurePosixPath

import pytest

from tests.workspaces.history.home import Home
from tests.workspaces.turns import GROUP, MAIN, OWN
from workspaces.history import EDITOR, FileWriting, History, Origin, TurnChanges
from workspaces.history.messages import compose, parse

DAY = f"{OWN}/2026-03-01.md"
TALK = "agent/group"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def wrote(history: History, home: Home, mark: str, session: str = TALK, **texts: str) -> None:
    paths = [
        home.put({"memory": "MEMORY.md", "day": DAY, "plan": "plan.md"}[name], text) for name, text in texts.items()
    ]
    history.record(paths, None, Origin(session, mark=mark))


def test_a_marked_turn_is_found_with_what_it_wrote_into_notes(home: Home) -> None:
    """Before and after, and no other file; the last turn of the session without a mark."""
    history = home.open()
    wrote(history, home, "one", memory="- a\n", plan="a plan\n")
    wrote(history, home, "two", memory="- a\n- b\n")
    memory = PurePosixPath("MEMORY.md")
    view = history.view(MAIN)
    assert view.writing(TALK, "one") == TurnChanges(
        "one", (FileWriting(memory, None, "- a\n"),), is_undone=False, others=(PurePosixPath("plan.md"),)
    )
    assert view.writing(TALK) == TurnChanges("two", (FileWriting(memory, "- a\n", "- a\n- b\n"),), is_undone=False)
    assert view.writing(TALK, "three") is None
    assert view.writing("agent/other", "one") is None


def test_whoever_sees_a_part_finds_that_part_and_another_turn_not_at_all(home: Home) -> None:
    """A turn that wrote private notes alone is none for a group, and one that wrote both has one file there."""
    history = home.open()
    wrote(history, home, "both", memory="- private\n", day="- shared\n")
    wrote(history, home, "private", memory="- more\n")
    shared = TurnChanges("both", (FileWriting(PurePosixPath(DAY), None, "- shared\n"),), is_undone=False)
    assert history.view(GROUP).writing(TALK) == shared
    assert history.view(GROUP).writing(TALK, "private") is None


def test_a_turn_in_which_somebody_else_wrote_is_found_whole(home: Home) -> None:
    """The newest step first; that it was taken back stands in a later change."""
    history = home.open()
    wrote(history, home, "one", memory="- a\n")
    history.record([home.put("MEMORY.md", "- a\n- owner\n")], None, EDITOR)
    wrote(history, home, "one", memory="- a\n- owner\n- b\n")
    found = history.view(MAIN).writing(TALK, "one")
    assert found is not None
    assert [each.after for each in found.files] == ["- a\n- owner\n- b\n", "- a\n"]
    assert not found.is_undone
    history.record([home.put("MEMORY.md", "- owner\n")], None, Origin(TALK, undoes="one"))
    found = history.view(MAIN).writing(TALK)
    assert found is not None
    assert (found.mark, found.is_undone) == ("one", True)


def test_marks_stand_in_the_message_of_the_change() -> None:
    """And are read back from there."""
    for origin in (Origin(TALK, "1", "t1", mark="a1", chat="c1"), Origin(TALK, undoes="a1"), Origin(TALK)):
        assert parse(compose("memory: update MEMORY.md", origin))[1] == origin
