"""`/new` and `/reset`: end the conversation, keep its last messages, and begin another one."""

from gateway.admission.rate_limits import Rates
from gateway.admission.routing import session_of
from gateway.commands.command import Command, CommandCall, Who
from gateway.errors import ToolError
from gateway.sessions.due import Ending
from gateway.sessions.lifecycle import Lifecycle

ENDS = 3
"""Conversations that others than the owner may end in a row, and per hour after that: at each end a model saves notes.
Our choice.
"""
_TOO_OFTEN = "This conversation was ended too often lately, so it goes on as it was. Please wait twenty minutes."


def session_commands(lifecycle: Lifecycle, ends: Rates) -> list[Command]:
    """Return the commands that end this chat's session; *ends* limits how often others than the owner may do so."""

    def ending(why: Ending, help_text: str) -> Command:
        async def run(call: CommandCall) -> str:
            if not call.asker.is_owner and not ends.take(str(session_of(call.access))):
                raise ToolError(_TOO_OFTEN)
            written = await lifecycle.end_session(session_of(call.access), why, call.turn_id)
            kept = " and ".join(f"`{path}`" for path in written)
            told = f"The facts are noted in {kept}; every word stays in the conversation, and both are searched."
            told = told if kept else "There was nothing to note."
            return f"A new conversation begins with your next message. {told}"

        return Command(why, "", help_text, Who.ENDER, True, run)  # an end interrupted by a crash is finished

    return [
        ending(Ending.NEW, "end this conversation, save its last messages in a note, and start a new one"),
        ending(Ending.RESET, "same as /new"),
    ]
