"""`/undo` and `/correct`: revert or reword the notes that an answer wrote.

No state is kept between a button and its press: a mark identifies a turn, and the history has its changes. A reply to
our question for the new text is `/correct` with these words.
"""

import re
from collections.abc import Sequence

from msgspec import structs

from gateway.agent.entries import ForgottenEntry
from gateway.commands.command import Command, CommandCall, Who, marked
from gateway.commands.resources import CommandResources
from gateway.commands.wording import quoted
from gateway.errors import ToolError
from gateway.inbound.turn_mark import QUESTION
from gateway.stores.rows import TurnId
from workspaces.access import Access
from workspaces.errors import EditError
from workspaces.history import FileWriting, TurnChanges
from workspaces.history.undo import undo_files
from workspaces.house import has_tag, tagged
from workspaces.lazy_pattern import lazy_pattern
from workspaces.memory.text.dialogue import without_time
from workspaces.revert import corrected_text, passages
from workspaces.workspace import Workspace

_MARKED = lazy_pattern(r"(?P<mark>[0-9a-f]{12})?(?:(?:^|\s+)(?P<words>.*))?", re.DOTALL)
_BULLET = lazy_pattern(r"(?<!\s)\s*+[-*+] ")
_MOST_TOLD = 20
"""Most passages that an answer names: a turn may have written thousands, and each takes a line or two of a chat."""
_QUOTED = 3
_NOTHING = "I find nothing in the notes of this chat that {what} wrote down and that can still be undone."


def undo_commands(_: CommandResources) -> list[Command]:
    """Return `/undo` and `/correct`."""
    back = "undo the notes of my last answer here; a button below an answer undoes that one"
    other = "replace the note of my last answer here by your words"
    return [
        Command("undo", "[mark]", back, Who.CHAT, False, _undo),
        Command("correct", "[mark] <words>", other, Who.CHAT, False, _correct),
    ]


async def _undo(call: CommandCall) -> str:
    writing = await writing_of(call, _mark(call.arguments), verb="undo")
    if writing.is_undone:
        return "That was already undone."
    origin = structs.replace(call.origin, mark=None, undoes=writing.mark)
    with call.agent.changing(f"{call.turn_id}-undo", origin) as run:
        await run(undo_files, call.agent.workspace, call.access, writing.files)
    await _keep_from_summary(call, writing)
    return "\n".join(await call.agent.run(_undo_lines, writing.files))


async def _correct(call: CommandCall) -> str:
    given = _MARKED.fullmatch(call.arguments)
    mark, words = (given["mark"], (given["words"] or "").strip()) if given else (None, call.arguments)
    writing = await writing_of(call, mark, verb="correct")
    if writing.is_undone:
        raise ToolError("That was undone, so there is nothing to correct; use /remember to write a new note.")
    file = await call.agent.run(_only, writing)
    if not words:
        return f"{QUESTION.format(mark=writing.mark)} It says now:\n{quoted(*passages(file.before, file.after))}"
    try:
        line = await call.run(_reword, call.agent.workspace, call.access, file, _marked(words, file, call))
    except ValueError as exc:
        raise ToolError("That contains nothing to write down.") from exc
    await _keep_from_summary(call, writing)
    return f"Corrected in `{file.path}#L{line}`."


def _marked(words: str, file: FileWriting, call: CommandCall) -> str:
    """Return *words* with the mark `house` if the message carries it, or the passage that they replace."""
    carries = any(has_tag(text) for text in passages(file.before, file.after))
    return tagged(words) if carries else marked(words, call)


def _mark(arguments: str) -> str | None:
    given = _MARKED.fullmatch(arguments)
    if given is None or given["words"]:
        raise ToolError("Use `/undo` for my last answer; a button below an earlier one names that by its mark.")
    return given["mark"]


