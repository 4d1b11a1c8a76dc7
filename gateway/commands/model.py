"""`/model`: the language model of this session."""

from gateway.admission.routing import session_of
from gateway.commands.command import Command, CommandCall, Who
from gateway.errors import ToolError
from gateway.inbound.session_settings import Choices

_DEFAULT = "default"


def model_commands(choices: Choices) -> list[Command]:
    """Return `/model`, which lists the models or chooses one until the session ends; the owner pays."""

    async def run(call: CommandCall) -> str:
        key, names = session_of(call.access), list(call.agent.others)
        if call.arguments:
            wanted = call.arguments
            if wanted != _DEFAULT and wanted not in names:
                raise ToolError(f"no model is called that; there are: {', '.join([*names, _DEFAULT])}")
            model = None if wanted == _DEFAULT else wanted
            await choices.choose(key, choices.of(key).model_copy(update={"model": model}))
        return _shown(call, choices.of(key).model)

    help_text = "show or choose the model of this conversation"
    return [Command("model", "[name]", help_text, Who.OWNER, True, run)]


def _shown(call: CommandCall, chosen: str | None) -> str:
    others = call.agent.others
    is_chosen = chosen in others
    name = chosen if is_chosen else next(iter(others), call.agent.model.name)
    since = "until this conversation ends; `/model default` takes it back" if is_chosen else "as configured"
    lines = [f"`{name}` answers here, {since}."]
    if stand_ins := [f"`{each}`" for each in call.agent.fallbacks if each != name]:
        lines.append(f"When it cannot: {', '.join(stand_ins)}.")
    if rest := [f"`{each}`" for each in others if each != name]:
        lines.append(f"`/model <name>` takes another one: {', '.join(rest)}.")
    return "\n".join(lines)
