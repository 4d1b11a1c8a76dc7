"""Views of an agent at work: its open questions, its jobs, its conversations, and the gateway's health."""

from collections.abc import Awaitable, Callable, Mapping, Sequence

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gateway.commands.promises import Promises
from gateway.control.activity_wire import ActivityOrder
from gateway.control.cron_wire import CronOrder, JobRow, RunRow
from gateway.control.exam_wire import AcceptIndexOrder
from gateway.control.finding import findings_of, memory_findings, probe_findings
from gateway.control.probe_wire import ProbeAnswer, ProbeOrder
from gateway.control.quarantine_wire import QuarantineOrder
from gateway.control.status_wire import AgentStatus, Status, StatusOrder
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


class WorkPages(Struct, frozen=True):
    """The views below `/agents/<agent>/work`."""

    frame: ViewFrame
    promises_of: PromisesOf

    def routes(self) -> list[Route]:
        get, post, inside = self.frame.get, self.frame.post, "/agents/{agent}/work"
        return [
            self.frame.shorthand("work"),
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
                outcome = await self.frame.operator.follow(IndexOrder(agent))
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
