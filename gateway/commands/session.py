"""This file is `/new` and `/reset`: the conversation ends, what was said is kept, another one begins."""

from gateway.admission.routing import session_of
from gateway.commands.command import Call, Command, Who
from gateway.sessions.due import Ending
from gateway.sessions.lifecycle import Lifecycle


def session_commands(lifecycle: Lifecycle) -> list[Command]:
    """Return the commands that end this chat's session; in a group, whoever may talk there may."""

    def ending(why: Ending, help_text: str) -> Command:
        async def run(call: Call) -> str:
            written = await lifecycle.end_session(session_of(call.access), why, call.turn_id)
            kept = " and ".join(f"`{path}`" for path in written)
            told = f"The facts are noted in {kept}; every word stays in the conversation, and both are searched."
            told = told if kept else "There was nothing to note."
            return f"A new conversation begins with your next message. {told}"

        return Command(why, "", help_text, Who.ANYONE, True, run)  # an end that a crash cut short is finished

    return [
        ending(Ending.NEW, "ends this conversation, keeps its last messages in a note, and begins another one"),
        ending(Ending.RESET, "the same as /new"),
    ]
