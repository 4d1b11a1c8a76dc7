"""`/memory`: the state of an agent's memory, and a search of the part that a chat may see."""

from collections.abc import Iterator
from datetime import timedelta

from gateway.commands.command import Command, CommandCall, Who
from gateway.commands.resources import CommandResources
from gateway.commands.wording import counted, quoted
from gateway.errors import ToolError
from workspaces.memory.client import MemoryUnavailableError
from workspaces.memory.hits import Hit
from workspaces.memory.query import Query
from workspaces.memory.search import MemoryIndex
from workspaces.memory.search_notes import NOTHING_CLEAR, progress_text
from workspaces.memory.search_result import SearchResult
from workspaces.memory.status import IndexStatus

_RESULTS = 5


def memory_commands(_: CommandResources) -> list[Command]:
    return [Command("memory", "[words]", "search the notes of this chat", Who.ANYONE, True, _memory, passes=True)]


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
    lines = (quoted(line) for line in (hit.before, hit.snippet, hit.after) if line)
    return "\n".join([f"`{hit.citation}`{mark}", *lines, ""])


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
