"""`/house`: a chat whose text stays on the owner's machines, the model's provider included."""

from msgspec import structs

from adapters.channel import Address
from gateway.admission.routing import session_of
from gateway.agent.entries import OFFLINE
from gateway.agent.models.port import reader_of
from gateway.commands.command import Command, CommandCall, Who
from gateway.commands.resources import CommandResources
from gateway.errors import ToolError
from gateway.stores.admission import Overheard
from workspaces.access import Locality

_WORDS = {"on": True, "off": False, "": None}


def house_commands(parts: CommandResources) -> list[Command]:
    """Return `/house`, which shows the mark of this chat, or sets it."""

    choices = parts.choices

    async def run(call: CommandCall) -> str:
        key, word = session_of(call.access), call.arguments.lower()
        if word not in _WORDS:
            raise ToolError("say `/house on`, or `/house off`")
        if (wanted := _WORDS[word]) is False:
            await _forget_talk(parts.overheard, call.asked.row.message.address)
        if wanted is not None:
            await choices.choose(key, structs.replace(choices.of(key), house=wanted))
        return _state(call, is_house=choices.is_house(key))

    return [Command("house", "[on/off]", "keep what is said here on your own machines", Who.OWNER, True, run)]


async def _forget_talk(overheard: Overheard, address: Address) -> None:
    """Drop what a group said meanwhile, and not to us: it would go to the next model."""
    context = await overheard.of(address)
    if context.heard:
        await overheard.forget(address, context.last)


def _state(call: CommandCall, *, is_house: bool) -> str:
    if not is_house:
        return (
            "This chat is not marked `house`: any configured model may read it. `/house on` keeps what is said from "
            "then on at models on your own machines; `#house` in a message, or in a line of a note, does so for it."
        )
    local = [name for name, model in call.agent.others.items() if reader_of(model) is Locality.HERE]
    named = ", ".join(f"`{name}`" for name in local if name != OFFLINE)
    models = f"These models answer here: {named}." if named else "No language model of yours runs there: none answers."
    said = "no provider of models elsewhere is sent what is said; a chat app still carries what is written in it."
    return f"This chat is marked `house`: {said} {models} `/house off` ends it."
