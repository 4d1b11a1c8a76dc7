"""Views of an agent's activity: plots of past days, and the hooks and tools that work beside it."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gateway.control.activity_wire import ActivityOrder, ActivityReport
from gateway.control.exam_wire import ExamOrder
from gateway.control.notes_wire import NotesOrder
from gateway.web.view_frame import ViewFrame

_DAYS = 60
"""Days of the plots of notes, tokens and costs."""
_RECEIPTS_SHOWN = 10


class Stack(Struct, frozen=True):
    """The bar of one day: its parts from below, each with its place among all causes, its top and its height."""

    day: str
    total: float
    parts: Sequence[tuple[int, float, float]]


class StackPlot(Struct, frozen=True):
    """Amounts by day and cause, as bars; their highest is 1."""

    causes: Sequence[str]
    most: float
    stacks: Sequence[Stack]


class ActivityPages(Struct, frozen=True):
    """The views `trends` and `tools` below `/agents/<agent>/work`."""

    frame: ViewFrame

    def routes(self) -> list[Route]:
        get, post, inside = self.frame.get, self.frame.post, "/agents/{agent}/work"
        return [
            get(f"{inside}/trends", self.trends),
            post(f"{inside}/exam", self.examine),
            get(f"{inside}/tools", self.tools),
        ]

    async def trends(self, request: Request) -> Response:
        agent, known = self.frame.agent(request), await self._activity(request, _DAYS)
        exams = await self.frame.ask(ExamOrder(agent, "list"))
        today = self.frame.now().astimezone(self.frame.zone).date()
        days = [today - timedelta(back) for back in range(_DAYS - 1, -1, -1)]
        facts = {
            "tab": "Trends",
            "known": known,
            "notes": await self._written(agent, days),
            "tokens": stacked(((each.day, each.cause, each.tokens) for each in known.spending), days),
            "money": stacked(((each.day, each.cause, each.money) for each in known.spending), days),
            "recall": [(_short(each.at), each.took_ms / max(each.asked, 1)) for each in known.recalls],
            "receipts": known.recalls[: -_RECEIPTS_SHOWN - 1 : -1],
            "exam": [(_short(each.at), each.found / max(each.asked, 1) * 100) for each in exams.trend],
            "sizes": [(_short(each.day), each.size / 1_000_000) for each in known.index_sizes],
        }
        return await self.frame.show(request, "work_trends.html", facts)

    async def examine(self, request: Request, _: Mapping[str, str]) -> Response:
        agent = self.frame.agent(request)
        report = await self.frame.ask(ExamOrder(agent))
        outcome = f"Search answered {report.found:,} of {report.asked:,} questions about the notes."
        return self.frame.done(outcome, f"/agents/{agent}/work/trends")

    async def tools(self, request: Request) -> Response:
        facts = {"tab": "Tools", "known": await self._activity(request, 0)}
        return await self.frame.show(request, "work_tools.html", facts)

    async def _activity(self, request: Request, days: int) -> ActivityReport:
        return await self.frame.ask(ActivityOrder(self.frame.agent(request), days))

    async def _written(self, agent: str, days: Sequence[date]) -> list[tuple[str, float]]:
        """Return how much was written on each of *days*, in bytes."""
        written = dict.fromkeys(days, 0)
        for each in (await self.frame.ask(NotesOrder("list", agent))).notes:
            if each.day in written:
                written[each.day] += each.size
        return [(_short(day), size) for day, size in written.items()]


def stacked(amounts: Iterable[tuple[date, str, float]], days: Sequence[date]) -> StackPlot:
    """Return the bars of *amounts*, one for each of *days*. Pure."""
    by_day: dict[date, dict[str, float]] = {day: {} for day in days}
    for day, cause, amount in amounts:
        if amount > 0 and day in by_day:
            by_day[day][cause] = amount
    causes = sorted({cause for each in by_day.values() for cause in each})
    most = max((sum(each.values()) for each in by_day.values()), default=0)
    return StackPlot(causes, most, [_stack(day, each, causes, most or 1) for day, each in by_day.items()])


def _stack(day: date, amounts: Mapping[str, float], causes: Sequence[str], most: float) -> Stack:
    below, parts = 0.0, []
    for number, cause in enumerate(causes):
        height = amounts.get(cause, 0) / most
        below += height
        if height:
            parts.append((number, 1 - below, height))
    return Stack(_short(day), sum(amounts.values()), parts)


def _short(day: date) -> str:
    return f"{day.day} {day:%b}"
