"""`/queue`: this session's mode for messages that arrive during an answer."""

from gateway.admission.routing import SessionKey, session_of
from gateway.commands.command import Command, CommandCall, Who
from gateway.errors import ToolError
from gateway.inbound.queue_modes import Queueing, QueueMode
from gateway.inbound.session_settings import Choices

_DEFAULT = "default"
_MEANS = {
    QueueMode.FOLLOW_UP: "each message waits its turn and has an answer of its own",
    QueueMode.COLLECT: "messages that wait are answered together",
    QueueMode.STEER: "what you write while I work I read before my next step",
    QueueMode.INTERRUPT: "what you write while I work ends that work, and I answer the new message",
}


def queue_commands(queueing: Queueing, choices: Choices) -> list[Command]:
    """Return `/queue`, which shows the mode of this session or sets it until the session ends."""

    async def run(call: CommandCall) -> str:
        key = session_of(call.access)
        if call.arguments:
            mode = _mode(call.arguments)
            await choices.choose(key, choices.of(key).model_copy(update={"mode": mode}))
        return _shown(queueing, choices, key)

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


def _shown(queueing: Queueing, choices: Choices, key: SessionKey) -> str:
    mode = queueing.mode(key)
    since = "as the configuration says" if choices.mode(key) is None else "until this conversation ends"
    others = [f"- `{each}`: {means}" for each, means in _MEANS.items() if each is not mode]
    return "\n".join([f"`{mode}`, {since}: {_MEANS[mode]}.", "", "`/queue <mode>` changes that:", *others])
