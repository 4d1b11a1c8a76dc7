"""Memory tools of a model: search over the notes that the turn may read, and reading one of them."""

from __future__ import annotations  # read once for each tool, not evaluated anew at every turn

import json
from collections.abc import Awaitable, Callable, Sequence
from datetime import date
from pathlib import PurePosixPath
from typing import Annotated, Literal

from msgspec import Struct, structs
from pydantic import Field

from gateway.agent.entries import UsedMemory
from gateway.agent.tools.cited import beyond_end, located
from gateway.agent.tools.tool import Told, Tool, shown_lines, told, tool, unoffered
from gateway.agent.write_guard import WriteGuard
from gateway.errors import ToolError
from workspaces.access import PRIVATE, Access, rights
from workspaces.errors import NoSuchFileError
from workspaces.memory.entry import PART_LINES, Document, UnreadableDocumentError, part_path
from workspaces.memory.exact_search import ExactQuery, ExactResult
from workspaces.memory.hits import Hit, as_shown
from workspaces.memory.query import MOST_RESULTS, Query
from workspaces.memory.search import MemoryIndex
from workspaces.memory.search_notes import NOTHING_CLEAR
from workspaces.memory.search_result import SearchResult
from workspaces.memory.text.facts import FactKind, facts_in, sentences
from workspaces.memory.text.fingerprint import fingerprint
from workspaces.run_blocking import RunBlocking
from workspaces.workspace import Workspace

_MOST_NAMES = 4
Used = Callable[[Sequence[UsedMemory]], Awaitable[None]]
"""Called with the memories that reach a model; returns once that is durable."""


async def ignore_used(_: Sequence[UsedMemory]) -> None:
    """Do not record which memories are used."""


class MemoryWatch(Struct, frozen=True):
    """A turn's record of the texts that its model sees of memory."""

    holds_others: Callable[[str], bool] = lambda _: False
    """Tells whether a text of a note holds others' words."""
    house: WriteGuard | None = None
    """Is told of text with the mark `house`."""
    names_others: Callable[[PurePosixPath], bool] = lambda _: False
    """Tells whether others chose the name of a file."""

    @property
    def stays_here(self) -> bool:
        """Whether queries of the turn stay on the owner's machines."""
        return self.house is not None and self.house.has_read_house

    def sees(self, *, is_house: bool, is_withheld: bool = False) -> None:
        """Record that the model sees text with the mark `house`, or asked for such text that it may not know."""
        if self.house is not None and is_house:
            self.house.reads_house()
        if self.house is not None and is_withheld:
            self.house.withholds()


def memory_tools(
    index: MemoryIndex,
    workspace: Workspace,
    access: Access,
    run: RunBlocking,
    used: Used = ignore_used,
    watch: MemoryWatch | None = None,
) -> list[Tool]:
    """Return `memory_search` and `memory_get` for a turn with *access*; none where the matrix allows none."""
    watch = watch or MemoryWatch()
    if not rights(access).memory_tools:
        return []

    async def memory_get(
        path: str,
        from_line: Annotated[int | None, Field(ge=1)] = None,
        lines: Annotated[int | None, Field(ge=1)] = None,
    ) -> Told:
        """Read around a search hit."""
        path, from_line, lines = located(path, from_line, lines)
        watch.sees(is_house=False, is_withheld=await run(workspace.withholds, path, access))
        try:
            note = await run(workspace.read, path, access, from_line, lines)
        except NoSuchFileError:
            said = await _conversation(index, path, access, from_line or 1)
            watch.sees(is_house=any(part.house for part in said))
            if said:
                await used([UsedMemory(_span(path, from_line or 1, lines, said[-1].lines[-1]), "read")])
            text = _compact({"path": path, **(_lines_of(said, from_line, lines) if said else {"text": ""})})
            return told(text, from_outside=any(part.scope != PRIVATE or part.others for part in said))
        watch.sees(is_house=note.is_house)
        await used([UsedMemory(_span(path, note.first_line, lines, note.total_lines), "read")])
        notice = {"notice": beyond} if (beyond := beyond_end(note)) else {}
        place = {"path": path, "from_line": note.first_line, "total_lines": note.total_lines}
        text = _compact({**place, "text": note.text, **notice})
        is_theirs = watch.names_others(note.path) or watch.holds_others(shown_lines(note.text))
        return told(text, from_outside=is_theirs)

    search, *others = _search_tools(_Search(index, access, used, watch))
    return [search, tool(memory_get), *others]


