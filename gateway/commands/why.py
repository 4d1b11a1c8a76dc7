"""`/why`: the memories that an answer used, with source and scores; or the reasons for unanswered messages."""

from collections.abc import Iterator, Sequence
from datetime import tzinfo

from gateway.admission.explain import describe_silence
from gateway.agent.entries import HOW_USED, UsedMemory
from gateway.commands.command import Command, CommandCall, Who
from gateway.commands.resources import CommandResources
from gateway.commands.wording import quoted
from gateway.errors import ToolError
from gateway.stores.admission import Silence

SHOWN = 10
"""Most unanswered messages that one answer lists."""


def why_commands(parts: CommandResources) -> list[Command]:
    """Return `/why`, for answers and for messages without one."""

    async def run(call: CommandCall) -> str:
        word, _, chat = call.arguments.partition(" ")
        if word.lower() == "silence":
            found = [each for each in await parts.silences.latest() if chat.strip() in {"", each.address.chat}]
            return "\n".join(_silences(found[:SHOWN], call.now.tzinfo))
        return await _why(call)

    does = "show the memories that my last answer used (`/why 2`: the one before), or recent unanswered messages"
    return [Command("why", "[number or silence]", does, Who.MAIN, True, run, passes=True)]


def _silences(found: Sequence[Silence], zone: tzinfo | None) -> Iterator[str]:
    if not found:
        yield "There are no unanswered messages."
    for each in found:
        what, mend = describe_silence(each)
        yield f"- {each.at.astimezone(zone):%Y-%m-%d %H:%M} {what}{f' → {mend}' if mend else ''}"


async def _why(call: CommandCall) -> str:
    back = call.arguments or "1"
    if not (back.isascii() and back.isdigit() and int(back)):
        raise ToolError(
            "Give a number: `/why` is about my last answer, `/why 2` about the one before it; `/why silence` is "
            "about unanswered messages."
        )
    question = call.transcript.question(int(back))
    if question is None:
        raise ToolError(_no_question(int(back), call.transcript.is_whole))
    turn_id, asked = question
    return "\n".join(_lines(asked.text, call.transcript.used_by(turn_id)))


def _no_question(back: int, is_whole: bool) -> str:
    if not is_whole:
        return "That was too long ago; `strandline sessions show` on the gateway's machine has all that was said."
    return f"This conversation has fewer than {back:,} questions." if back != 1 else _NONE


_NONE = "No questions in this conversation yet."


def _lines(question: str, used: Sequence[UsedMemory]) -> Iterator[str]:
    yield f"You asked:\n{quoted(question)}\n"
    if not used:
        yield "No memory was used for the answer."
    for each in used:
        scores = f"score {each.score:.2f}, meaning {each.similarity:.2f}, words {each.keyword:.2f}"
        yield f"- `{each.citation}`: {HOW_USED[each.how]}{'' if each.how == 'read' else f'; {scores}'}"
