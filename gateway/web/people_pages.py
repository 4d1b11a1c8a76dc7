"""Views of people and rooms: pairing requests, guests, groups, routes, and messages without an answer."""

from collections.abc import Collection

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gateway.admission.policy import RefusalReason
from gateway.config.values import dotted
from gateway.control.admission_wire import (
    GroupOrder,
    PairOrder,
    RoomsOrder,
    RouteOrder,
    SilenceRow,
    SilencesOrder,
)
from gateway.web.errors import HttpError
from gateway.web.view_frame import ViewFrame, link

_SILENCES = 50
_LONGEST_ID = 100
_SETTINGS = {
    RefusalReason.NOT_FOR_US: "mention",
    RefusalReason.PERSON_NOT_ALLOWED: "people",
    RefusalReason.BOT: "bots",
    RefusalReason.STRANGER: "direct",
    RefusalReason.DIRECT_CLOSED: "direct",
}
"""Settings, by the last part of their keys, that would have had a message answered."""
_ASKED = ("channel", "account", "chat", "thread", "person", "space")

_DIRECT_ALONE = frozenset(
    {RefusalReason.STRANGER, RefusalReason.UNPAIRED, RefusalReason.UNCLAIMED, RefusalReason.DIRECT_CLOSED}
)
"""Refusals in direct chats."""


class PeoplePages(Struct, frozen=True):
    """The views below `/people`."""

    frame: ViewFrame

    def routes(self) -> list[Route]:
        get, post = self.frame.get, self.frame.post
        return [
            get("/people", self.people),
            get("/people/rooms", self.rooms),
            get("/people/silences", self.silences),
            post("/people/decide", self.decide),
        ]

    async def people(self, request: Request) -> Response:
        waiting = (await self.frame.ask(PairOrder("list"))).waiting
        guests = (await self.frame.ask(PairOrder("people"))).guests
        groups = (await self.frame.ask(GroupOrder("list"))).asking
        facts = {"tab": "People", "waiting": waiting, "guests": guests, "groups": groups}
        return await self.frame.show(request, "people.html", facts)

    async def rooms(self, request: Request) -> Response:
        """Show the groups with their rules, and the route of a message that is described in the query."""
        known = await self.frame.ask(RoomsOrder())
        facts: dict[str, object] = {"tab": "Rooms", "accounts": known.accounts, "groups": known.groups, "route": None}
        facts |= {"names": known.names}
        asked = {name: request.query_params.get(name, "")[:_LONGEST_ID].strip() or None for name in _ASKED}
        if asked["channel"] and asked["account"]:
            is_named = request.query_params.get("mention") == "yes"
            where = asked["chat"], asked["thread"], asked["person"], asked["space"]
            order = RouteOrder(asked["channel"], asked["account"], *where, mention=is_named)
            route = await self.frame.ask(order)
            facts["route"] = route
        return await self.frame.show(request, "people_rooms.html", facts)

    async def silences(self, request: Request) -> Response:
        found = (await self.frame.ask(SilencesOrder(request.query_params.get("chat") or None, _SILENCES))).silences
        asking = {each.place for each in (await self.frame.ask(GroupOrder("list"))).asking}
        rows = [(each, _remedy(each, asking), _route_link(each)) for each in found]
        names = (await self.frame.ask(RoomsOrder())).names
        facts = {"tab": "Unanswered", "silences": rows, "names": names}
        return await self.frame.show(request, "people_silences.html", facts)

    async def decide(self, _: Request, form: dict[str, str]) -> Response:
        """Decide about a pairing request, a guest or a group; who is let in was confirmed beside the button."""
        whom = form.get("whom", "")
        match form.get("act"):
            case "approve" if form.get("sure") == "yes":
                outcome = (await self.frame.ask(PairOrder("approve", whom))).outcome
            case "refuse":
                outcome = (await self.frame.ask(PairOrder("refuse", whom))).outcome
            case "revoke":
                outcome = (await self.frame.ask(PairOrder("revoke", whom))).outcome
            case "allow" if form.get("sure") == "yes":
                outcome = (await self.frame.ask(GroupOrder("allow", whom))).outcome
            case "close":
                outcome = (await self.frame.ask(GroupOrder("refuse", whom))).outcome
            case _:
                raise HttpError(400, "letting somebody in needs your confirmation: tick the box beside it")
        return self.frame.done(outcome, "/people")


def _remedy(silence: SilenceRow, asking: Collection[str]) -> tuple[str, str]:
    """Return what would have had such messages answered: an act with its object, or `setting` with its key."""
    place = ".".join(silence.address.split(".")[:3])
    if silence.reason == RefusalReason.UNPAIRED and silence.person:
        return "approve", silence.person
    if silence.reason == RefusalReason.GROUP_NOT_ALLOWED and place in asking:
        return "allow", place
    name = next((name for reason, name in _SETTINGS.items() if reason == silence.reason), "")
    channel, account, chat = (*place.split("."), "", "")[:3]
    group = () if name == "direct" else ("groups", chat)
    return ("setting", dotted(("channels", channel, account, *group, name))) if name else ("", "")


def _route_link(silence: SilenceRow) -> str:
    """Return the address at which the route of such a message is explained."""
    channel, account, chat, thread = (*silence.address.split("."), "", "", "")[:4]
    person = silence.person.partition(":")[2]
    group = "" if chat == person or silence.reason in _DIRECT_ALONE else chat  # Discord's direct chats have ids too
    return link("/people/rooms", channel=channel, account=account, person=person, chat=group, thread=thread) + "#route"