def _search_tools(search: _Search) -> list[Tool]:

    async def memory_search(
        query: str,
        max_results: Annotated[int | None, Field(ge=1, le=50)] = None,
        min_score: Annotated[float | None, Field(ge=0, le=1)] = None,
    ) -> Told:
        """Search your notes, best passages first. For lists and counts, follow `next`."""
        return await search.find(Query(query, max_results, min_score))

    async def search_history(
        query: str,
        exact: bool = False,
        since: date | None = None,
        until: date | None = None,
        as_of: date | None = None,
        max_results: Annotated[int, Field(ge=1, le=50)] = 20,
    ) -> Told:
        """Search notes and past chats between days, literally (exact), or as known on a day (as_of)."""
        if exact:
            return await search.find_exactly(ExactQuery(query, since, until, max_results, as_of))
        return await search.find(Query(query, max_results, since=since, until=until, as_of=as_of))

    async def search_memory(query: str, max_results: Annotated[int, Field(ge=1, le=50)] = 20) -> Told:
        """Find a text letter by letter in notes and past conversations, newest first."""
        return await search_history(query, exact=True, max_results=max_results)

    return [tool(memory_search), tool(search_history), unoffered(search_memory)]


class _Search(Struct, frozen=True):
    """What the searches of one turn have in common.

    Whose words a hit holds is asked of the index, which may be behind, and again when it is returned.
    """

    index: MemoryIndex
    access: Access
    used: Used
    watch: MemoryWatch

    async def find(self, query: Query) -> Told:
        _check_days(query.since, query.until)
        query = structs.replace(query, stays_here=self.watch.stays_here)
        is_past = query.as_of is not None and query.since is None and query.until is None
        result = await (self.index.known_on if is_past else self.index.search)(query, self.access)
        result = await self.index.with_languages(result, self.access)
        self.watch.sees(is_house=result.is_house, is_withheld=result.is_withheld)
        await self.used([used_hit(hit, "search") for hit in result.hits])
        theirs = any(holds_others_words(hit) or self._is_theirs(hit) for hit in result.hits)
        return told(_compact(_answer(result)), from_outside=theirs)

    def _is_theirs(self, hit: Hit) -> bool:
        return self.watch.names_others(PurePosixPath(hit.path)) or self.watch.holds_others(hit.passage)

    async def find_exactly(self, query: ExactQuery) -> Told:
        _check_days(query.since, query.until)
        result = await self.index.find_exact(query, self.access)
        self.watch.sees(is_house=result.is_house, is_withheld=result.is_withheld)
        await self.used(
            [UsedMemory(match.citation, "search", fingerprint=fingerprint(match.text)) for match in result.matches]
        )
        theirs = any(match.is_others or self.index.audience(match.path) != PRIVATE for match in result.matches)
        return told(_format_matches(result), from_outside=theirs)


def _check_days(since: date | None, until: date | None) -> None:
    """Raise ToolError for days between which there is none."""
    if since and until and since > until:
        raise ToolError(f"since: {since} is after until ({until})")


def _answer(result: SearchResult) -> dict[str, object]:
    """Return a search's result for a model, which is told where nothing clearly fits, and what is left out."""
    unclear = {"verdict": NOTHING_CLEAR} if result.hits and not result.is_clear else {}
    hits = [_hit_json(hit) for hit in as_shown(result.hits)]
    return {**unclear, "hits": hits, "mode": result.mode, "notice": result.notice, **_left_out(result)}


