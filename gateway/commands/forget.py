"""`/forget`: removes a note from its file and the index, and names the remaining copies.

A note that a model made of the order itself goes too, and is not taken for the note that was meant.
No state is kept between two commands: a candidate is identified by a mark derived from its text.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import PurePosixPath

from gateway.agent.entries import ForgottenEntry
from gateway.agent.models.offline_intents import ordered_text
from gateway.agent.models.offline_languages import topic_to_forget
from gateway.commands.command import Command, CommandCall, Who
from gateway.commands.resources import CommandResources
from gateway.commands.wording import counted, quoted
from gateway.errors import ToolError
from workspaces.citations import CitedLines, cited_lines
from workspaces.errors import HistoryUnusableError
from workspaces.forget import NotePassage, author_of, forget, forgettable, holding, notes_in
from workspaces.history import LogQuery, View
from workspaces.lazy_pattern import lazy_pattern
from workspaces.memory.client import MemoryUnavailableError
from workspaces.memory.exact_search import LONGEST, ExactQuery, ExactRefusedError, folded_text
from workspaces.memory.hits import CLEAR
from workspaces.memory.query import Query
from workspaces.memory.text.dialogue import LineKind, read_line, without_time
from workspaces.memory.text.tokens import STOP_WORDS

_MARKS = lazy_pattern(r"#[0-9a-f]{8}(?:\s+#[0-9a-f]{8})*")
_LISTED = 10
_NEAREST = 3
_NO_NOTE = "No note that I can change here contains these words."
_ELSEWHERE = "`/memory` with other words searches all that I keep; `/forget` with a place that it shows forgets it."
_STAYS = "It remains in this conversation, in backups, and in older versions of these notes, until my owner purges it."


def forget_commands(_: CommandResources) -> list[Command]:
    told = "remove a note of this chat, and say where its words remain; several matches are listed first"
    return [Command("forget", "<words>", told, Who.ANYONE, False, _forget)]


async def _forget(call: CommandCall) -> str:
    if not call.arguments:
        raise ToolError("Name the note to forget: by some of its words, or by `path#L3`.")
    workspace, access = call.agent.workspace, call.access
    paths = await call.run(forgettable, workspace, access)
    notes = [note for path in paths for note in await call.run(notes_in, workspace, access, path)]
    if _MARKS.fullmatch(call.arguments):
        return await _remove_notes(call, _notes_by_mark(notes, call.arguments.split()))
    if (cited := cited_lines(call.arguments)) and cited.day is None:
        return await _remove_notes(call, _notes_by_citation(notes, cited))
    found = holding(notes, call.arguments)
    orders = [note for note in found if topic_to_forget(read_line(note.text).text)]
    meant = [note for note in found if note not in orders and not _asks(note)]
    if not meant:
        done = f"{await _remove_notes(call, orders)}\n\n" if orders else ""
        return done + await _no_match(call, notes)
    if len(meant) == 1 or (len(_by_words(meant)) == 1 and call.asker.may_run(Who.CHAT)):
        return await _remove_notes(call, found)
    return "\n".join(_match_lines(found))


def _asks(note: NotePassage) -> bool:
    """Tell whether *note* is a question of a conversation: it goes with the note that answers it."""
    line = read_line(note.text)
    return bool(line.speaker) and line.kind is LineKind.QUESTION


def _by_words(notes: Sequence[NotePassage]) -> list[list[NotePassage]]:
    """Return *notes* by what they say: of one message, copies stand in notes of a day and of its conversation."""
    same: dict[str, list[NotePassage]] = {}
    for note in notes:
        said = read_line(note.text).text
        same.setdefault(folded_text(ordered_text(said) or said), []).append(note)
    return list(same.values())


def _notes_by_mark(notes: Sequence[NotePassage], marks: Sequence[str]) -> list[NotePassage]:
    known = {note.mark: note for note in notes}
    if missing := [mark for mark in marks if mark not in known]:
        raise ToolError(f"The note {missing[0]} no longer exists, or is not in this chat; nothing was forgotten.")
    return [known[mark] for mark in dict.fromkeys(marks)]


def _notes_by_citation(notes: Sequence[NotePassage], cited: CitedLines) -> list[NotePassage]:
    """Return the notes within the lines of a citation."""
    found = [
        note
        for note in notes
        if str(note.path) == cited.path and note.first_line in cited.lines and note.last_line in cited.lines
    ]
    if not found:
        raise ToolError(f"At {cited} there is no complete note that can be forgotten in this chat.")
    return found


def _match_lines(found: Sequence[NotePassage]) -> Iterator[str]:
    yield f"{counted(len(found), 'note')} fit:"
    for note in found[:_LISTED]:
        yield f"`/forget {note.mark}` (`{note.citation}`)\n{quoted(note.text)}\n"
    if len(found) > _LISTED:
        yield "There are more matches: add some words."
    else:
        yield f"All of them: `/forget {' '.join(note.mark for note in found)}`"


async def _no_match(call: CommandCall, notes: Sequence[NotePassage]) -> str:
    """Return the answer that no note matches, with notes that clearly mean the same; others may be off-topic."""
    telling = " ".join(word for word in call.arguments.split() if word.casefold() not in STOP_WORDS)
    result = await call.agent.memory.search(Query(call.arguments, _LISTED, min_score=CLEAR), call.access)
    clear = {hit.citation for hit in result.hits if hit.score >= CLEAR}
    notes = [note for note in notes if not _asks(note)]
    near = [*holding(notes, telling), *(note for note in notes if note.citation in clear)]
    same = [each for each in _by_words(notes) if not {*each}.isdisjoint(near)][:_NEAREST]
    if not same:
        return f"{_NO_NOTE}\n{_ELSEWHERE}"
    names = (each[0].citation if len(each) == 1 else " ".join(note.mark for note in each) for each in same)
    lines = (f"`/forget {name}`\n{quoted(each[0].text)}\n" for name, each in zip(names, same, strict=True))
    return "\n".join([_NO_NOTE, "The closest:", *lines])


async def _remove_notes(call: CommandCall, notes: Sequence[NotePassage]) -> str:
    await _refuse_others(call, notes)
    is_owners = call.asker.may_run(Who.MAIN)
    recorded = await _recorded_files(call, notes) if is_owners else frozenset()
    await call.run(forget, call.agent.workspace, call.access, notes)
    texts = (without_time(note.text.split("\n")[0]) for note in notes)
    await call.transcript.append(call.turn_id, ForgottenEntry(tuple(dict.fromkeys(texts))))
    call.agent.memory.touched()
    with suppress(MemoryUnavailableError):  # the next search looks again
        await call.agent.memory.sync()
    told = [
        *_result_lines(notes, await _still_there(call, notes)),
        *(_owner_lines(notes, recorded) if is_owners else [_STAYS]),
    ]
    return "\n".join(told)


async def _refuse_others(call: CommandCall, notes: Sequence[NotePassage]) -> None:
    """Raise ToolError for a note of a group that was written down for somebody else, unless the owner asks."""
    if call.asker.may_run(Who.CHAT):
        return
    await call.agent.history_writer.catch_up()
    for note in notes:
        author = await _author(call, note)
        if author is None or author != call.origin.author:
            raise ToolError(
                f"`{note.citation}` was written down for somebody else: only that person and my owner can have it "
                "forgotten. Nothing was changed."
            )


async def _author(call: CommandCall, note: NotePassage) -> str | None:
    """Return the author of *note*; `None` if the history does not tell."""
    try:
        view = (await call.agent.history_writer.history()).view(call.access)
        return await call.agent.history_writer.ask(_author_in, view, note)
    except HistoryUnusableError:
        return None


def _author_in(view: View, note: NotePassage) -> str | None:
    with closing(view.written(note.path)) as texts:
        return author_of(note, texts)


async def _still_there(call: CommandCall, notes: Sequence[NotePassage]) -> list[str]:
    """Return the places where a literal search still finds the forgotten text: another note, or a conversation."""
    found: dict[str, None] = {}
    for text in dict.fromkeys(without_time(note.text.split("\n")[0])[:LONGEST] for note in notes[:_LISTED]):
        with suppress(ExactRefusedError):  # a single letter is everywhere
            result = await call.agent.memory.find_exact(ExactQuery(text, max_results=_NEAREST), call.access)
            found |= dict.fromkeys(match.citation for match in result.matches)
    return list(found)


async def _recorded_files(call: CommandCall, notes: Sequence[NotePassage]) -> frozenset[PurePosixPath]:
    """Return those files whose current content is in the history: there a purge finds the notes by their marks."""
    paths = list(dict.fromkeys(note.path for note in notes))
    try:
        await call.agent.history_writer.catch_up()
        view = (await call.agent.history_writer.history()).view(call.access)
        logs = {path: await call.agent.history_writer.ask(view.log, LogQuery(path=path, limit=1)) for path in paths}
    except HistoryUnusableError:
        return frozenset()
    return frozenset(path for path, log in logs.items() if log)


def _result_lines(notes: Sequence[NotePassage], still_at: Sequence[str]) -> Iterator[str]:
    same = _by_words(notes)
    places = f", in {len(notes)} places" if len(same) < len(notes) else ""
    yield f"Forgotten: {counted(len(same), 'note')}{places}."
    yield from (f"{quoted(each[0].text)}\n" for each in same[:_LISTED])
    if still_at:
        places = ", ".join(f"`{citation}`" for citation in still_at)
        yield f"The same words are still at {places}: searches find them there."


def _owner_lines(notes: Sequence[NotePassage], recorded: Collection[PurePosixPath]) -> Iterator[str]:
    yield "It remains in conversations, in backups, and in older versions of the files, from which it can be restored."
    if marks := [note.mark for note in notes if note.path in recorded]:
        yield "To remove it permanently from notes, conversations and older versions too:"
        yield f"`/purge {' '.join(marks)}`"
