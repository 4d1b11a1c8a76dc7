"""`/checkup`: checks the agent's notes, shows one proposal after the other, and carries out the accepted ones."""

import re
from collections.abc import Awaitable, Callable

from msgspec import Struct

from gateway.approvals.diff import code_block
from gateway.checkup.changes import preview
from gateway.checkup.checkup import CheckedAgent, accept_in, checked_agent, read_checkup, refuse, run_checkup, undo
from gateway.checkup.proposals import CheckupProposal, CheckupRecord
from gateway.checkup.summary import summary_of
from gateway.commands.command import Command, CommandCall, Who
from gateway.commands.resources import CommandResources
from gateway.errors import CheckupError, ToolError
from workspaces.lazy_pattern import lazy_pattern

NAME = "checkup"
OFFERED = lazy_pattern(r"`/checkup accept (?P<mark>[0-9a-f]{8})`")
"""In an answer that shows a proposal; its buttons are made of it."""
_ASKED = lazy_pattern(
    r"(?P<act>accept|refuse|later|undo|edit|next)(?:\s+(?P<mark>[0-9a-f]{8}))?(?:\s+(?P<words>.*))?", re.DOTALL
)
_LONGEST_DIFF = 1_500
"""Characters of a proposal's diff in a chat."""
_USAGE = (
    "Use `/checkup` to check all notes, then the buttons, or `/checkup accept`, `refuse`, `edit` or `undo` and a mark."
)
_NOTHING_OPEN = "No proposals wait."

Say = Callable[["_Decision"], Awaitable[str]]


class _Decision(Struct, frozen=True):
    """A decision by chat."""

    call: CommandCall
    checked: CheckedAgent
    mark: str
    words: str


def checkup_commands(parts: CommandResources) -> list[Command]:
    """Return `/checkup`."""

    async def run(call: CommandCall) -> str:
        zone = call.now.tzinfo
        if zone is None:
            raise ToolError("The time of this message has no zone.")
        checked = checked_agent(call.agent, parts.sessions, zone)
        try:
            return await _answer(call, checked)
        except CheckupError as exc:
            raise ToolError(f"{str(exc)[:1].upper()}{str(exc)[1:]}.") from exc

    told = "find duplicate, copied, outdated and invented notes; proposals come one by one, with buttons"
    return [Command(NAME, "[accept, refuse, later, edit or undo] [mark]", told, Who.MAIN, False, run)]


async def _answer(call: CommandCall, checked: CheckedAgent) -> str:
    if not call.arguments:
        record = await run_checkup(checked, call.access, call.now, lambda _done, _total: None)
        return f"{summary_of(record)}\n\n{_shown(record)}"
    asked = _ASKED.fullmatch(call.arguments)
    if asked is None or (asked["act"] != "next" and not asked["mark"]):
        raise ToolError(_USAGE)
    decision = _Decision(call, checked, asked["mark"] or "", asked["words"] or "")
    if asked["act"] == "later":
        return f"It waits, and nothing was changed; `/{NAME} next` and `strandline memory {NAME}` show it."
    done = "" if asked["act"] == "next" else f"{await _ACTS[asked['act']](decision)}\n\n"
    return f"{done}{_shown(await read_checkup(checked, call.access), after=decision.mark)}"


async def _accept(decision: _Decision) -> str:
    if decision.words:
        raise ToolError("To write your own words, use `/checkup edit` and the mark.")
    return await _change(decision, None)


async def _edit(decision: _Decision) -> str:
    if not decision.words:
        raise ToolError(f"Add the note in your own words: `/checkup edit {decision.mark} <words>`.")
    return await _change(decision, decision.words)


async def _change(decision: _Decision, words: str | None) -> str:
    call = decision.call
    [done] = (await accept_in(decision.checked, call.access, call.run, call.origin, [decision.mark], words)).done
    call.agent.memory.touched()
    return f"Corrected in `{done.citation}`."


async def _refuse(decision: _Decision) -> str:
    [done] = await refuse(decision.checked, decision.call.access, [decision.mark])
    return f"`{done.citation}` stays as it is."


async def _undo(decision: _Decision) -> str:
    done = await undo(decision.checked, decision.call.access, decision.mark)
    decision.call.agent.memory.touched()
    return f"Undone: {', '.join(f'`{each.citation}`' for each in done)}."


_ACTS: dict[str, Say] = {"accept": _accept, "edit": _edit, "refuse": _refuse, "undo": _undo}


def _shown(record: CheckupRecord, after: str = "") -> str:
    """Return the next open proposal, after that with the mark *after*, with its diff and the possible decisions."""
    places = {each.mark: place for place, each in enumerate(record.proposals)}
    begin = places.get(after, -1)
    opened = [*record.open]
    proposal = next((each for each in opened if places[each.mark] > begin), opened[0] if opened else None)
    return _NOTHING_OPEN if proposal is None else _described(proposal, len(opened))


def _described(proposal: CheckupProposal, waiting: int) -> str:
    diff = "\n".join(line for line in preview(proposal).split("\n") if not line.startswith("@@"))
    if (left := len(diff) - _LONGEST_DIFF) > 0:
        rest = f"{left:,} more characters; strandline memory {NAME} prints them"
        diff = f"{diff[:_LONGEST_DIFF]}\n… NOT ALL IS SHOWN: {rest}"
    return (
        f"{waiting:,} waiting. **{proposal.kind.in_words}**, `{proposal.citation}`: {proposal.reason}\n"
        f"{code_block(diff)}\n"
        f"`/checkup accept {proposal.mark}` does it, `/checkup refuse {proposal.mark}` leaves it, "
        f"`/checkup edit {proposal.mark} <words>` writes your words instead."
    )
