from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, get_type_hints
from zoneinfo import ZoneInfo

import pytest

from adapters.channel import Address
from gateway.agent.write_policy import ApprovalReason
from gateway.app.app import App
from gateway.config import read_config
from gateway.control.admission_wire import PairOrder
from gateway.control.browsers import BrowserOrder
from gateway.control.cron_wire import CronOrder
from gateway.control.exam_wire import ExamOrder
from gateway.control.operator import SEARCH
from gateway.control.operator_api import LocalApi
from gateway.control.order import LongOrder, Order, Progress, answer_of, path_of
from gateway.control.quarantine_wire import QuarantineOrder
from gateway.control.status_wire import StatusOrder
from gateway.control.wire import ApprovalOrder, SearchOrder
from gateway.stores.admission import PairingRequest, Visitor
from gateway.stores.quarantine import CRASHED_REPLY
from gateway.stores.rows import Outgoing, Proposal
from tests.fakes.operator import FakeOperator
from tests.journeys.house import ENVIRON, make_home, running
from workspaces.memory.client import WorkerClient
from workspaces.records import field_names

BERLIN = ZoneInfo("Europe/Berlin")


async def test_each_order_is_answered_by_a_function_of_its_types(tmp_path: Path) -> None:
    """The table pairs every kind with a function that takes it and returns its answer, at a path of its own."""
    kinds = {
        kind.__name__
        for kind in (*Order.__subclasses__(), *LongOrder.__subclasses__())
        if kind is not LongOrder and kind.__module__.startswith("gateway.")
    }
    async with running(make_home(tmp_path / "home")) as app:
        operators: tuple[LocalApi, ...] = (app.operator, FakeOperator())
        for answers in (operator.answers for operator in operators):
            every = [*answers.short, *answers.long]
            assert {kind.__name__ for kind in every} == kinds
            assert len({path_of(kind) for kind in every}) == len(every)
            for kind, function in answers.short.items():
                hints = get_type_hints(function)
                assert (hints.pop("return"), *hints.values()) == (answer_of(kind), kind)
            for long, follow in answers.long.items():
                hints = get_type_hints(follow)
                assert (hints.pop("return"), *hints.values()) == (str, long, Progress)


async def test_a_search_that_arrives_starts_the_memory_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything that answers it is loaded; another order starts none, as a worker takes 100 MB."""
    woken: list[WorkerClient] = []

    async def wake(worker: WorkerClient, folder: Path | None = None) -> None:
        woken.append(worker)

    monkeypatch.setattr(WorkerClient, "wake", wake)
    assert path_of(SearchOrder) == SEARCH
    async with running(make_home(tmp_path / "home")) as app:
        await app.operator.foresee(path_of(StatusOrder))
        assert woken == []
        await app.operator.foresee(SEARCH)
        assert len(woken) == 1


async def test_times_are_in_the_owners_zone(tmp_path: Path) -> None:
    """An approval, a pairing request, a guest, a browser, a quarantined message, an examination and a job."""
    orders: list[Order[Any]] = [
        ApprovalOrder("list", None, None),
        PairOrder("list"),
        PairOrder("people"),
        BrowserOrder("sessions"),
        QuarantineOrder("list"),
        ExamOrder(act="list"),
        CronOrder("list"),
        StatusOrder(),
    ]
    home = make_home(tmp_path / "home")
    with home.lock("a test"):
        async with App.open(home, read_config(home.config_file), ENVIRON, channels=True) as app:
            await _fill(app)
    (home.agent("main").workspace / "MEMORY.md").write_text("- Ann's phone number is 555 0199\n", "utf-8")
    async with running(home) as app:
        await app.operator.ask(ExamOrder())
        for order in orders:
            times = list(_times(await app.operator.ask(order)))
            assert times or isinstance(order, StatusOrder), order
            assert [each.tzinfo for each in times] == [BERLIN] * len(times), order
        exams = await app.operator.ask(ExamOrder(act="list"))
        assert exams.before[0].startswith(f"{exams.trend[0].at:%Y-%m-%d %H:%M}  ")


async def _fill(app: App) -> None:
    home, now = app.parts.resources.home, app.parts.resources.home.clock.now()
    chat = Address("telegram", "home", "9")
    proposal = Proposal("main", "MEMORY.md", None, "a", ApprovalReason.BEHAVIOUR, "main", None, None)
    _, reply = await home.store.changes.propose(proposal, now + timedelta(days=1), lambda _: Outgoing(chat, "asked"))
    assert reply is not None
    assert await home.store.quarantine.add(CRASHED_REPLY, reply.id, "it crashed")
    for number in ("8", "9"):
        request = PairingRequest(
            Visitor("telegram", "home", number, "Eve"), f"ABCDE2345{number}", now, now + timedelta(hours=1)
        )
        assert await home.store.pairings.ask(request, 5, Outgoing(chat, "a code"), now)
    assert await home.store.pairings.approve("ABCDE23458")
    assert await app.parts.sign_ins.enter(await app.parts.sign_ins.code())
    await app.operator.ask(CronOrder("add", None, when="at 2099-01-01 09:00", what="look"))


def _times(value: object) -> Iterator[datetime]:
    match value:
        case datetime():
            yield value
        case tuple():
            for each in value:
                yield from _times(each)
        case _:
            for name in field_names(type(value)):
                yield from _times(getattr(value, name))
