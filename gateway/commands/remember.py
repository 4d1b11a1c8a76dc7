"""`/remember`: writes a note at once, without a language model: word for word, with dates beside relative days."""

from gateway.commands.command import Command, CommandCall, Who, marked
from gateway.commands.resources import CommandResources
from gateway.commands.wording import quoted
from gateway.errors import ToolError
from workspaces.access import rights
from workspaces.memory.text.day_spans import dated
from workspaces.memory.text.known_lines import known_line
from workspaces.notes import NoteReceipt, append_note
from workspaces.sections import Category, memory_file, save_memory


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
    whole_text = marked(dated(call.arguments, call.now.date()), call)
    if not rights(access).private:
        return append_note(workspace, access, whole_text, call.now)
    category, text = split_category(whole_text)
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
