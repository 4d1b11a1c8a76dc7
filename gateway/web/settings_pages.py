"""Views of the settings that people change."""

from collections.abc import Iterator
from itertools import groupby

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gateway.control.admission_wire import RoomsAnswer, RoomsOrder
from gateway.control.settings_wire import OwnerSettingsOrder
from gateway.web.view_frame import ViewFrame


class SettingsPages(Struct, frozen=True):
    """The views below `/settings`."""

    frame: ViewFrame

    def routes(self) -> list[Route]:
        return [self.frame.get("/settings", self.settings), self.frame.post("/settings", self.change)]

    async def settings(self, request: Request) -> Response:
        rows = (await self.frame.ask(OwnerSettingsOrder("list"))).rows
        known = await self.frame.ask(RoomsOrder())
        titles = dict(_titles(known))
        groups = [
            (titles.get(subject, subject), list(each)) for subject, each in groupby(rows, key=lambda row: row.subject)
        ]
        return await self.frame.show(request, "settings.html", {"groups": groups})

    async def change(self, _: Request, form: dict[str, str]) -> Response:
        is_sure = form.get("sure") == "yes"
        order = OwnerSettingsOrder("set", form.get("key", ""), form.get("value", ""), is_sure)
        return self.frame.done((await self.frame.ask(order)).outcome, "/settings")


def _titles(known: RoomsAnswer) -> Iterator[tuple[str, str]]:
    """Yield the subject of each group's settings, and its title with the group's name if one is known."""
    for each in known.groups:
        account = each.account.partition(".")[2]
        if name := known.names.get(f"{each.account}.{each.chat}"):
            yield f"Group {each.chat} at {account}", f"Group {name} ({each.chat}) at {account}"
