"""Views of an agent at work: what it waits for, its jobs, its conversations, and the gateway's health."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import groupby

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from gateway.commands.promises import Promises
from gateway.control.activity_wire import ActivityOrder, ActivityReport
from gateway.control.cron_wire import CronOrder, JobRow, RunRow
from gateway.control.exam_wire import AcceptIndexOrder, ExamOrder
from gateway.control.finding import findings_of, memory_findings, probe_findings
from gateway.control.notes_wire import NotesOrder
from gateway.control.quarantine_wire import QuarantineOrder
from gateway.control.settings_wire import OwnerSettingsOrder
from gateway.control.status_wire import AgentStatus, ProbeAnswer, ProbeOrder, Status, StatusOrder
from gateway.control.stream_wire import IndexOrder
from gateway.control.wire import ApprovalOrder, SessionsOrder, WaitingChange
from gateway.web.errors import HttpError
from gateway.web.view_frame import ViewFrame, act_given, day_given, number_given
from workspaces.access import AgentId

_RECORDS = 100
_MOST_RECORDS = 2_000
_SHOWN_RUNS = 5
_SHOWN_MATCHES = 50
_REMEDIES = {
    "approvals": ("approvals", "Decide"),
    "quarantine": ("health#quarantine", "Try again or delete"),
    "prompt": ("../memory/files", "Shorten the file"),
    "files": ("../memory/files", "See the files"),
    "history": ("../history", "See the history"),
    "unusable": ("tools", "See hooks and tools"),
    "channel": ("../../../people/rooms", "See the accounts"),
}
"""The view that has the remedy of a finding, below the agent's work, and its button."""
PromisesOf = Callable[[AgentId], Awaitable[Promises]]


