"""Change that waits for the owner, shown without hidden content: a file's as a diff, any other one in plain words."""

import difflib
import re
from datetime import datetime
from pathlib import PurePosixPath

from gateway.agent.write_policy import ApprovalReason
from gateway.approvals.job_changes import is_of_jobs, job_words
from gateway.approvals.outgoing_acts import is_outgoing, name_of
from gateway.runtime.escape import visible
from gateway.schedule.jobs import JobSchedule
from gateway.stores.rows import Proposal

SHOWN_LINES = 100
SHOWN_CHARS = 6_000
"""Longest diff shown in a chat: two Telegram messages; `strandline approvals show` prints all of it."""
COMPARED_LINES = 4_000
"""Most lines of both texts that are compared: the time grows with the square. Above that, the whole range is shown."""
_CONTEXT = 2


def difference(before: str | None, after: str | None) -> str:
    """Return the difference of the texts, as a unified diff without file names; `None` stands for no file.

    Invisible characters, and those that change the direction of a line, are shown as `\\u202e`.
    """
    old, new = _lines(before), _lines(after)
    if len(old) + len(new) > COMPARED_LINES:
        lines = _single_hunk(old, new)
    else:
        lines = list(difflib.unified_diff(old, new, lineterm="", n=_CONTEXT))[2:]
    if after is None:
        lines.append("(the file is deleted)")
    return visible("\n".join(lines)) or "(only line ends differ)"


def words_of(proposal: Proposal, job_schedule: JobSchedule) -> str | None:
    """Return what *proposal* does, in plain words; `None` for a change of a file, which `difference` shows."""
    if is_of_jobs(proposal):
        return visible(job_words(proposal, job_schedule))
    return visible(proposal.after or "") if is_outgoing(proposal) else None


def subject_of(proposal: Proposal) -> str:
    """Return the subject of *proposal*: a file's path, a job, or a call of a tool."""
    if is_outgoing(proposal):
        return f"call of {name_of(proposal)}"
    if is_of_jobs(proposal):
        return "new job" if proposal.after is not None else f"removing job {PurePosixPath(proposal.path).name}"
    return proposal.path


def _single_hunk(old: list[str], new: list[str]) -> list[str]:
    """Return one hunk of all lines between the first that differ and the last."""
    first = next((n for n, (was, now) in enumerate(zip(old, new, strict=False)) if was != now), min(len(old), len(new)))
    rest = zip(reversed(old[first:]), reversed(new[first:]), strict=False)
    same = next((n for n, (was, now) in enumerate(rest) if was != now), min(len(old), len(new)) - first)
    gone, come = old[first : len(old) - same], new[first : len(new) - same]
    if not gone and not come:
        return []
    head = f"@@ -{first + 1},{len(gone)} +{first + 1},{len(come)} @@"
    return [head, *(f"-{line}" for line in gone), *(f"+{line}" for line in come)]


def _lines(text: str | None) -> list[str]:
    """Return the lines of *text*, split as in a file of notes."""
    lines = [line.removesuffix("\r") for line in (text or "").split("\n")]
    return lines if lines[-1] else lines[:-1]


def notice_of(number: int, proposal: Proposal, shown: str, expires_at: datetime) -> str:
    """Return the message, as Markdown, that asks the owner to decide about *proposal*; *shown* tells it."""
    language = "" if is_outgoing(proposal) or is_of_jobs(proposal) else "diff"
    return (
        f"{_act(proposal)} waits for your approval as **#{number}**: {ApprovalReason(proposal.reason).in_words}.\n\n"
        f"{code_block(truncated_diff(shown, number), language)}\n\n"
        f"/approve {number} applies it, /refuse {number} discards it; it expires at {expires_at:%d %B %Y, %H:%M}."
    )


def _act(proposal: Proposal) -> str:
    if is_outgoing(proposal):
        return f"A call of {_code(name_of(proposal))}"
    if is_of_jobs(proposal):
        subject = subject_of(proposal)
        return subject[0].upper() + subject[1:] if proposal.after is None else f"A {subject}"
    return f"{'Deleting' if proposal.after is None else 'A change to'} {_code(proposal.path)}"


def _code(path: str) -> str:
    shown = visible(path)
    return shown if "`" in shown else f"`{shown}`"


def truncated_diff(text: str, number: int) -> str:
    """Return as much of a diff as fits a chat, with a note if there is more."""
    lines = text.split("\n")
    shown = "\n".join(lines[:SHOWN_LINES])[:SHOWN_CHARS]
    if shown == text:
        return text
    left = len(text) - len(shown)
    return f"{shown}\n… NOT ALL IS SHOWN: {left:,} more characters; strandline approvals show {number} prints them"


def code_block(text: str, language: str = "diff") -> str:
    """Return *text* as a code block of *language* that nothing in it can close."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"
