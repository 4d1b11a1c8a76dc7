"""Commands on a session: `/new` and `/reset` end it, `/stop` cancels its turn, `/queue` and `/model` set it up."""

from msgspec import structs

from gateway.admission.routing import SessionKey, session_of
from gateway.agent.entries import RecallEntry
from gateway.commands.command import Command, CommandCall, Who
from gateway.commands.resources import CommandResources
from gateway.commands.wording import counted
from gateway.errors import ToolError
from gateway.inbound.queue_modes import Queueing, Stopped
from gateway.inbound.session_settings import Choices
from gateway.inbound.settings import QueueMode
from gateway.sessions.due import Ending

STOP = "stop"
ENDS = 3
"""Conversations that others than the owner may end in a row, and per hour after that: at each end a model saves notes.
Our choice.
"""
_TOO_OFTEN = "This conversation was ended too often recently, so it continues as before. Please wait twenty minutes."
_DEFAULT = "default"
_MEANS = {
    QueueMode.FOLLOW_UP: "each message waits its turn and has an answer of its own",
    QueueMode.COLLECT: "messages that wait are answered together",
    QueueMode.STEER: "what you write while I work I read before my next step",
    QueueMode.INTERRUPT: "what you write while I work ends that work, and I answer the new message",
}


def session_commands(parts: CommandResources) -> list[Command]:
    """Return the commands that end this chat's session; others than the owner may do so only so often."""

    def ending(why: Ending, help_text: str) -> Command:
        async def run(call: CommandCall) -> str:
            if not call.asker.is_owner and not parts.ends.take(str(session_of(call.access))):
                raise ToolError(_TOO_OFTEN)
            written = await parts.lifecycle.end_session(session_of(call.access), why, call.turn_id)
            kept = " and ".join(f"`{path}`" for path in dict.fromkeys(written))
            told = f"The facts are noted in {kept}; every word stays in the conversation, and both are searched."
            told = told if kept else "There was nothing to note."
            if (receipt := call.transcript.records.latest(RecallEntry)) is not None:
                told = f"{told} {receipt.entry}."
            return f"A new conversation begins with your next message. {told}"

        return Command(why, "", help_text, Who.ENDER, True, run)  # an end interrupted by a crash is finished

    return [
        ending(Ending.NEW, "end this conversation, save its last messages in a note, and start a new one"),
        ending(Ending.RESET, "same as /new"),
    ]


def stop_commands(parts: CommandResources) -> list[Command]:
    """Return `/stop`; the gateway has executed it by its own turn, as it does not wait in the lane."""

    async def run(call: CommandCall) -> str:
        return "\n".join(_stop_lines(parts.queueing.stopped(session_of(call.access), call.asked.row.id)))

    return [Command(STOP, "", "cancel my running turn in this chat and discard waiting messages", Who.CHAT, True, run)]


def _stop_lines(stopped: Stopped) -> list[str]:
    told = []
    if stopped.turn:
        told.append("Stopped. Finished steps stay in the conversation; the rest will not be done.")
    if stopped.cleared:
        verb = "was" if stopped.cleared == 1 else "were"
        told.append(f"{counted(stopped.cleared, 'waiting message')} {verb} discarded without an answer.")
    if stopped.helpers:
        verb = "was" if stopped.helpers == 1 else "were"
        told.append(f"{counted(stopped.helpers, 'subagent')} of this chat {verb} cancelled.")
    return told or ["Nothing was running in this chat."]


def queue_commands(parts: CommandResources) -> list[Command]:
    """Return `/queue`, which shows the mode of this session or sets it until the session ends."""

    async def run(call: CommandCall) -> str:
        key = session_of(call.access)
        if call.arguments:
            mode = _mode(call.arguments)
            await parts.choices.choose(key, structs.replace(parts.choices.of(key), mode=mode))
        return _queue_lines(parts.queueing, parts.choices, key)

    return [Command("queue", "[mode]", "show or set the handling of waiting messages", Who.CHAT, True, run)]


def _mode(word: str) -> QueueMode | None:
    wanted = word.lower().replace("-", "_").replace("followup", QueueMode.FOLLOW_UP)
    if wanted == _DEFAULT:
        return None
    try:
        return QueueMode(wanted)
    except ValueError:
        known = ", ".join([*QueueMode, _DEFAULT])
        raise ToolError(f"there is no such queue mode; the modes are: {known}") from None


def _queue_lines(queueing: Queueing, choices: Choices, key: SessionKey) -> str:
    mode = queueing.mode(key)
    since = "as the configuration says" if choices.mode(key) is None else "until this conversation ends"
    others = [f"- `{each}`: {means}" for each, means in _MEANS.items() if each is not mode]
    return "\n".join([f"`{mode}`, {since}: {_MEANS[mode]}.", "", "`/queue <mode>` changes that:", *others])


def model_commands(parts: CommandResources) -> list[Command]:
    """Return `/model`, which lists the models or chooses one until the session ends; the owner pays."""

    async def run(call: CommandCall) -> str:
        key, names = session_of(call.access), list(call.agent.others)
        if call.arguments:
            wanted = call.arguments
            if wanted != _DEFAULT and wanted not in names:
                raise ToolError(f"there is no such model; the models are: {', '.join([*names, _DEFAULT])}")
            model = None if wanted == _DEFAULT else wanted
            await parts.choices.choose(key, structs.replace(parts.choices.of(key), model=model))
            parts.queueing.queues.wake(key)  # a message that waits for the model of before
        return _model_lines(call, parts.choices.of(key).model)

    help_text = "show or choose the model of this conversation"
    return [Command("model", "[name]", help_text, Who.OWNER, True, run, passes=True)]


def _model_lines(call: CommandCall, chosen: str | None) -> str:
    others = call.agent.others
    is_chosen = chosen in others
    name = chosen if is_chosen else next(iter(others), call.agent.model.name)
    since = "until this conversation ends; `/model default` resets it" if is_chosen else "as configured"
    lines = [f"`{name}` answers here, {since}."]
    if stand_ins := [f"`{each}`" for each in call.agent.fallbacks if each != name]:
        lines.append(f"Fallbacks: {', '.join(stand_ins)}.")
    if rest := [f"`{each}`" for each in others if each != name]:
        lines.append(f"`/model <name>` switches to another one: {', '.join(rest)}.")
    return "\n".join(lines)
