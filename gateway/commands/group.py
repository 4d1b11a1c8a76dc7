"""`/group`: the owner's decisions about groups that the bot was added to."""

from collections.abc import Iterator, Sequence

from gateway.commands.command import Command, CommandCall, Who
from gateway.commands.resources import CommandResources
from gateway.delivery.group_requests import GroupRequest, GroupRequests
from gateway.delivery.owner_notices import quoted
from gateway.errors import StoreError, StrandlineError, ToolError

_USAGE = "Use `/group`, `/group allow GROUP` or `/group refuse GROUP`."


def group_commands(parts: CommandResources) -> list[Command]:

    async def run(call: CommandCall) -> str:
        act, _, place = call.arguments.partition(" ")
        try:
            return await _decide(parts.groups, act.lower() or "list", place.strip())
        except StoreError:
            raise
        except StrandlineError as exc:
            raise ToolError(str(exc)) from exc

    told = "list groups that are not allowed, allow one, or keep it closed"
    return [Command("group", "[allow or refuse] [group]", told, Who.MAIN, False, run)]


async def _decide(groups: GroupRequests, act: str, place: str) -> str:
    match act, place:
        case "list", "":
            return "\n".join(_lines(await groups.known()))
        case "allow", str(place) if place:
            return f"{await groups.allow(place)} is allowed: I answer there when I am mentioned. Write there again."
        case "refuse", str(place) if place:
            return f"{await groups.refuse(place)} stays closed, and I ask no more about it."
        case _:
            raise ToolError(_USAGE)


def _lines(known: Sequence[GroupRequest]) -> Iterator[str]:
    if not known:
        yield "No groups ask. To allow one, add me to it and mention me there."
    for each in known:
        state = "refused" if each.is_refused else "waits for you"
        yield f"- {quoted(each.name, each.place)}: {state}; `/group allow {each.place}`"
