"""This file is `/why`: which memories an answer used, from where, found how, with what scores."""

from collections.abc import Iterator, Sequence

from gateway.agent.entries import HOW_USED, UsedMemory
from gateway.commands.command import Call, Command, Who
from gateway.commands.wording import quoted
from gateway.errors import ToolError


def why_commands() -> list[Command]:
    """Return `/why`."""
    told = "says which memories my last answer used, or an earlier one: `/why 2` is the one before"
    return [Command("why", "[number]", told, Who.MAIN, True, _why)]


async def _why(call: Call) -> str:
    back = call.arguments or "1"
    if not (back.isascii() and back.isdigit() and int(back)):
        raise ToolError("Say a number: `/why` is about my last answer, `/why 2` about the one before it.")
    question = call.transcript.question(int(back))
    if question is None:
        raise ToolError(_no_question(int(back), call.transcript.is_whole))
    turn_id, asked = question
    return "\n".join(_lines(asked.text, call.transcript.used_by(turn_id)))


def _no_question(back: int, is_whole: bool) -> str:
    if not is_whole:
        return "That was too long ago; `strandline sessions show` on the gateway's machine has all that was said."
    return f"There are not {back:,} questions in this conversation yet." if back != 1 else _NONE


_NONE = "Nothing was asked in this conversation yet."


def _lines(question: str, used: Sequence[UsedMemory]) -> Iterator[str]:
    yield f"You asked:\n{quoted(question)}\n"
    if not used:
        yield "No memory was used for the answer."
    for each in used:
        scores = f"relevance {each.relevance:.2f}, meaning {each.similarity:.2f}, words {each.keyword:.2f}"
        yield f"- `{each.citation}`: {HOW_USED[each.how]}{'' if each.how == 'read' else f'; {scores}'}"
