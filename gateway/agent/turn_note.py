"""The gateway's note on a turn: it is recorded as it was sent, so that every later request begins with this one."""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct, structs

from gateway.agent.entries import Entry, TurnNoteEntry
from gateway.agent.models.port import ModelRequest
from gateway.agent.prompt import Prompt
from gateway.agent.prompt_files import TurnContext
from gateway.agent.recall import Recalled
from gateway.agent.window.rounds import note_place
from workspaces.access import Locality
from workspaces.bootstrap import BootstrapFile
from workspaces.prompt_limits import BootstrapRole


class FilledPrompt(Struct, frozen=True):
    """The prompt of a turn, with its sources."""

    prompt: Prompt
    context: TurnContext


def turn_note(filled: FilledPrompt, outside: FilledPrompt | None, told: str, entries: Iterable[Entry]) -> TurnNoteEntry:
    """Return the note on a turn that shows *entries*, without memories; *told* are facts about its chat.

    *outside* is the prompt of a model that runs elsewhere, if that differs.
    """
    notes = [entry for entry in entries if isinstance(entry, TurnNoteEntry)]
    text = filled.prompt.note + told + _todays_lines(filled.context.files, (each.text for each in notes))
    if outside is None:
        return TurnNoteEntry(text)
    known = map(_outside, notes)
    return _note(text, outside.prompt.note + told + _todays_lines(outside.context.files, known))


def with_memories(note: TurnNoteEntry, recalled: Recalled, known: str, facts: str) -> TurnNoteEntry:
    """Return *note* with further *facts* and the *recalled* memories, each for those who may know it.

    Those in *known*, the notes that the request holds anyway, are not quoted again.
    """
    text, outside = (
        f"{told}{facts}{recalled.text(known, reader)}"
        for told, reader in ((note.text, Locality.HERE), (_outside(note), Locality.ELSEWHERE))
    )
    return _note(text, outside)


def _note(text: str, outside: str) -> TurnNoteEntry:
    return TurnNoteEntry(text, None if outside == text else outside)


def _outside(note: TurnNoteEntry) -> str:
    return note.text if note.outside is None else note.outside


def with_note(request: ModelRequest, note: TurnNoteEntry | None) -> ModelRequest:
    """Return *request* with *note* before the messages that it answers."""
    if note is None:
        return request
    at = note_place(request.entries)
    return structs.replace(request, entries=[*request.entries[:at], note, *request.entries[at:]])


def without_last_turn(entries: Sequence[Entry]) -> Sequence[Entry]:
    """Return *entries* before the latest message and the notes above it."""
    end = note_place(entries)
    while end and isinstance(entries[end - 1], TurnNoteEntry):
        end -= 1
    return entries[:end]


def _todays_lines(files: Iterable[BootstrapFile], told: Iterable[str]) -> str:
    """Return the lines of today's notes among *files* that stand in none of the notes *told* before.

    Today's notes change while a conversation goes on: in the system prompt they would change all that follows it. Each
    line is quoted, so that none can end the note.
    """
    known = {line for note in told for line in note.split("\n")}
    return "\n".join(line for file in files for line in _new_lines(file, known))


def _new_lines(file: BootstrapFile, known: set[str]) -> Iterator[str]:
    lines = [f"> {line}" for line in file.text.splitlines() if line.strip() and not line.startswith("# ")]
    new = [line for line in lines if line not in known] if file.part is BootstrapRole.TODAY else []
    yield from ["", f"New in {file.name}, the notes of today:", *new] if new else []
