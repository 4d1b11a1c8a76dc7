"""Views of people and rooms: pairing requests, guests, groups, routes, and messages without an answer."""

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gateway.control.admission_wire import PairOrder, RoomsOrder, RouteOrder, SilencesOrder
from gateway.web.errors import HttpError
from gateway.web.view_frame import ViewFrame

_SILENCES = 50
_LONGEST_ID = 100
_ASKED = ("channel", "account", "chat", "thread", "person", "space")


@dataclass(frozen=True, slots=True)
class PeoplePages:
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
        return await self.frame.show(request, "people.html", {"tab": "People", "waiting": waiting, "guests": guests})

    async def rooms(self, request: Request) -> Response:
        """Show the groups with their rules, and the route of a message that is described in the query."""
        known = await self.frame.ask(RoomsOrder())
        facts: dict[str, object] = {"tab": "Rooms", "accounts": known.accounts, "groups": known.groups, "route": None}
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
        return await self.frame.show(request, "people_silences.html", {"tab": "Unanswered", "silences": found})

    async def decide(self, _: Request, form: dict[str, str]) -> Response:
        """Approve or refuse a pairing request, or revoke a guest; who is let in was confirmed beside the button."""
        match form.get("act"):
            case "approve" if form.get("sure") == "yes":
                order = PairOrder("approve", form.get("whom"))
            case "refuse":
                order = PairOrder("refuse", form.get("whom"))
            case "revoke":
                order = PairOrder("revoke", form.get("whom"))
            case _:
                raise HttpError(400, "letting somebody in needs your confirmation: tick the box beside it")
        return self.frame.done((await self.frame.ask(order)).outcome, "/people")
