"""The view of a check-up: its proposals with their differences, the owner's decisions, and the scores of notes."""

from collections import Counter
from collections.abc import Mapping

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gateway.control.checkup_wire import CheckupOrder
from gateway.control.stream_wire import CheckOrder
from gateway.web.view_frame import ViewFrame, act_given, number_given
from workspaces.memory.checkup.findings import FindingKind
from workspaces.memory.checkup.quality import WEIGHTS

SHOWN = 20
"""Proposals in one view."""
_SCORED, _MOST_SCORED = 15, 2_000
_KINDS = {str(kind): kind.in_words for kind in FindingKind}


class CheckupPages(Struct, frozen=True):
    """The view at `/agents/<agent>/memory/checkup`."""

    frame: ViewFrame

    def routes(self) -> list[Route]:
        path = "/agents/{agent}/memory/checkup"
        return [self.frame.get(path, self.checkup), self.frame.post(path, self.decide)]

    async def checkup(self, request: Request) -> Response:
        known = await self.frame.ask(CheckupOrder(agent=self.frame.agent(request)))
        counts = Counter(each.kind for each in known.proposals)
        kind = request.query_params.get("kind", "")
        wanted = [each for each in known.proposals if kind in {"", each.kind}]
        facts = {
            "tab": "Check-up",
            "known": known,
            "words": _KINDS,
            "kinds": [(name, words, counts[name]) for name, words in _KINDS.items() if counts[name]],
            "total": len(known.proposals),
            "shown": wanted[:SHOWN],
            "more": len(wanted[SHOWN:]),
            "trend": [(f"{each.at:%Y-%m-%d}", each.junk * 100) for each in known.trend],
            "parts": tuple(WEIGHTS),
            "scored": number_given(request, "scored", _SCORED, _MOST_SCORED),
        }
        return await self.frame.show(request, "memory_checkup.html", facts)

    async def decide(self, request: Request, form: dict[str, str]) -> Response:
        """Check the notes now, or decide about one proposal."""
        agent = self.frame.agent(request)
        if form.get("act") == "check":
            outcome = await self.frame.operator.follow(CheckOrder(agent))
        else:
            outcome = (await self.frame.ask(_decision(agent, form))).outcome
        return self.frame.done(outcome, f"/agents/{agent}/memory/checkup", kind=form.get("kind", ""))


def _decision(agent: str, form: Mapping[str, str]) -> CheckupOrder:
    """Return the order that a form gives. Raises HttpError 400."""
    marks = (form.get("mark", ""),)
    if form.get("act") == "edit":
        return CheckupOrder("accept", marks, form.get("text", "").replace("\r\n", "\n"), agent)
    return CheckupOrder(act_given(form, "accept", "refuse", "undo"), marks, None, agent)