async def writing_of(call: CommandCall, mark: str | None, *, verb: str) -> TurnChanges:
    """Return the changes of the turn that *mark* names, or of the last writing one of this conversation and chat.

    Raises ToolError if there are none, or only another conversation's: it describes those that *verb* would concern.
    """
    await call.agent.history_writer.catch_up()
    view = (await call.agent.history_writer.history()).view(call.access)
    named = await call.agent.history_writer.ask(view.writing, call.origin.session, mark)
    if mark is not None:
        if named is None:
            raise ToolError(_NOTHING.format(what="that answer"))
        return named
    here = await call.agent.history_writer.ask(view.latest, call.origin.session, call.origin.chat or "")
    if here is not None and not here.files:
        raise ToolError(
            f"My last change here was in {', '.join(f'`{path}`' for path in dict.fromkeys(here.others))}, and I can "
            f"only undo notes.{await _other_conversation(call, named, verb)}"
        )
    if here is not None and here.turn is not None and call.transcript.records.of(TurnId(here.turn)):
        return here
    if (found := here or named) is None:
        raise ToolError(_NOTHING.format(what="an answer of mine"))
    raise ToolError(
        f"No answer of mine in this conversation wrote a note.{await _other_conversation(call, found, verb)}"
    )


async def _other_conversation(call: CommandCall, writing: TurnChanges | None, verb: str) -> str:
    """Return the mark and the passages of an answer of another conversation; empty without one to change."""
    if writing is None or writing.is_undone or not writing.files:
        return ""
    written = await call.agent.run(_quote_passages, writing.files)
    words = " <words>" if verb == "correct" else ""
    return f" `/{verb} {writing.mark}{words}` is about an earlier answer, or one in another chat:\n{written}"


def _quote_passages(files: Sequence[FileWriting]) -> str:
    """Quote the passages that a change added to *files*, or else those that it removed."""
    added = [quoted(text) for file in files for text in passages(file.before, file.after)]
    gone = [quoted(text) for file in files for text in passages(file.after, file.before)]
    return "\n\n".join((added or gone)[:_QUOTED])


def _only(writing: TurnChanges) -> FileWriting:
    """Return the change that wrote the only passage. Raises ToolError if there are none, or several."""
    written = [(file, text) for file in writing.files for text in passages(file.before, file.after)]
    if len(written) == 1:
        return written[0][0]
    how_many = f"{len(written)} passages" if written else "no passage"
    raise ToolError(f"That answer wrote {how_many}, and one alone can be corrected; `/undo {writing.mark}` undoes it.")


def _reword(workspace: Workspace, access: Access, written: FileWriting, words: str) -> int:
    """Replace the *written* passage by *words*, and return their line. Raises EditError, ValueError."""
    file = workspace.present(written.path, access)
    now = file.whole if file else None
    try:
        text = corrected_text(written.before, written.after, now, words)
    except EditError as exc:
        raise EditError(f"{written.path}: {exc}") from exc
    workspace.write(written.path, text, access, file)
    same = zip(text.split("\n"), (now or "").split("\n"), strict=False)
    return next((number for number, (new, old) in enumerate(same, 1) if new != old), 1)


async def _keep_from_summary(call: CommandCall, writing: TurnChanges) -> None:
    """Keep the summary of this conversation from writing the wrong note again."""
    if wrong := await call.agent.run(_wrong, writing.files):
        await call.transcript.append(call.turn_id, ForgottenEntry(wrong))


def _wrong(files: Sequence[FileWriting]) -> tuple[str, ...]:
    written = (text for file in files for text in passages(file.before, file.after))
    texts = (without_time(_BULLET.sub("", text, 1).split("\n")[0]).strip() for text in written)
    return tuple(dict.fromkeys(text for text in texts if text))


def _undo_lines(files: Sequence[FileWriting]) -> list[str]:
    """Return lines that name the removed and the restored passages."""
    told = []
    for file in files:
        told += [f"Undone in `{file.path}`:\n{quoted(text)}\n" for text in passages(file.before, file.after)]
        told += [f"Restored in `{file.path}`:\n{quoted(text)}\n" for text in passages(file.after, file.before)]
    if len(told) > _MOST_TOLD:
        return [*told[:_MOST_TOLD], f"and {len(told) - _MOST_TOLD:,} passages more."]
    return told or [f"Undone in {', '.join(f'`{path}`' for path in dict.fromkeys(file.path for file in files))}."]
