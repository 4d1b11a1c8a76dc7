"""This file is `/purge`: a passage that was forgotten goes out of older versions and conversations too, for good."""

import re
from collections.abc import Awaitable, Callable, Iterator

from gateway.commands.command import Call, Command, Who
from gateway.commands.wording import counted
from gateway.errors import ToolError
from workspaces.access import AgentId
from workspaces.history import Purged
from workspaces.redact import Redaction

PurgeTalk = Callable[[AgentId, Redaction], Awaitable[int]]
"""Takes a passage out of an agent's conversations and returns how many lines held it. Raises StoreError."""

_LINE_END = re.compile(r"\r\n|\r|\n")
_CITATION = re.compile(r"(?P<path>\S.*?)#L(?P<first>\d{1,9})(?:-L(?P<last>\d{1,9}))?@(?P<revision>[0-9a-f]{7,40})")


def purge_commands(purge_talk: PurgeTalk) -> list[Command]:
    """Return `/purge`, which goes through conversations by *purge_talk*."""

    async def run(call: Call) -> str:
        redaction = _redaction(await _passage(call))
        # Conversations come first: until the history is done, the passage can be named again to go on.
        lines = await purge_talk(call.agent.id, redaction)
        await call.agent.keeper.catch_up()
        history = await call.agent.keeper.history()
        purged = await call.agent.keeper.ask(history.purge, redaction, call.access)
        return "\n".join(_told(call.agent.id, purged, lines))

    told = "takes a forgotten passage out of older versions and conversations too, for good"
    return [Command("purge", "<path#L3-L4@revision>", told, Who.MAIN, False, run)]


async def _passage(call: Call) -> str:
    """Return the lines that a citation with a revision names, as the history has them."""
    cited = _CITATION.fullmatch(call.arguments)
    if cited is None:
        raise ToolError(
            "Say which passage, as /forget shows it when it has forgotten one: `/purge path#L3-L4@1a2b3c4`."
        )
    history = await call.agent.keeper.history()
    text = await call.agent.keeper.ask(history.view(call.access).text_at, cited["revision"], cited["path"])
    lines = _LINE_END.split(text)[int(cited["first"]) - 1 : int(cited["last"] or cited["first"])]
    return "\n".join(lines)


def _redaction(passage: str) -> Redaction:
    try:
        return Redaction(passage)
    except ValueError as exc:
        raise ToolError(f"That passage cannot be purged: {exc}.") from exc


def _told(agent: AgentId, purged: Purged, lines: int) -> Iterator[str]:
    """Say what went, without the passage, and where it may be still."""
    yield (
        f"Purged: {counted(purged.versions, 'older text')} of files and {counted(lines, 'line')} of conversations "
        "no longer hold it."
    )
    if purged.commits:
        yield f"- {counted(purged.commits, 'change')} of the history got a new revision."
    if purged.exports:
        yield f"- {counted(purged.exports, 'export')} of the history went too; `strandline history bundle` makes one."
    if purged.set_aside:
        yield f"- Not touched, as they are damaged; delete them by hand: {', '.join(purged.set_aside)}"
    yield (
        "It may still be in your backups; in files that came with messages, below `attachments/`; in `state.db`, which "
        "keeps recent messages and decided changes for a while; "
        f"in the index's files, until you delete `agents/{agent}/index` while the gateway is stopped; in chat apps; "
        "with the provider of the language model; and anywhere in other words."
    )
