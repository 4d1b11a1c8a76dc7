"""What waits to be recorded stays in order, and each author's part is his own."""

import time
from pathlib import Path, PurePosixPath

from msgspec import structs

from tests.workspaces.history.home import ORIGIN, Home
from workspaces.files import Written
from workspaces.history import EDITOR, Pending
from workspaces.history.pending import MOST_STEPS
from workspaces.history.tracked_files import Looks, differing

A, B = PurePosixPath("a.md"), PurePosixPath("b.md")


def steps(pending: Pending) -> list[tuple[str | None, dict[str, bytes | None]]]:
    """Take off every closed step, with where it came from."""
    found = []
    while (step := pending.first()) is not None:
        found.append((step.origin.session if step.origin else None, {str(p): t for p, t in step.texts.items()}))
        pending.forget(step)
    return found


def test_a_turn_is_one_step_below_what_the_owner_had() -> None:
    """What stood there before the first write is the owner's; the turn's own writes are one step, once it ends."""
    pending = Pending()
    pending.begin("t-1", ORIGIN)
    pending.written("t-1", Written(A, b"mine", b"one"))
    pending.written("t-1", Written(A, b"one", b"two"))
    pending.written("t-1", Written(B, None, b"new"))
    assert steps(pending) == [("editor", {"a.md": b"mine"}), ("editor", {"b.md": None})]
    assert pending.end("t-1")
    assert steps(pending) == [("main", {"a.md": b"two", "b.md": b"new"})]


def test_a_turn_that_wrote_nothing_asks_for_no_record() -> None:
    """Its end says so, unless something else waits: most turns write no file, and cost the history's thread nothing."""
    pending = Pending()
    pending.begin("t-1", ORIGIN)
    assert not pending.end("t-1")
    pending.written(None, Written(A, None, b"one"))
    assert pending.end("t-1")
    assert steps(pending) == [("editor", {"a.md": None}), (None, {"a.md": b"one"})]
    assert not pending.end("t-1")


def test_what_a_look_finds_is_the_owners_unless_a_turn_left_it() -> None:
    """A turn's own text is not taken for somebody else's; where it is another, the turn's comes first."""
    pending = Pending()
    pending.begin("t-1", ORIGIN)
    pending.written("t-1", Written(A, None, b"one"))
    pending.written("t-1", Written(B, None, b"new"))
    steps(pending)
    pending.found({A: b"one", B: b"edited"}, EDITOR)
    assert steps(pending) == [("main", {"a.md": b"one", "b.md": b"new"}), ("editor", {"b.md": b"edited"})]


def test_a_write_of_the_gateway_itself_waits_for_no_turn() -> None:
    """It is a step at once, from nobody in particular, above what a turn had written there."""
    pending = Pending()
    pending.begin("t-1", ORIGIN)
    pending.written("t-1", Written(A, None, b"one"))
    steps(pending)
    pending.written(None, Written(A, b"one", b"log"))
    assert steps(pending) == [("main", {"a.md": b"one"}), (None, {"a.md": b"log"})]


def test_what_is_not_kept_is_held_by_nobody() -> None:
    """Attachments and long texts take no room here while they wait."""
    pending = Pending()
    pending.written(None, Written(PurePosixPath("attachments/a.md"), b"x", b"y"))
    pending.written(None, Written(A, b"\0", b"x" * 2_000_000))
    assert [text for _, texts in steps(pending) for text in texts.values()] == [None] * 4


def test_a_history_that_stays_away_costs_no_end_of_memory() -> None:
    """The oldest steps go: what stands in the files is found again by the next look."""
    pending = Pending()
    for number in range(2 * MOST_STEPS):
        pending.written(None, Written(A, b"%d" % number, b"%d" % (number + 1)))
    left = steps(pending)
    assert len(left) == MOST_STEPS
    assert left[-1] == (None, {"a.md": b"%d" % (2 * MOST_STEPS)})


def test_a_stamp_is_relied_on_once_it_would_show_a_change(tmp_path: Path) -> None:
    """A file that was just written may change again within the same tick: it is read again; later it is not."""
    home = Home(tmp_path)
    home.put("a.md", "one\n")
    (found,) = home.workspace.folder.walk()
    now = found.mtime_ns + 10_000_000
    looks = Looks(lambda: now)
    looks.remember(found, "one")
    assert looks.id_of(found) is None
    now = found.mtime_ns + 100_000_000
    looks.remember(found, "one")
    assert looks.id_of(found) == "one"
    assert looks.id_of(structs.replace(found, size=5)) is None
    assert looks.id_of(structs.replace(found, mtime_ns=found.mtime_ns + 1)) is None


def test_a_look_keeps_no_stamp_of_a_file_that_is_gone(tmp_path: Path) -> None:
    """Notes that came and went over months leave nothing behind."""
    home = Home(tmp_path)
    looks = Looks(lambda: time.time_ns() + 10**9)
    for number in range(50):
        home.put(f"memory/{number}.md", "one\n")
        assert differing(home.workspace.folder, {}, lambda data: data.decode(), looks)
        home.remove(f"memory/{number}.md")
    assert differing(home.workspace.folder, {}, lambda data: data.decode(), looks) == {}
    assert not looks._ids
