"""This file shows a change of a file to the owner who decides about it: a diff in which nothing can hide."""

import difflib
import re
from datetime import datetime

from gateway.stores.ports import Proposal
from gateway.visible import visible

SHOWN_LINES = 100
SHOWN_CHARS = 6_000
"""Most of a diff that a chat is shown: two messages of Telegram's; `strandline approvals show` has all of it."""
COMPARED_LINES = 20_000
"""Longest texts that are compared line by line; of longer ones all lines count as changed."""
_CONTEXT = 2


def difference(before: str | None, after: str | None) -> str:
    """Return how the texts differ, as a unified diff without file names; `None` stands for no file.

    Characters that do not show, or that turn the direction of a line, stand as `\\u202e`.
    """
    old, new = _lines(before), _lines(after)
    if len(old) + len(new) > COMPARED_LINES:
        lines = [f"@@ -1,{len(old)} +1,{len(new)} @@", *(f"-{line}" for line in old), *(f"+{line}" for line in new)]
    else:
        lines = list(difflib.unified_diff(old, new, lineterm="", n=_CONTEXT))[2:]
    if after is None:
        lines.append("(the file is deleted)")
    return visible("\n".join(lines)) or "(only line ends differ)"


def _lines(text: str | None) -> list[str]:
    """Return the lines of *text*; only what ends a line in a file of notes ends one here."""
    lines = [line.removesuffix("\r") for line in (text or "").split("\n")]
    return lines if lines[-1] else lines[:-1]


def notice_of(number: int, proposal: Proposal, expires_at: datetime) -> str:
    """Return the message, as Markdown, that asks the owner to decide about *proposal*."""
    act = "Deleting" if proposal.after is None else "A change of"
    return (
        f"{act} `{proposal.path}` waits for you as **#{number}**: {proposal.reason}.\n\n"
        f"{fenced(capped(difference(proposal.before, proposal.after), number))}\n\n"
        f"/approve {number} makes it, /refuse {number} drops it; after {expires_at:%d %B %Y, %H:%M} it is dropped."
    )


def capped(text: str, number: int) -> str:
    """Return as much of a diff as a chat is shown, and say so where there is more."""
    lines = text.split("\n")
    shown = "\n".join(lines[:SHOWN_LINES])[:SHOWN_CHARS]
    if shown == text:
        return text
    left = len(text) - len(shown)
    return f"{shown}\n… NOT ALL IS SHOWN: {left:,} more characters; strandline approvals show {number} has them"


def fenced(text: str) -> str:
    """Return *text* as a block of code that nothing in it can end."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}diff\n{text}\n{fence}"
