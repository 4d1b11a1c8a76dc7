"""The commands over who may talk print what the desk answers, for people and for machines."""

import json

from tests.gateway.cli.terminal import Terminal


def test_who_waits_is_listed_and_decided_about(at_home: Terminal) -> None:
    """A line each, in which nothing steers the terminal; then nobody waits, and they are a guest."""
    assert at_home("pair", "list").out == ("AAAAA-BBBBB  telegram:99 at telegram.home, until 09:30: Eve \\x1b[31m\n")
    assert at_home("pair", "people").out == "No guests were approved by pairing.\n"
    assert at_home("pair", "approve", "AAAAA-BBBBB").out == "approve AAAAA-BBBBB: done\n"
    assert at_home("pair", "list").out == "No pairing requests.\n"
    (guest,) = json.loads(at_home("pair", "people", "--json").out)["guests"]
    assert (guest["person"], guest["account"]) == ("telegram:99", "telegram.home")
    assert at_home("pair", "people").out.startswith("telegram:99 at telegram.home, since 2026-03-03: Eve")
    assert at_home("pair", "revoke", "telegram:99").out == "revoke telegram:99: done\n"
    assert at_home("pair", "refuse", "AAAAA-BBBBB").status == 0


def test_a_code_that_nobody_waits_with_is_one_line(at_home: Terminal) -> None:
    """And a missing one is wrong usage."""
    for act in ("approve", "refuse", "revoke"):
        failed = at_home("pair", act, "WRONG")
        assert (failed.status, failed.err) == (1, "strandline: nobody waits as WRONG\n")
        assert at_home("pair", act).status == 2


PLACE = ("--channel", "discord", "--account", "home", "--chat", "300", "--role", "600", "--role", "601")


def test_a_route_is_explained(at_home: Terminal) -> None:
    """Agent, rule, session and door; of a refusal also what it means and how to mend it."""
    assert at_home("route", "explain", *PLACE, "--mention").out.splitlines() == [
        "agent    main",
        "rule     roles ('600', '601')",
        "session  group:discord.home.300 (group)",
        "access   admitted",
    ]
    assert at_home("route", "explain", *PLACE, "--person", "5").out.splitlines()[3:] == [
        "access   refused (not_for_us): 5 did not mention it",
        "         → mention it",
    ]
    assert json.loads(at_home("route", "explain", *PLACE, "--json").out)["reason"] == "not_for_us"
    assert at_home("route", "explain", "--channel", "discord").status == 2


def test_silences_are_listed_with_what_to_do(at_home: Terminal) -> None:
    """All of them, or one chat's; the latest first."""
    assert at_home("route", "why").out.splitlines() == [
        "2026-03-03 09:30  too fast in -100",
        "         → wait",
        "2026-03-03 09:30  too fast in -200",
        "         → wait",
    ]
    assert at_home("route", "why", "--chat", "-200").out.splitlines()[0].endswith("too fast in -200")
    assert len(json.loads(at_home("route", "why", "--limit", "1", "--json").out)["silences"]) == 1
    assert at_home("route", "why", "--chat", "5").out == "No unanswered messages.\n"
