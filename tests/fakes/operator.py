"""Small gateway for tests of the operator's commands: stores every message and finds it again."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from msgspec import structs

from adapters.abilities import MenuEntry
from gateway.admission.explanation import Explanation
from gateway.cli.invocation import Composed
from gateway.config import Config
from gateway.control.activity_wire import ActivityOrder, ActivityReport
from gateway.control.admission_wire import (
    Applicant,
    ClaimAnswer,
    ClaimOrder,
    ClaimRow,
    GroupAnswer,
    GroupOrder,
    GuestRow,
    PairAnswer,
    PairOrder,
    RoomsAnswer,
    RoomsOrder,
    RouteOrder,
    SilenceRow,
    SilencesAnswer,
    SilencesOrder,
)
from gateway.control.browsers import BrowserAnswer, BrowserOrder, BrowserRow
from gateway.control.checkup_wire import CheckupAnswer, CheckupOrder, ShownProposal
from gateway.control.cron_wire import CronAnswer, CronOrder, JobRow, RunRow
from gateway.control.exam_wire import AcceptIndexOrder, ExamOrder, ExamReport
from gateway.control.notes_wire import NoteRow, NotesAnswer, NotesOrder
from gateway.control.operator_api import OnReply, OnSign, ignore_sign
from gateway.control.order import Answer, Answers, LongOrder, Order, Progress, ShortAnswers, ignore_progress
from gateway.control.probe_wire import ProbeAnswer, ProbeOrder
from gateway.control.quarantine_wire import QuarantineAnswer, QuarantineLine, QuarantineOrder
from gateway.control.settings_wire import OwnerSettingsAnswer, OwnerSettingsOrder
from gateway.control.status_wire import AgentStatus, MemoryOrder, MemoryStatus, Status, StatusOrder
from gateway.control.stream_wire import ChatOrder, ChatSign, CheckOrder, CommandsAnswer, CommandsOrder, IndexOrder
from gateway.control.tools_wire import ToolAnswer, ToolOrder
from gateway.control.wire import (
    ApprovalAnswer,
    ApprovalOrder,
    HistoryAnswer,
    HistoryCommit,
    HistoryFile,
    HistoryOrder,
    MemorySearchAnswer,
    MemorySource,
    OriginOrder,
    OriginStep,
    SearchHit,
    SearchOrder,
    SessionMatch,
    SessionRecord,
    SessionRow,
    SessionsAnswer,
    SessionsOrder,
    UsedHit,
    WaitingChange,
    Why,
    WhyOrder,
)
from gateway.errors import ConfigError, PairingError, ScheduleError, StrandlineError
from gateway.home import Home

NOTE = "memory/2026-03-03.md"
NOTED_AT = datetime(2026, 3, 3, 9, 30, tzinfo=UTC)


class FakeOperator:
    """Agents that echo their input, with a memory searched by substring."""

    def __init__(self, agents: tuple[str, ...] = ("main",)) -> None:
        self.said: dict[str, list[str]] = {agent: [] for agent in agents}
        self.decided: set[int] = set()
        self.signed_in: list[BrowserRow] = []
        self.jobs: list[JobRow] = []
        self.let_in = False
        self.ready = True
        self.standby = False
        self.loading: list[str] = []
        self.may_answer = asyncio.Event()
        """While cleared, answers are held back."""
        self.may_answer.set()
        self.was_left = asyncio.Event()
        """Set when a chat was given up by its reader."""
        self.asked = asyncio.Event()
        self.foreseen: list[str] = []
        self.earlier: list[str] = []
        """Messages that waited for a reader."""
        """Set when a message has arrived."""

    async def foresee(self, path: str) -> None:
        self.foreseen.append(path)

    async def ask(self, order: Order[Answer]) -> Answer:
        answer: Answer = await self.answers.short[type(order)](order)
        return answer

    @property
    def answers(self) -> Answers:
        return Answers(self._short, {IndexOrder: self.index, CheckOrder: self.check})

    async def follow(self, order: LongOrder, progress: Progress = ignore_progress) -> str:
        return await self.answers.long[type(order)](order, progress)

    @property
    def _short(self) -> ShortAnswers:
        return {
            StatusOrder: self.status,
            SearchOrder: self.search,
            WhyOrder: self.why,
            OriginOrder: self.origin,
            MemoryOrder: self.memory_status,
            HistoryOrder: self.history,
            NotesOrder: self.notes,
            SessionsOrder: self.sessions,
            ApprovalOrder: self.approvals,
            QuarantineOrder: self.quarantine,
            CronOrder: self.cron,
            ToolOrder: self.tools,
            BrowserOrder: self.browsers,
            ClaimOrder: self.claim,
            PairOrder: self.pair,
            GroupOrder: self.groups,
            ActivityOrder: self.activity,
            RoomsOrder: self.rooms,
            ProbeOrder: self.probe,
            RouteOrder: self.explain,
            SilencesOrder: self.silences,
            CommandsOrder: self.commands,
            OwnerSettingsOrder: self.owner_settings,
            ExamOrder: self.exam,
            AcceptIndexOrder: self.accept_index,
            CheckupOrder: self.checkup,
        }

    async def status(self, _: StatusOrder) -> Status:
        agents = tuple(AgentStatus(agent, "offline", self._memory(agent)) for agent in self.said)
        return Status(
            "0.0",
            "/home",
            self.ready,
            1.5,
            "Europe/Berlin",
            "owner.time_zone",
            agents,
            reasons=self._counts(),
            approvals_waiting=len(list(self._waiting(None))),
        )

    async def commands(self, _: CommandsOrder) -> CommandsAnswer:
        return CommandsAnswer((MenuEntry("new", "", "Start a new conversation.", False),))

    async def chat(self, order: ChatOrder, on_reply: OnReply, on_sign: OnSign = ignore_sign) -> str:
        agent = self._agent(order.agent)
        while self.earlier:
            await on_reply(self.earlier.pop(0), False)
        if order.listens:
            await asyncio.Event().wait()
        self.said[agent].append(order.text)
        self.asked.set()
        try:
            await self.may_answer.wait()
        except asyncio.CancelledError:
            self.was_left.set()
            raise
        if order.text == "fail":
            raise StrandlineError("the model is down")
        if order.text == "wait":
            on_sign(ChatSign("postponed", "the model is away; your message is kept"))
            return agent
        on_sign(ChatSign("tool", "memory_search"))
        on_sign(ChatSign("draft", "You said: "))
        for line in order.text.splitlines():
            await on_reply(f"You said: {line}", True)
        return agent

    async def search(self, order: SearchOrder) -> MemorySearchAnswer:
        said = self.said[self._agent(order.agent)]
        if order.as_of and order.as_of < NOTED_AT.date():
            return MemorySearchAnswer((), "keyword", f"as of {order.as_of}")
        hits = [self._hit(number, text) for number, text in enumerate(said, 1) if order.query in text]
        return MemorySearchAnswer(tuple(hits[: order.max_results]), "keyword", "found by keywords only: no embedder")

    async def why(self, order: WhyOrder) -> Why:
        said = self.said[self._agent(order.agent)]
        used = [UsedHit(f"{NOTE}#L{line}-L{line}", "search", 0.6, 0.5, 2.0, "noted") for line in range(1, len(said))]
        return Why(said[-1] if said else "", tuple(used))

    async def origin(self, order: OriginOrder) -> MemorySource:
        """The note on line N came from message N."""
        said = self.said[self._agent(order.agent)]
        number = int(order.citation.partition("#L")[2])
        steps = [OriginStep(f"{number:010}", NOTED_AT, f"note {text}", "main", str(number), text) for text in said]
        return MemorySource(order.citation, f"- {said[number - 1]}", tuple(steps[number - 1 : number]))

    async def check(self, order: CheckOrder, progress: Progress) -> str:
        self._agent(order.agent)
        progress(1, 2)
        progress(2, 2)
        return "nothing is wrong"

    async def index(self, order: IndexOrder, progress: Progress) -> str:
        total = len(self.said[self._agent(order.agent)])
        for done in range(total + 1):
            progress(done, total)
        if "unreadable" in self.said[self._agent(order.agent)]:
            raise StrandlineError("the workspace cannot be read")
        return f"{total} entries"

    async def accept_index(self, order: AcceptIndexOrder) -> bool:
        return False

    async def checkup(self, order: CheckupOrder) -> CheckupAnswer:
        self._agent(order.agent)
        proposal = ShownProposal("1a2b3c4d", "double", "MEMORY.md#L3", "it says what MEMORY.md#L2 says", "-- Ann lives")
        return CheckupAnswer(entries=2, found={"double": 1}, proposals=(proposal,), outcome=" ".join(order.marks))

    async def exam(self, order: ExamOrder) -> ExamReport:
        self._agent(order.agent)
        return ExamReport(4, 3, 2, missed=("Where does Ann live? (MEMORY.md#L3)",))

    async def memory_status(self, order: MemoryOrder) -> MemoryStatus:
        return self._memory(self._agent(order.agent))

    async def history(self, order: HistoryOrder) -> HistoryAnswer:
        """Every message is a change of the one note; a revision is its number in ten digits."""
        said = self.said[self._agent(order.agent)]
        if order.act in {"restore", "bundle"}:
            return HistoryAnswer(outcome=f"{order.act} {order.path} {order.revision}")
        commits = [
            HistoryCommit(f"{number:010}", NOTED_AT, f"note {text}", "main", str(number), (NOTE,))
            for number, text in enumerate(said, 1)
        ]
        if order.act == "log":
            return HistoryAnswer(tuple(commits[::-1][: order.limit]))
        wanted = [commit for commit in commits if commit.revision == order.revision]
        if not wanted:
            raise StrandlineError(f"no revision {order.revision}")
        file = HistoryFile(NOTE, 1, 0, f"--- /dev/null\n+++ b/{NOTE}\n+{wanted[0].subject} to {order.newer}\n")
        return HistoryAnswer(tuple(wanted), (file,), omitted=2)

    async def notes(self, order: NotesOrder) -> NotesAnswer:
        return NotesAnswer((NoteRow(NOTE, "", NOTED_AT.date(), 20),) if order.act == "list" else ())

    async def sessions(self, order: SessionsOrder) -> SessionsAnswer:
        """Every agent has one conversation, `main`, one byte per message; an export is sent message by message."""
        if order.act == "list":
            rows = [SessionRow(name, "main", None, len(said), len(said), NOTED_AT) for name, said in self.said.items()]
            return SessionsAnswer(sessions=tuple(row for row in rows if order.agent in {None, row.agent}))
        said = self.said[self._agent(order.agent)]
        if order.act == "search":
            found = [text for text in said if (order.query or "") in text]
            matches = [SessionMatch("sessions/main.jsonl#L1-L1", order.since, "", text, "next") for text in found]
            return SessionsAnswer(matches=tuple(matches[: order.limit]), notice=f"until {order.until}")
        if order.session != "main":
            raise StrandlineError(f"no conversation {order.session!r}")
        part = said[-order.limit :] if order.act == "show" else said[order.offset : order.offset + 1]
        if "fail" in part:
            raise StrandlineError("the transcript cannot be read")
        kinds = {"call": "call", "used": "note"}
        records = [SessionRecord(NOTED_AT, kinds.get(text[:4], "message"), "Owner", text) for text in part]  # type: ignore[arg-type]
        goes_on = order.act == "export" and order.offset + 1 < len(said)
        lines = tuple(f"{text!r}\n" for text in part)
        return SessionsAnswer((), tuple(records), lines, (), 1, 0, order.offset + 1 if goes_on else None)

    async def approvals(self, order: ApprovalOrder) -> ApprovalAnswer:
        """Every message is a pending change of the note, numbered over all agents, until it is decided."""
        if order.act == "list":
            return ApprovalAnswer(tuple(self._waiting(order.agent)))
        found = [change for change in self._waiting(order.agent) if change.number == order.number]
        if not found:
            raise StrandlineError(f"there is no change #{order.number}")
        if order.act == "show":
            return ApprovalAnswer((structs.replace(found[0], diff=f"+{found[0].reason}"),))
        self.decided.add(found[0].number)
        return ApprovalAnswer(outcome=f"{order.act} #{order.number}")

    async def quarantine(self, order: QuarantineOrder) -> QuarantineAnswer:
        """Every message is in quarantine, named by its position, until it is decided."""
        said = enumerate(text for each in self.said.values() for text in each)
        rows = [QuarantineLine(str(n), "message", "crashed_message", "why", NOTED_AT, text) for n, text in said]
        if order.act == "list":
            return QuarantineAnswer(tuple(rows))
        if order.id not in {row.id for row in rows}:
            raise StrandlineError(f"there is no row {order.id!r}")
        return QuarantineAnswer(outcome=f"{order.act} {order.id}")

    def _waiting(self, agent: str | None) -> Iterator[WaitingChange]:
        everything = [(name, text) for name, said in self.said.items() for text in said]
        for number, (name, text) in enumerate(everything, 1):
            if agent in {None, name} and number not in self.decided:
                yield WaitingChange(number, name, NOTE, text, "main/main", str(number), NOTED_AT, NOTED_AT)

    async def browsers(self, order: BrowserOrder) -> BrowserAnswer:
        match order.act:
            case "link":  # the code's recipient signs in with it immediately
                self.signed_in.append(BrowserRow(f"browser{len(self.signed_in) + 1}", NOTED_AT, NOTED_AT))
                return BrowserAnswer(code="ABCDE-FGHJK")
            case "sessions":
                return BrowserAnswer(sessions=tuple(self.signed_in))
        rest = [each for each in self.signed_in if order.session not in {None, each.session}]
        out, self.signed_in = len(self.signed_in) - len(rest), rest
        return BrowserAnswer(outcome=f"{out} signed out")

    async def cron(self, order: CronOrder) -> CronAnswer:
        """Store added jobs without ever running them."""
        if order.act == "add":
            row = JobRow(
                len(self.jobs) + 1,
                order.agent or "main",
                order.when,
                order.zone or "UTC",
                order.what,
                order.in_main,
                order.private,
                "you",
                is_enabled=True,
                next_slot=NOTED_AT,
                last_slot=None,
                failures=0,
                line=f"{len(self.jobs) + 1}. {order.when}: {order.what}",
            )
            self.jobs.append(row)
            return CronAnswer((row,), outcome=f"job {row.number} added")
        if order.act == "list":
            return CronAnswer(tuple(job for job in self.jobs if order.agent in {None, job.agent}))
        if not any(job.number == order.number for job in self.jobs):
            raise ScheduleError(f"there is no job {order.number}; the jobs are: none")
        if order.act == "history":
            return CronAnswer(runs=(RunRow(NOTED_AT, "silent", "t1", "2026-03-03 09:30 silent (turn t1)"),))
        return CronAnswer(outcome=f"{order.act} {order.number}: done")

    async def tools(self, order: ToolOrder) -> ToolAnswer:
        return ToolAnswer(text=f"{order.act} {order.name} {order.arguments} of {order.agent}")

    async def claim(self, order: ClaimOrder) -> ClaimAnswer:
        return ClaimAnswer((ClaimRow("telegram.home", "ABCDE-23456"),) if order.account is None else ())

    async def probe(self, _: ProbeOrder) -> ProbeAnswer:
        return ProbeAnswer()

    async def pair(self, order: PairOrder) -> PairAnswer:
        """One request is pending, with the code AAAAA-BBBBB, until that is approved."""
        eve = ("telegram:99", "Eve \x1b[31m", "telegram.home")
        if order.act == "list":
            waits = Applicant("AAAAA-BBBBB", *eve, NOTED_AT, NOTED_AT)
            return PairAnswer(waiting=() if self.let_in else (waits,))
        if order.act == "people":
            return PairAnswer(guests=(GuestRow(*eve, NOTED_AT),) if self.let_in else ())
        if order.what not in {"AAAAA-BBBBB", "telegram:99"}:
            raise PairingError(f"nobody waits as {order.what}")
        self.let_in = order.act == "approve"
        return PairAnswer(outcome=f"{order.act} {order.what}: done")

    async def owner_settings(self, _: OwnerSettingsOrder) -> OwnerSettingsAnswer:
        return OwnerSettingsAnswer()

    async def groups(self, _: GroupOrder) -> GroupAnswer:
        return GroupAnswer()

    async def activity(self, _: ActivityOrder) -> ActivityReport:
        return ActivityReport()

    async def rooms(self, _: RoomsOrder) -> RoomsAnswer:
        return RoomsAnswer()

    async def explain(self, order: RouteOrder) -> Explanation:
        """Admit every sender that mentions us."""
        facts = "main", f"group:{order.channel}.{order.account}.{order.chat}", "group", f"roles {order.roles}"
        refusal = () if order.mention else ("not_for_us", f"{order.person} did not mention it", "mention it")
        return Explanation(*facts, order.mention, *refusal)

    async def silences(self, order: SilencesOrder) -> SilencesAnswer:
        rows = [
            SilenceRow(NOTED_AT, f"telegram.home.{chat}", "telegram:99", "rate", 2, f"too fast in {chat}", "wait")
            for chat in ("-100", "-200")
            if order.chat in {None, chat}
        ]
        return SilencesAnswer(tuple(rows[: order.limit]))

    def _agent(self, agent: str | None) -> str:
        wanted = agent or next(iter(self.said))
        if wanted not in self.said:
            raise ConfigError(f"no agent {wanted!r}; the agents are: {', '.join(self.said)}")
        return wanted

    def _memory(self, agent: str) -> MemoryStatus:
        return MemoryStatus(len(self.said[agent]), "keyword", "no embedder", {"memory/photo.md": "not UTF-8"})

    def _counts(self) -> Mapping[str, int]:
        return {"refused.stranger": 2}

    @staticmethod
    def _hit(line: int, text: str) -> SearchHit:
        return SearchHit(NOTE, line, line, 1.0 / line, text, f"{NOTE}#L{line}-L{line}")


class FakeGateway:
    """Composes a `FakeOperator` in place of a command's gateway, and records its start and stop."""

    def __init__(self, operator: FakeOperator) -> None:
        self.operator = operator
        self.with_channels: list[bool] = []
        """The composition options of each call."""
        self.running = asyncio.Event()
        self.stopped = asyncio.Event()

    @asynccontextmanager
    async def __call__(
        self, home: Home, config: Config, environ: Mapping[str, str], *, channels: bool
    ) -> AsyncIterator[Composed]:
        self.with_channels.append(channels)
        self.operator.may_answer = asyncio.Event()  # a stopped gateway answers nothing
        yield Composed(self.operator, self.operator, self._run)
        self.stopped.set()

    async def _run(self, stop: asyncio.Event) -> None:
        self.running.set()
        self.operator.may_answer.set()
        await stop.wait()
