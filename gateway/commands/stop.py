"""`/stop`: cancels the running turn of this chat and discards its queue."""

from gateway.admission.routing import session_of
from gateway.commands.command import Command, CommandCall, Who
from gateway.commands.wording import counted
from gateway.inbound.queue_modes import Queueing, Stopped

STOP = "stop"


def stop_commands(queueing: Queueing) -> list[Command]:
    """Return `/stop`; the gateway has executed it by its own turn, as it does not wait in the lane."""

    async def run(call: CommandCall) -> str:
        return "\n".join(_told(queueing.stopped(session_of(call.access), call.asked.row.id)))

    return [Command(STOP, "", "cancel my running turn in this chat and discard waiting messages", Who.CHAT, True, run)]


def _told(stopped: Stopped) -> list[str]:
    told = []
    if stopped.turn:
        told.append("Stopped. What was done until then stays in the conversation; what was not begun will not be.")
    if stopped.cleared:
        verb = "was" if stopped.cleared == 1 else "were"
        told.append(f"{counted(stopped.cleared, 'waiting message')} {verb} let go without an answer.")
    if stopped.helpers:
        verb = "was" if stopped.helpers == 1 else "were"
        told.append(f"{counted(stopped.helpers, 'helper')} that worked for this chat {verb} cancelled.")
    return told or ["Nothing was under way in this chat."]
