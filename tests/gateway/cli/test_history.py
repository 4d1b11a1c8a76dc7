"""The commands over the history print what the desk answers, for people and for machines."""

import json

import pytest

from gateway.runtime.escape import visible
from tests.gateway.cli.terminal import Terminal


def test_the_log_is_newest_first(at_home: Terminal) -> None:
    """One line a change, as many as asked for; the same for machines with what people do not see."""
    for text in ("one", "two", "three"):
        at_home("chat", "--message", text)
    assert at_home("history", "log", "--limit", "2").out.splitlines() == [
        "0000000003 2026-03-03 09:30 note three",
        "0000000002 2026-03-03 09:30 note two",
    ]
    (newest, *_) = json.loads(at_home("history", "log", "--json").out)["commits"]
    assert (newest["session"], newest["message"], newest["paths"]) == ("main", "3", ["memory/2026-03-03.md"])


def test_a_change_is_shown_with_where_it_came_from(at_home: Terminal) -> None:
    """The line of the log, session and message, the diff, and what was left out."""
    at_home("chat", "--message", "one", "--agent", "work")
    shown = at_home("history", "show", "0000000001", "--agent", "work").out.splitlines()
    assert shown[:2] == ["0000000001 2026-03-03 09:30 note one", "from main, message 1"]
    assert shown[-2:] == ["+note one to None", "… and 2 more files; --path shows one"]


def test_two_revisions_are_compared(at_home: Terminal) -> None:
    """The second is optional, a third is a mistake."""
    at_home("chat", "--message", "one")
    assert "+note one to None" in at_home("history", "diff", "0000000001").out
    assert "+note one to 0000000002" in at_home("history", "diff", "0000000001", "0000000002").out
    assert at_home("history", "diff", "1", "2", "3").status == 2


def test_a_file_is_brought_back_and_all_is_exported(at_home: Terminal) -> None:
    """The outcome in words; an unknown revision is one line."""
    assert at_home("history", "restore", "0000000001", "MEMORY.md").out == "restore MEMORY.md 0000000001\n"
    assert json.loads(at_home("history", "bundle", "--json").out)["outcome"] == "bundle None None"
    failed = at_home("history", "show", "0000000009")
    assert (failed.status, failed.err) == (1, "strandline: no revision 0000000009\n")


@pytest.mark.parametrize("act", ["show", "diff"])
def test_a_diff_steers_no_terminal(at_home: Terminal, act: str) -> None:
    """What a model or a stranger wrote cannot colour, hide or reorder the screen; for machines it is as it was."""
    evil = "\x1b[2J\x9b31m\u202eoops\u2066\x07\rover"
    at_home("chat", "--message", evil)
    shown = at_home("history", act, "0000000001").out
    assert r"\x1b[2J\x9b31m\u202eoops\u2066\x07\rover" in shown
    assert all(char == "\n" or char.isprintable() for char in shown)
    (file,) = json.loads(at_home("history", act, "0000000001", "--json").out)["files"]
    assert evil in file["text"]
    assert "\x1b" not in at_home("history", "log").out


def test_plain_words_of_any_script_are_shown_as_they_are() -> None:
    """Accents, emoji made of several, right-to-left scripts and tabs are nobody's attack."""
    plain = "\tcafe\u0301 日本 👩\u200d👩\u200d👧 שלום می\u200cخواهم\n"
    assert visible(plain) == plain
    assert visible("a\ud800\x00\x7f\ufeff\u2028") == r"a\ud800\x00\x7f\ufeff\u2028"