def _left_out(result: SearchResult) -> dict[str, object]:
    """Return how many hits more clearly fit, and how to get them."""
    if not result.left_out:
        return {}
    named = " ".join(hit.snippet for hit in result.hits).casefold()
    facts = (
        fact
        for hit in result.left_out
        if not hit.is_others
        for part in sentences(hit.snippet)
        for fact in facts_in(part)
    )
    names = dict.fromkeys(fact.value for fact in facts if fact.kind is FactKind.NAME)
    others = [name for name in names if name.casefold() not in named][:_MOST_NAMES]
    further = f"; or add one of: {', '.join(others)}" if others else ""
    most = min(len(result.hits) + len(result.left_out), MOST_RESULTS)
    return {"left_out": len(result.left_out), "next": f"the same query with max_results={most}{further}"}


def holds_others_words(hit: Hit) -> bool:
    """Return whether *hit* holds words of others than the owner: by its line, or by the chat that it belongs to."""
    return hit.is_others or hit.scope != PRIVATE


def used_hit(hit: Hit, how: Literal["search", "recall"]) -> UsedMemory:
    """Return the record of *hit*."""
    score, similarity, keyword = (round(each, 3) for each in (hit.score, hit.similarity, hit.keyword))
    return UsedMemory(hit.citation, how, score, similarity, keyword, fingerprint(hit.snippet))


def _span(path: str, first: int, lines: int | None, total: int) -> str:
    last = min(first + lines - 1, total) if lines else total
    return f"{path}#L{first}-L{max(first, last)}"


def _format_matches(result: ExactResult) -> str:
    """Format matches, one line of context around each; every line that holds the text begins with `>`."""
    parts = [
        f"{match.path}:{match.line}{f' ({match.date})' if match.date else ''}\n"
        f"  {match.before}\n> {match.text}\n  {match.after}"
        for match in result.matches
    ]
    return "\n\n".join([*(parts or ["nothing found"]), *([f"({result.notice})"] if result.notice else [])])


async def _conversation(index: MemoryIndex, path: str, access: Access, line: int) -> list[Document]:
    """Return the part of the conversation at *path* with *line*, and the next; notes are read from their files."""
    first = (line - 1) // PART_LINES
    try:
        parts = [await index.read(part_path(path, number), access) for number in (first, first + 1)]
    except UnreadableDocumentError as exc:
        raise ToolError(f"{path}: {exc}") from exc
    return [part for part in parts if part is not None and part.lines]


def _lines_of(said: Sequence[Document], from_line: int | None, lines: int | None) -> dict[str, object]:
    """Return messages by the numbers that citations give; others (results of tools) have no text.

    They end with the first part, unless *lines* reach into the next one.
    """
    first, end = from_line or 1, said[-1].lines[-1]
    last = min(first + lines - 1, end) if lines else said[0].lines[-1]
    shown = (pair for part in said for pair in zip(part.lines, part.text.split("\n"), strict=False))
    text = "".join(f"L{number} {line}\n" for number, line in shown if line and first <= number <= last)
    extent = {"total_lines": end} if len(said) == 1 else {"next_line": last + 1}
    return {"from_line": first, **extent, "text": text}


def _hit_json(hit: Hit) -> dict[str, object]:
    return {
        "citation": hit.citation,
        "path": hit.path,
        "start_line": hit.start_line,
        "end_line": hit.end_line,
        "date": hit.date.isoformat() if hit.date else None,
        "score": round(hit.score, 3),
        "similarity": round(hit.similarity, 3),
        "keyword": round(hit.keyword, 3),
        "matched": round(hit.matched, 3),
        "snippet": hit.passage,
        **({"from": "somebody else's words"} if hit.is_others else {}),
        **({"holds": hit.mark} if hit.mark else {}),
    }


def _compact(facts: dict[str, object]) -> str:
    return json.dumps(facts, ensure_ascii=False, separators=(",", ":"))
