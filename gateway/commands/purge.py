"""`/purge`: removes forgotten passages from notes, conversations, older versions, the index and the state, for good."""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct, structs

from gateway.checkup.proposals import forget_texts
from gateway.commands.command import Command, CommandCall, Who
from gateway.commands.resources import CommandResources
from gateway.commands.wording import counted
from gateway.errors import ToolError
from workspaces.access import AgentId, Locality, may_write, read_by
from workspaces.errors import EditError
from workspaces.forget import fingerprints, marked_in, take_out
from workspaces.history import Purged
from workspaces.lazy_pattern import lazy_pattern
from workspaces.memory.client import MemoryUnavailableError
from workspaces.memory.workspace_source import is_note
from workspaces.redact import SHORTEST, Redaction

_LINE_END = lazy_pattern(r"\r\n|\r|\n")
_MARKS = lazy_pattern(r"#[0-9a-f]{8}(?:\s+#[0-9a-f]{8})*")
_CITATION = lazy_pattern(r"(?P<path>\S.*?)#L(?P<first>\d{1,9})(?:-L(?P<last>\d{1,9}))?@(?P<revision>[0-9a-f]{7,40})")
_NAMED = 5


class _Done(Struct, frozen=True):
    """The result of a purge."""

    notes: int
    lines: int
    stored: int
    purged: Purged
    trouble: str
    """The reason that the index still holds the passage; empty if it does not."""
    too_short: Sequence[str]


def purge_commands(parts: CommandResources) -> list[Command]:

    async def run(call: CommandCall) -> str:
        call = structs.replace(
            call, asker=structs.replace(call.asker, access=read_by(call.access, Locality.HERE))
        )  # it quotes nothing
        passages = await _passages(call)
        redaction, too_short = _redaction(passages)
        await call.agent.history_writer.catch_up()
        await _refuse_documents(call, redaction)
        # The history comes last: until it is done, the same command finds the passages again and continues.
        notes = await call.run(take_out, call.agent.workspace, call.access, redaction)
        spared = redaction.sparing(await call.run(fingerprints, call.agent.workspace, call.access))
        lines = await parts.sessions.purge(call.agent.id, spared)
        await parts.sessions.run(forget_texts, parts.sessions.folder(call.agent.id).parent)
        stored = await parts.purge_state(redaction)
        trouble = await _index_anew(call)
        history = await call.agent.history_writer.history()
        purged = await call.agent.history_writer.ask(history.purge, redaction, call.access)
        return "\n".join(_result_lines(call.agent.id, _Done(notes, lines, stored, purged, trouble, too_short)))

    told = "remove forgotten passages permanently from notes, conversations and older versions"
    return [Command("purge", "<marks>", told, Who.MAIN, False, run)]


async def _passages(call: CommandCall) -> dict[str, str]:
    """Return the passages that the command names, each by its name."""
    if _MARKS.fullmatch(call.arguments):
        return await _notes_by_mark(call, list(dict.fromkeys(call.arguments.split())))
    if cited := _CITATION.fullmatch(call.arguments):
        return {call.arguments: await _cited_lines(call, cited)}
    raise ToolError("Name the passages as /forget shows them after forgetting some: `/purge #1a2b3c4d #5e6f7a8b`.")


async def _notes_by_mark(call: CommandCall, marks: Sequence[str]) -> dict[str, str]:
    """Return the notes with *marks*, as the history has them."""
    await call.agent.history_writer.catch_up()
    view = (await call.agent.history_writer.history()).view(call.access)
    found = await call.agent.history_writer.ask(lambda: marked_in(view.note_texts(), marks))
    if missing := [mark for mark in marks if mark not in found]:
        raise ToolError(
            f"No version of a note has the mark {missing[0]}: it was purged already, or never recorded. "
            "Nothing was changed."
        )
    return {mark: found[mark].text for mark in marks}


async def _cited_lines(call: CommandCall, cited: re.Match[str]) -> str:
    """Return the lines that a citation with a revision names, from the history."""
    history = await call.agent.history_writer.history()
    text = await call.agent.history_writer.ask(history.view(call.access).text_at, cited["revision"], cited["path"])
    lines = _LINE_END.split(text)[int(cited["first"]) - 1 : int(cited["last"] or cited["first"])]
    return "\n".join(lines)


def _redaction(passages: dict[str, str]) -> tuple[Redaction, list[str]]:
    """Return the redaction of *passages*, and the names of those too short for it."""
    too_short = [name for name, passage in passages.items() if not _is_long(passage)]
    if len(too_short) == len(passages):
        raise ToolError(
            f"That cannot be purged: a passage of fewer than {SHORTEST} letters would be removed everywhere."
        )
    return Redaction(*(passage for name, passage in passages.items() if name not in too_short)), too_short


def _is_long(passage: str) -> bool:
    try:
        Redaction(passage)
    except ValueError:
        return False
    return True


async def _refuse_documents(call: CommandCall, redaction: Redaction) -> None:
    """Raise EditError while a file that is not a note of this chat holds a passage: other files are not cut here."""
    history = await call.agent.history_writer.history()
    standing = await call.agent.history_writer.ask(history.holding, redaction, call.access)
    kept = [path for path in standing if not (is_note(path) and may_write(call.access, path))]
    if kept:
        named = ", ".join(map(str, kept[:_NAMED]))
        raise EditError(f"the passage is still in {named}; remove it there first. Nothing was changed")


async def _index_anew(call: CommandCall) -> str:
    """Rebuild the index from the files; return the reason if that failed, or nothing."""
    try:
        await call.agent.memory.rebuild()
    except MemoryUnavailableError as exc:
        return str(exc)
    return ""


def _result_lines(agent: AgentId, done: _Done) -> Iterator[str]:
    """Yield the removed places, without the passages, and the places that may still hold them."""
    yield (
        f"Purged: {counted(done.purged.versions, 'older text')} of files, {counted(done.notes, 'file')} of notes, "
        f"{counted(done.lines, 'line')} of conversations and {counted(done.stored, 'stored message')} no longer hold "
        "what was forgotten."
    )
    yield from _other_places(agent, done)
    yield (
        "It may still be in your backups; in files that came with messages, below `attachments/`; in changes and jobs "
        "that wait; in chat apps; with the provider of the language model; and anywhere in other words."
    )


def _other_places(agent: AgentId, done: _Done) -> Iterator[str]:
    if done.purged.commits:
        yield f"- {counted(done.purged.commits, 'change')} of the history got a new revision."
    if done.purged.exports:
        exports = counted(done.purged.exports, "export")
        yield f"- {exports} of the history went too; `strandline history bundle` makes one."
    if done.purged.set_aside:
        yield f"- Not touched, as they are damaged; delete them by hand: {', '.join(done.purged.set_aside)}"
    if done.trouble:
        yield (
            f"- The index still holds it ({done.trouble}): stop the gateway and delete `agents/{agent}/index`; it is "
            "rebuilt from your notes."
        )
    if done.too_short:
        yield (
            f"- Skipped, because fewer than {SHORTEST} letters would be removed everywhere: {', '.join(done.too_short)}"
        )
