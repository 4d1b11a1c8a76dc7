"""`/pair` and `/group`: the owner's decisions about people and groups that ask to be let in."""

from collections.abc import Iterator, Sequence

from gateway.admission.pairing import Pairing, describe_visitor, format_code
from gateway.commands.command import Command, CommandCall, Who
from gateway.commands.resources import CommandResources
from gateway.delivery.group_requests import GroupRequest, GroupRequests, quoted
from gateway.errors import PairingError, StoreError, StrandlineError, ToolError
from gateway.stores.admission import PairingRequest

_NO_GUESTS = "No guests were approved by pairing."
_GROUP_USAGE = "Use `/group`, `/group allow GROUP` or `/group refuse GROUP`."
_USAGE = "Use `/pair`, `/pair approve CODE`, `/pair refuse CODE`, `/pair revoke PERSON` or `/pair people`."


def pair_commands(parts: CommandResources) -> list[Command]:

    async def pair(call: CommandCall) -> str:
        act, _, what = call.arguments.partition(" ")
        try:
            return await _run_action(parts.pairing, act or "list", what.strip())
        except PairingError as exc:
            raise ToolError(f"{exc}.") from exc

    async def group(call: CommandCall) -> str:
        act, _, place = call.arguments.partition(" ")
        try:
            return await _decide(parts.groups, act.lower() or "list", place.strip())
        except StoreError:
            raise
        except StrandlineError as exc:
            raise ToolError(str(exc)) from exc

    guests = "list pairing requests, or approve, refuse or revoke a guest"
    groups = "list groups that are not allowed, allow one, or keep it closed"
    return [
        Command("pair", "[approve, refuse, revoke or people] [whom]", guests, Who.MAIN, False, pair),
        Command("group", "[allow or refuse] [group]", groups, Who.MAIN, False, group),
    ]


async def _run_action(pairing: Pairing, act: str, what: str) -> str:
    match act.lower(), what:
        case "list", "":
            return "\n".join(_request_lines(await pairing.waiting()))
        case "people", "":
            return "\n".join([f"- {describe_visitor(guest.visitor)}" for guest in await pairing.guests()]) or _NO_GUESTS
        case "approve", str(code) if code:
            return f"{await pairing.approve(code)}."
        case "refuse", str(code) if code:
            return f"{await pairing.refuse(code)}."
        case "revoke", str(person) if person:
            return f"{await pairing.revoke(person)}."
        case _:
            raise ToolError(_USAGE)


def _request_lines(waiting: Sequence[PairingRequest]) -> Iterator[str]:
    if not waiting:
        yield "No pairing requests."
        return
    for request in waiting:
        visitor = request.visitor
        yield f"- `{format_code(request.code)}` {describe_visitor(visitor)}, at {visitor.channel}.{visitor.account}"
    yield "\nPeople choose their own names: approve only those who gave you their code."


async def _decide(groups: GroupRequests, act: str, place: str) -> str:
    match act, place:
        case "list", "":
            return "\n".join(_group_lines(await groups.known()))
        case "allow", str(place) if place:
            return f"{await groups.allow(place)} is allowed: I answer there when I am mentioned. Write there again."
        case "refuse", str(place) if place:
            return f"{await groups.refuse(place)} stays closed, and I ask no more about it."
        case _:
            raise ToolError(_GROUP_USAGE)


def _group_lines(known: Sequence[GroupRequest]) -> Iterator[str]:
    if not known:
        yield "No groups ask. To allow one, add me to it and mention me there."
    for each in known:
        state = "refused" if each.is_refused else "waits for you"
        yield f"- {quoted(each.name, each.place)}: {state}; `/group allow {each.place}`"
