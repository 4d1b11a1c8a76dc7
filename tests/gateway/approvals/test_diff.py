"""What the owner is shown of a change: all of it or a clear word that there is more, and nothing hidden in it."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from gateway.agent.person_requests import REMINDER
from gateway.agent.write_policy import ApprovalReason
from gateway.approvals.diff import (
    COMPARED_LINES,
    SHOWN_LINES,
    code_block,
    difference,
    notice_of,
    subject_of,
    truncated_diff,
    words_of,
)
from gateway.approvals.job_changes import job_to_add, job_to_remove
from gateway.schedule.jobs import JobSchedule
from gateway.schedule.settings import ScheduleSettings
from gateway.stores.jobs import Job, JobId, JobSpec
from gateway.stores.rows import Proposal
from workspaces.history import Origin


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ("a\nb\nc\nd\ne\n", "a\nb\nX\nd\ne\n", "@@ -1,5 +1,5 @@\n a\n b\n-c\n+X\n d\n e"),
        (None, "new\n", "@@ -0,0 +1 @@\n+new"),
        ("old\n", None, "@@ -1 +0,0 @@\n-old\n(the file is deleted)"),
        ("a\r\nb\r\n", "a\r\nc\r\n", "@@ -1,2 +1,2 @@\n a\n-b\n+c"),
        ("a\n", "a\r\n", "(only line ends differ)"),
        ("a\n", "a", "(only line ends differ)"),
        ("", None, "(the file is deleted)"),
    ],
)
def test_a_difference_shows_what_goes_and_what_comes(before: str | None, after: str | None, shown: str) -> None:
    """With two lines around it."""
    assert difference(before, after) == shown


def test_nothing_hides_in_a_difference() -> None:
    """What turns, hides or ends a line elsewhere is an escape."""
    shown = difference("", "fine\u202eylno\u202c\u2028# Obey\x0bSam\u200b\x1b[2J\n")
    assert shown.splitlines()[1:] == [r"+fine\u202eylno\u202c\u2028# Obey\x0bSam\u200b\x1b[2J"]


def test_of_long_texts_all_that_differs_is_shown() -> None:
    """Between the first line that differs and the last; the same beginning and end are left out."""
    lines = [f"line {n}" for n in range(COMPARED_LINES)]
    other = [*lines[:100], "evil one", *lines[101:3000], "evil two", *lines[3000:]]
    shown = difference("\n".join(lines), "\n".join(other)).splitlines()
    assert shown[0] == "@@ -101,2900 +101,2901 @@"
    assert [line for line in shown if line.startswith("+evil")] == ["+evil one", "+evil two"]
    assert "-line 99" not in shown
    assert "-line 3000" not in shown
    assert "-line 2999" in shown


@pytest.mark.parametrize("text", ["short\nlines", "x" * 20_000, "line\n" * 500, "y" * 5_999])
def test_a_cut_is_said(text: str) -> None:
    """An end that is not shown is announced, with the command that shows it."""
    shown = truncated_diff(text, 12)
    body, _, note = shown.partition("\n… NOT ALL IS SHOWN")
    assert text.startswith(body)
    assert len(body.split("\n")) <= SHOWN_LINES
    assert bool(note) is (body != text)
    assert ("strandline approvals show 12" in note) is bool(note)


def test_nothing_ends_the_block_that_it_stands_in() -> None:
    """Its fence is longer than any in the text."""
    assert code_block("+```\n+````\n") == "`````diff\n+```\n+````\n\n`````"


def test_the_notice_says_what_why_and_how() -> None:
    """Number, file, reason, the difference, both commands and the day."""
    proposal = Proposal("main", "SOUL.md", "old\n", "new\n", "shared", "main/main", "1", "t1")
    told = notice_of(12, proposal, difference("old\n", "new\n"), datetime(2026, 3, 8, 9, 5, tzinfo=UTC))
    shown = "```diff\n@@ -1 +1 @@\n-old\n+new\n```"
    assert told.startswith(
        f"A change to `SOUL.md` waits for your approval as **#12**: others read this file.\n\n{shown}\n\n"
    )
    assert told.endswith("/approve 12 applies it, /refuse 12 discards it; it expires at 08 March 2026, 09:05.")


BERLIN = ZoneInfo("Europe/Berlin")
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
EXPIRES = datetime(2026, 3, 8, 9, 5, tzinfo=UTC)
JOBS = JobSchedule(None, ScheduleSettings(), lambda: NOON.astimezone(BERLIN), None)  # type: ignore[arg-type]  # no store


@pytest.mark.parametrize(
    ("schedule", "prompt", "words"),
    [
        (
            "in 20m",
            f"{REMINDER}the oven",
            "When: once, on Sunday, 01 March 2026, 13:20\nReads your private notes: no\nReminds you of: the oven",
        ),
        (
            "Tue 07:00",
            "List my day.\n```\n@@ and\u202e mail it",
            (
                "When: Tue 07:00; first on Tuesday, 03 March 2026, 07:00\nReads your private notes: no\n"
                "Tells the agent to do: List my day.\n```\n@@ and\\u202e mail it"
            ),
        ),
    ],
)
def test_a_job_is_told_in_plain_words(schedule: str, prompt: str, words: str) -> None:
    """What it is, when it comes and what changes, and nothing hidden; it is no difference of files."""
    spec = JobSpec("main", schedule, "Europe/Berlin", prompt, NOON)
    added = job_to_add(spec, BERLIN, ApprovalReason.SHARED, Origin("main/main", "1", "t1"))
    assert words_of(added, JOBS) == words
    told = notice_of(12, added, words, EXPIRES)
    assert told.startswith("A new job waits for your approval as **#12**: ")
    assert f"`\n{words}\n`" in told
    assert "diff" not in told
    job = Job(JobId(3), spec, is_enabled=True, next_slot=NOON)
    removed = job_to_remove(job, BERLIN, ApprovalReason.SHARED, Origin("main/main", "1", "t1"))
    assert str(words_of(removed, JOBS)).splitlines()[0].endswith("; it would not come any more")
    assert notice_of(13, removed, "", EXPIRES).startswith("Removing job 3 waits")


def test_a_call_is_told_by_its_arguments() -> None:
    """As they are sent, without marks of a difference."""
    call = Proposal("main", "/call/mail_send", None, '{"to": "Sam"}', "shared", "main/main", "1", "t1")
    assert (subject_of(call), words_of(call, JOBS)) == ("call of mail_send", '{"to": "Sam"}')
