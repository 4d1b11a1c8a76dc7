"""The commands over waiting changes print what the desk answers, for people and for machines."""

import json

from tests.gateway.cli.terminal import Terminal


def test_what_waits_is_listed_oldest_first(at_home: Terminal) -> None:
    """One line a change, of all agents or of one; nothing is said in words."""
    assert at_home("approvals", "list").out == "No changes wait for you.\n"
    at_home("chat", "--message", "one")
    at_home("chat", "--message", "two", "--agent", "work")
    assert at_home("approvals", "list").out.splitlines() == [
        "#1 agent main: memory/2026-03-03.md (one), until 2026-03-03 09:30",
        "#2 agent work: memory/2026-03-03.md (two), until 2026-03-03 09:30",
    ]
    (of_work,) = json.loads(at_home("approvals", "list", "--agent", "work", "--json").out)["changes"]
    assert (of_work["number"], of_work["agent"], of_work["diff"]) == (2, "work", "")


def test_a_change_is_shown_whole_with_where_it_came_from(at_home: Terminal) -> None:
    """The line of the list, session and message, the diff; nothing in it steers the terminal."""
    at_home("chat", "--message", "one\x1b[2J")
    shown = at_home("approvals", "show", "1").out.splitlines()
    assert shown[0].startswith("#1 agent main: memory/2026-03-03.md (one")
    assert shown[1:] == ["from main/main, message 1", r"+one\x1b[2J"]


def test_a_decision_is_told_in_words(at_home: Terminal) -> None:
    """Decided, it is gone; a number that does not wait is one line, a missing one wrong usage."""
    for text in ("one", "two"):
        at_home("chat", "--message", text)
    assert at_home("approvals", "approve", "1").out == "approve #1\n"
    assert json.loads(at_home("approvals", "refuse", "2", "--json").out)["outcome"] == "refuse #2"
    for act in ("show", "approve", "refuse"):
        failed = at_home("approvals", act, "2")
        assert (failed.status, failed.err) == (1, "strandline: there is no change #2\n")
        assert at_home("approvals", act).status == 2


def test_status_says_how_many_wait(at_home: Terminal) -> None:
    """So does doctor, with what to do."""
    at_home("chat", "--message", "one")
    assert "approvals 1 waiting" in at_home("status").out
    assert json.loads(at_home("status", "--json").out)["approvals_waiting"] == 1
    found = at_home("doctor").out
    assert "approvals: changes to agents' files that wait for you: 1" in found
    assert "strandline approvals list" in found