@dataclass(frozen=True, slots=True)
class WorkPages:
    """The views below `/agents/<agent>/work`."""

    frame: ViewFrame
    promises_of: PromisesOf

    def routes(self) -> list[Route]:
        get, post, inside = self.frame.get, self.frame.post, "/agents/{agent}/work"
        return [
            get("/work", self.first),
            get(inside, self.overview),
            get(f"{inside}/approvals", self.approvals),
            post(f"{inside}/approvals", self.decide),
            get(f"{inside}/jobs", self.jobs),
            post(f"{inside}/jobs", self.change_job),
            get(f"{inside}/conversations", self.conversations),
            get(f"{inside}/conversation", self.conversation),
            get(f"{inside}/health", self.health),
            post(f"{inside}/health", self.mend),
            post(f"{inside}/quarantine", self.change_quarantine),
        ]

    async def first(self, _: Request) -> Response:
        return RedirectResponse(f"/agents/{next(iter(self.frame.login.agents), '')}/work", 303)

    async def overview(self, request: Request) -> Response:
        agent = self.frame.agent(request)
        facts = {
            "tab": "Overview",
            "status": await self._status(agent),
            "lanes": (await self.frame.ask(ActivityOrder(agent, 0))).lanes,
            "promises": await self.promises_of(AgentId(agent)),
        }
        return await self.frame.show(request, "work.html", facts)

    async def approvals(self, request: Request) -> Response:
        agent = self.frame.agent(request)
        listed = (await self.frame.ask(ApprovalOrder("list", agent=agent))).changes
        changes = [await self._whole(each, agent) for each in listed]
        return await self.frame.show(request, "work_approvals.html", {"tab": "Approvals", "changes": changes})

    async def decide(self, request: Request, form: dict[str, str]) -> Response:
        agent, number = self.frame.agent(request), _number(form)
        order = ApprovalOrder(act_given(form, "approve", "refuse"), number, agent)
        return self.frame.done((await self.frame.ask(order)).outcome, f"/agents/{agent}/work/approvals")

    async def jobs(self, request: Request) -> Response:
        agent = self.frame.agent(request)
        rows = (await self.frame.ask(CronOrder("list", agent))).jobs
        jobs = [(each, await self._runs(each)) for each in rows]
        heartbeat = (await self._status(agent)).heartbeat
        return await self.frame.show(request, "work_jobs.html", {"tab": "Jobs", "jobs": jobs, "heartbeat": heartbeat})

    async def change_job(self, request: Request, form: dict[str, str]) -> Response:
        agent, number = self.frame.agent(request), _number(form)
        order = CronOrder(act_given(form, "run", "enable", "remove"), agent, number)
        return self.frame.done((await self.frame.ask(order)).outcome, f"/agents/{agent}/work/jobs")

    async def conversations(self, request: Request) -> Response:
        """List the conversations, or find words in them."""
        agent, words = self.frame.agent(request), request.query_params.get("q", "").strip()
        facts: dict[str, object] = {"tab": "Conversations", "matches": (), "sessions": (), "lanes": (), "told": ""}
        if words:
            since, until = day_given(request, "since"), day_given(request, "until")
            order = SessionsOrder("search", agent, query=words, since=since, until=until, limit=_SHOWN_MATCHES)
            found = await self.frame.ask(order)
            facts |= {"matches": found.matches, "told": found.notice}
        else:
            listed = await self.frame.ask(SessionsOrder("list", agent))
            facts["sessions"] = sorted(listed.sessions, key=lambda each: each.last, reverse=True)
            facts["lanes"] = (await self.frame.ask(ActivityOrder(agent, 0))).lanes
        return await self.frame.show(request, "work_conversations.html", facts)

    async def conversation(self, request: Request) -> Response:
        agent, session = self.frame.agent(request), request.query_params.get("session", "")
        most = number_given(request, "most", _RECORDS, _MOST_RECORDS)
        shown = await self.frame.ask(SessionsOrder("show", agent, session, limit=most))
        facts = {
            "tab": "Conversations",
            "session": session,
            "records": shown.records,
            "damaged": shown.damaged,
            "more": most * 4 if len(shown.records) >= most and most < _MOST_RECORDS else 0,
        }
        return await self.frame.show(request, "work_conversation.html", facts)

    async def health(self, request: Request) -> Response:
        return await self._health(request, ())

    async def mend(self, request: Request, form: dict[str, str]) -> Response:
        """Ask every model and platform, or apply the remedy of a finding about the index."""
        agent = self.frame.agent(request)
        match act_given(form, "probe", "index", "accept"):
            case "probe":
                return await self._health(request, (await self.frame.ask(ProbeOrder()),))
            case "index":
                outcome = await self.frame.operator.index(IndexOrder(agent), lambda _done, _total: None)
            case _:
                is_done = await self.frame.ask(AcceptIndexOrder(agent))
                outcome = "The changed index is in use." if is_done else "No change of the index was held back."
        return self.frame.done(outcome, f"/agents/{agent}/work/health")

    async def _health(self, request: Request, probed: Sequence[ProbeAnswer]) -> Response:
        agent = self.frame.agent(request)
        status = await self.frame.ask(StatusOrder())
        memory = next((each.memory for each in status.agents if each.agent == agent), None)
        findings = [finding for each in probed for finding in probe_findings(each)]
        findings += [*findings_of(status, *probed), *(memory_findings(agent, memory) if memory else ())]
        facts = {
            "tab": "Health",
            "status": status,
            "memory": memory,
            "findings": findings,
            "is_probed": bool(probed),
            "remedies": _REMEDIES,
            "quarantine": await self.frame.ask(QuarantineOrder("list")),
        }
        return await self.frame.show(request, "work_health.html", facts)

    async def change_quarantine(self, request: Request, form: dict[str, str]) -> Response:
        agent, row = self.frame.agent(request), form.get("id")
        order = QuarantineOrder("drop", row) if form.get("act") == "drop" else QuarantineOrder("retry", row)
        return self.frame.done((await self.frame.ask(order)).outcome, f"/agents/{agent}/work/health")

    # --- parts

    async def _status(self, agent: str) -> AgentStatus:
        status: Status = await self.frame.ask(StatusOrder())
        return next(each for each in status.agents if each.agent == agent)

    async def _whole(self, change: WaitingChange, agent: str) -> WaitingChange:
        (shown,) = (await self.frame.ask(ApprovalOrder("show", change.number, agent))).changes
        return shown

    async def _runs(self, job: JobRow) -> Sequence[RunRow]:
        return (await self.frame.ask(CronOrder("history", job.agent, job.number))).runs[:_SHOWN_RUNS]


def _number(form: Mapping[str, str]) -> int:
    """Return the number in a form. Raises HttpError 400."""
    text = form.get("number", "")
    if not (text.isascii() and text.isdecimal() and len(text) < 12):
        raise HttpError(400, "the request is not one of the page's")
    return int(text)


@dataclass(frozen=True, slots=True)
class SettingsPages:
    """The views below `/settings`."""

    frame: ViewFrame

    def routes(self) -> list[Route]:
        return [self.frame.get("/settings", self.settings), self.frame.post("/settings", self.change)]

    async def settings(self, request: Request) -> Response:
        rows = (await self.frame.ask(OwnerSettingsOrder("list"))).rows
        groups = [(subject, list(each)) for subject, each in groupby(rows, key=lambda row: row.subject)]
        return await self.frame.show(request, "settings.html", {"groups": groups})

    async def change(self, _: Request, form: dict[str, str]) -> Response:
        is_sure = form.get("sure") == "yes"
        order = OwnerSettingsOrder("set", form.get("key", ""), form.get("value", ""), is_sure)
        return self.frame.done((await self.frame.ask(order)).outcome, "/settings")


_DAYS = 60
"""Days of the plots of notes, tokens and costs."""
_RECEIPTS_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Stack:
    """The bar of one day: its parts from below, each with its place among all causes, its top and its height."""

    day: str
    total: float
    parts: Sequence[tuple[int, float, float]]


@dataclass(frozen=True, slots=True)
class StackPlot:
    """Amounts by day and cause, as bars; their highest is 1."""

    causes: Sequence[str]
    most: float
    stacks: Sequence[Stack]


@dataclass(frozen=True, slots=True)
class ActivityPages:
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
