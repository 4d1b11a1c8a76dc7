"""Commits say in few, fixed words what happened, and where it came from."""

from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workspaces.turns import OWN
from workspaces.history.messages import Act, Origin, Topic, compose, message_for, parse, subject_for, topic_of


@pytest.mark.parametrize(
    ("path", "act", "subject", "topic"),
    [
        ("MEMORY.md", Act.WRITE, "memory: update MEMORY.md", Topic.MEMORY),
        ("MEMORY.md", Act.DELETE, "file: delete MEMORY.md", Topic.MEMORY),
        ("memory/2026-03-01.md", Act.WRITE, "log: add daily log 2026-03-01", Topic.DAILY),
        ("memory/2026-03-01-harbour.md", Act.WRITE, "log: add daily log 2026-03-01", Topic.DAILY),
        (f"{OWN}/2026-03-01.md", Act.WRITE, "log: add daily log 2026-03-01", Topic.DAILY),
        ("memory/2026-03-01.md", Act.DELETE, "file: delete memory/2026-03-01.md", Topic.DAILY),
        ("memory/2026-02-31.md", Act.WRITE, "file: write memory/2026-02-31.md", Topic.FILES),
        ("notes/2026-03-01.md", Act.WRITE, "file: write notes/2026-03-01.md", Topic.FILES),
        ("notes/MEMORY.md", Act.WRITE, "file: write notes/MEMORY.md", Topic.FILES),
        ("skills/tea/SKILL.md", Act.DELETE, "file: delete skills/tea/SKILL.md", Topic.FILES),
    ],
)
def test_each_kind_of_change_has_its_words(path: str, act: Act, subject: str, topic: Topic) -> None:
    """The subject follows from path and act alone; a date that there is not makes no daily note."""
    assert (message_for(PurePosixPath(path), act), topic_of(PurePosixPath(path))) == (subject, topic)


def test_a_commit_of_several_files_names_the_most_telling() -> None:
    """Long-term memory before daily notes before other files, and how many more there are."""
    acts = {PurePosixPath(path): Act.WRITE for path in ("a.md", "memory/2026-03-01.md", "MEMORY.md")}
    assert subject_for(acts) == "memory: update MEMORY.md and 2 more"
    del acts[PurePosixPath("MEMORY.md")]
    assert subject_for(acts) == "log: add daily log 2026-03-01 and 1 more"


def test_the_origin_comes_back_as_it_was() -> None:
    """Who approved a change, too; somebody else's trailer is none."""
    for origin in (
        Origin("main/main", "41", "t41", "owner"),
        Origin("main/main", "41"),
        Origin("main/main", author="0a1b2c3d4e5f"),
    ):
        assert parse(compose("memory: update MEMORY.md", origin)) == ("memory: update MEMORY.md", origin)
    assert parse("x\n\nApproved-By: owner\n") == ("x", None)


@given(st.text(min_size=1), st.text(), st.text())
def test_no_text_forges_a_trailer(subject: str, session: str, message: str) -> None:
    """Whatever stands in subject and origin, one line each comes back, and only the trailers that were given."""
    written = compose(f"x{subject}", Origin(f"s{session}", message))
    read_subject, origin = parse(written)
    assert read_subject.startswith("x")
    assert origin is not None
    assert origin.session.startswith("s")
    assert (origin.turn, origin.approved_by) == (None, None)
    assert written.encode().count(b"\n") <= 4


def test_somebody_elses_message_is_read_too() -> None:
    """A commit that people made by hand has a subject and no origin."""
    assert parse("tidy up\n\nby hand: Session: none\n") == ("tidy up", None)
    assert parse("") == ("", None)
