"""`/pair`: the owner's decisions about pairing requests and guests."""

from collections.abc import Iterator, Sequence

from gateway.admission.pairing import Pairing, describe_visitor, format_code
from gateway.commands.command import Command, CommandCall, Who
from gateway.commands.resources import CommandResources
from gateway.errors import PairingError, ToolError
from gateway.stores.admission import PairingRequest

_USAGE = "Use `/pair`, `/pair approve CODE`, `/pair refuse CODE`, `/pair revoke PERSON` or `/pair people`."


def pair_commands(parts: CommandResources) -> list[Command]:

    async def run(call: CommandCall) -> str:
        act, _, what = call.arguments.partition(" ")
        try:
            return await _run_action(parts.pairing, act or "list", what.strip())
        except PairingError as exc:
            raise ToolError(f"{exc}.") from exc

    told = "list pairing requests, or approve, refuse or revoke a guest"
    return [Command("pair", "[approve, refuse, revoke or people] [whom]", told, Who.MAIN, False, run)]


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


_NO_GUESTS = "No guests were approved by pairing."
