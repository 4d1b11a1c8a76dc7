"""`/memory` and `/remember`: the state of an agent's memory, a search of the part that a chat may see, and notes."""

from collections.abc import Iterator
from datetime import timedelta

from gateway.commands.command import Command, CommandCall, Who
from gateway.commands.resources import CommandResources
from gateway.commands.wording import counted, quoted
from gateway.errors import ToolError
from workspaces.access import rights
from workspaces.memory.client import MemoryUnavailableError
from workspaces.memory.hits import Hit
from workspaces.memory.query import Query
from workspaces.memory.search import MemoryIndex, SearchResult
from workspaces.memory.search_notes import NOTHING_CLEAR, progress_text
from workspaces.memory.status import IndexStatus
from workspaces.memory.text.known_lines import known_line
from workspaces.notes import NoteReceipt, append_note
from workspaces.sections import Category, memory_file, save_memory

_RESULTS = 5


def memory_commands(_: CommandResources) -> list[Command]:
    return [Command("memory", "[words]", "search the notes of this chat", Who.ANYONE, True, _memory)]


async def _memory(call: CommandCall) -> str:
    if call.arguments:
        found = await call.agent.memory.search(Query(call.arguments, _RESULTS), call.access)
        return "\n".join(_result_lines(await call.agent.memory.with_languages(found, call.access)))
    if not call.asker.may_run(Who.MAIN):
        raise ToolError("Add what to look for, such as `/memory the next meeting`.")
    try:
        is_behind, state = await call.agent.memory.is_behind(), await call.agent.memory.status()
    except MemoryUnavailableError as exc:
        raise ToolError(f"The index is not available now ({exc}); a search reads the files instead.") from exc
    return "\n".join([*_state(state), _freshness(call.agent.memory, is_behind=is_behind or state.rebuilding)])


def _result_lines(result: SearchResult) -> Iterator[str]:
    if not result.hits:
        yield "Nothing found."
    elif not result.is_clear:
        yield NOTHING_CLEAR
    yield from (_hit(hit) for hit in result.hits)
    if result.notice:
        yield f"({result.notice})"


def _hit(hit: Hit) -> str:
    mark = f" ({hit.mark})" if hit.mark else ""
    return f"`{hit.citation}`{mark}\n{quoted(hit.snippet)}\n"


def _state(state: IndexStatus) -> Iterator[str]:
    yield f"{counted(state.entries, 'passage')} of {counted(state.documents, 'file')} can be found."
    how = "by meaning and words" if state.mode == "hybrid" else "by keywords only"
    yield f"- searched {how}{f' ({state.reason})' if state.reason else ''}"
    if state.held:
        yield f"- {state.held}"
    if state.owing:
        yield f"- {counted(state.owing, 'text')} still without a vector"
    yield from (f"- not indexed: `{path}`: {reason}" for path, reason in state.skipped.items())


def _freshness(memory: MemoryIndex, *, is_behind: bool) -> str:
    ago = memory.synced_s_ago
    last = "not synced since the start" if ago is None else f"last sync {timedelta(seconds=int(ago))} ago"
    now = "files changed; the next search indexes them" if is_behind else "up to date with the files"
    if memory.indexing:
        now = f"indexing, {progress_text(memory.indexing)}"
    return f"- {last}: {now}"


def remember_commands(_: CommandResources) -> list[Command]:
    told = "save a note of this chat; in your own chat to MEMORY.md, also as `category: text`"
    return [Command("remember", "<text>", told, Who.ANYONE, False, _remember)]


async def _remember(call: CommandCall) -> str:
    if not call.arguments:
        raise ToolError("Add what to remember, such as `/remember the spare key is with Ann`.")
    try:
        receipt = await call.run(_write, call)
    except ValueError as exc:
        raise ToolError("That contains nothing to write down.") from exc
    return receipt if isinstance(receipt, str) else f"Noted in `{receipt.path}#L{receipt.line}`."


def _write(call: CommandCall) -> NoteReceipt | str:
    """Write to the notes that a turn with these rights uses; return where, or an answer. Raises ValueError."""
    workspace, access = call.agent.workspace, call.access
    if not rights(access).private:
        return append_note(workspace, access, call.arguments, call.now)
    category, text = split_category(call.arguments)
    path, whole = memory_file(workspace, access)
    known = known_line(text, whole or "", call.now.date())
    if known is not None and known.is_repeated:
        return f"Already in `{path}#L{known.number}`, so nothing was written:\n{quoted(known.text)}"
    receipt = save_memory(workspace, access, text, category)
    if known is None:
        return receipt
    place = f"`{path}#L{known.number}`"
    return f"Noted in `{receipt.path}#L{receipt.line}`. It may replace {place}:\n{quoted(known.text)}"


def split_category(text: str) -> tuple[Category, str]:
    """Return the section that `category: text` names, in any case, and the text; the default is `notes`."""
    name, colon, rest = text.partition(":")
    category = next((each for each in Category if each == name.strip().casefold()), None)
    return (category, rest.strip()) if category and colon else (Category.NOTES, text)
