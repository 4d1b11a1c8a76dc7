"""The commands over jobs print what the desk answers, for people and for machines."""

import json

from tests.gateway.cli.terminal import Terminal


def test_jobs_are_added_listed_and_changed(at_home: Terminal) -> None:
    """Every option reaches the desk; a list is a line each."""
    assert at_home("cron", "list").out == "There are no jobs.\n"
    options = ("--zone", "Asia/Tokyo", "--main", "--private", "--agent", "main")
    assert at_home("cron", "add", "every 2h", "the \x1b[31moven", *options).out == "job 1 added\n"
    assert at_home("cron", "list").out == "1. every 2h: the \\x1b[31moven\n"
    (job,) = json.loads(at_home("cron", "list", "--json").out)["jobs"]
    assert (job["zone"], job["in_main"], job["private"], job["agent"]) == ("Asia/Tokyo", True, True, "main")
    for act in ("run", "remove", "enable"):
        assert at_home("cron", act, "1").out == f"{act} 1: done\n"
    assert at_home("cron", "history", "1").out == "2026-03-03 09:30 silent (turn t1)\n"


def test_an_unknown_job_is_one_line(at_home: Terminal) -> None:
    """And a missing number is wrong usage."""
    failed = at_home("cron", "run", "7")
    assert (failed.status, failed.err) == (1, "strandline: there is no job 7; the jobs are: none\n")
    assert at_home("cron", "run").status == 2
