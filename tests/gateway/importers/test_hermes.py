import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from gateway.importers.hermes import read_hermes
from gateway.importers.imported import ImportFormatError
from tests.gateway.importers.exports import hermes


def test_a_home_of_hermes_comes_whole(tmp_path: Path) -> None:
    """Memory lists as lists, skills, persona, the owner's talk word for word; the rest is named with the reason."""
    found = read_hermes(hermes(tmp_path / ".hermes", 2))[0]
    assert dict(found.notes) == {
        "MEMORY.md": "- The boat is called Ondine.\n- The key hangs\n  behind the boiler.\n",
        "USER.md": "Ada lives in Kiel.",
        "skills/boats/SKILL.md": "---\nname: boats\n---\nScrape first.\n",
        "SOUL.md": "You are dry and brief.\n",
    }
    assert [[(each.is_owners, each.text) for each in session.messages] for session in found.sessions] == [
        [(True, f"On day {day} the code is K-000{day}."), (False, "Kept.\n[a picture or file]")] for day in (0, 1)
    ]
    assert found.left_out == (
        "state.db, g: a group's conversation: it does not say who wrote what",
        "state.db, c: a conversation that cron began: nobody said anything in it",
        "config.yaml: settings; see: strandline docs settings",
    )


def test_its_jobs_are_proposed_and_not_set_up(tmp_path: Path) -> None:
    """Each enabled one whose time has a name here, as a command."""
    assert read_hermes(hermes(tmp_path / ".hermes", 1))[0].proposals == (
        "strandline cron add '0 9 * * 1-5' 'List my day'",
        "strandline cron add 'every 1h 30m' 'Look after the oven'",
        "strandline cron add 'at 2027-01-02 09:30 UTC' 'Call Ann'",
    )


@pytest.mark.parametrize("make", [Path.touch, Path.mkdir])
def test_another_place_is_one_sentence_that_names_the_right_one(tmp_path: Path, make) -> None:  # type: ignore[no-untyped-def]
    """A file or an empty folder."""
    make(place := tmp_path / "place")
    with pytest.raises(ImportFormatError, match=r"^place .*name Hermes' home"):
        read_hermes(place)


def test_a_database_that_is_not_whole_is_one_sentence(tmp_path: Path) -> None:
    """Half a copy, or a table that is missing."""
    home = hermes(tmp_path / ".hermes", 20)
    with closing(sqlite3.connect(home / "state.db")) as database, database:
        database.execute("DROP TABLE sessions")
    with pytest.raises(ImportFormatError, match="stop Hermes, or copy its home again"):
        read_hermes(home)
    (home / "state.db").write_bytes((home / "state.db").read_bytes()[:5_000])
    with pytest.raises(ImportFormatError, match="stop Hermes, or copy its home again"):
        read_hermes(home)


@pytest.mark.parametrize(
    ("content", "time"),
    [
        ("x", 1e20),
        ("x", -1e11),
        ("x", "soon"),
        ("x", None),
        ("\0json:[{", 1_700_000_000),
        ("\0json:[5]", 1_700_000_000),
        ("\0json:" + "[" * 100_000, 1_700_000_000),
    ],
    ids=lambda value: str(value)[:12].replace("\0", ""),
)
def test_a_damaged_message_is_left_out_and_counted(tmp_path: Path, content: object, time: object) -> None:
    """The rest is imported; a byte that is no text is marked in it."""
    home = hermes(tmp_path / ".hermes", 1)
    row = "INSERT INTO messages (session_id, role, content, timestamp) VALUES ('s0', 'user', "
    with closing(sqlite3.connect(home / "state.db")) as database, database:
        database.execute(f"{row}?, ?)", (content, time))
        database.execute(f"{row}CAST(x'61ff' AS TEXT), 1700000000)")
    found = read_hermes(home)[0]
    assert [message.text for message in found.sessions[0].messages][2:] == ["a\N{REPLACEMENT CHARACTER}"]
    assert "state.db, s0: damaged messages: 1" in found.left_out
