"""What a gateway says of itself while a part of it does not answer."""

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from gateway.cli.status import memory_line
from gateway.control.cron_wire import CronOrder
from gateway.control.status_text import brief
from gateway.control.status_wire import StatusOrder
from gateway.control.wire import SearchOrder
from gateway.stores.rows import StoreOutage
from tests.fakes.patience import PATIENCE_S
from tests.journeys.house import make_home, running
from workspaces.access import AgentId
from workspaces.memory.client import WorkerClient
from workspaces.workspace import Workspace


class SilentStore:
    """A store on another machine that has not answered for a minute, if it is known."""

    def __init__(self, known: StoreOutage | None) -> None:
        self.known = known

    def outage(self) -> StoreOutage | None:
        return self.known

    async def report(self) -> Any:
        await asyncio.Event().wait()


@pytest.mark.parametrize("known", [StoreOutage("it is gone", 60), None])
async def test_status_does_not_wait_for_a_store_that_does_not_answer(tmp_path: Path, known: StoreOutage | None) -> None:
    """It says so, with what it knows without the store."""
    async with running(make_home(tmp_path / "home")) as app, asyncio.timeout(PATIENCE_S):
        silent: Any = SilentStore(known)
        state = await structs.replace(app.parts.status, store=silent, store_answers_s=0.1).status(StatusOrder())
    assert (state.store_trouble, state.store_away_s) == (("it is gone", 60) if known else ("it does not answer", 0))
    told = "unavailable for 0:01:00: it is gone" if known else "unavailable: it does not answer"
    assert told in brief(state)
    assert [agent.agent for agent in state.agents] == ["main"]


async def test_status_does_not_wait_for_a_memory_worker_that_hangs(tmp_path: Path) -> None:
    """It says that the index does not answer, and not that it is empty."""
    home = make_home(tmp_path / "home")
    (home.agent("main").workspace / "MEMORY.md").write_text("- likes green tea\n", "utf-8")
    async with running(home) as app, asyncio.timeout(PATIENCE_S):
        await app.operator.ask(SearchOrder("tea", None, 1))
        worker = app.parts.resources.agents[AgentId("main")].memory._worker
        assert isinstance(worker, WorkerClient)
        assert worker.pid is not None
        os.kill(worker.pid, signal.SIGSTOP)
        try:
            reports = structs.replace(app.parts.status.reports, memory_answers_s=0.1)
            state = await structs.replace(app.parts.status, reports=reports).status(StatusOrder())
        finally:
            os.kill(worker.pid, signal.SIGCONT)
        assert memory_line(state.agents[0].memory) == (
            "memory: no answer within 0.1 s; searches read the files meanwhile"
        )
        assert "no answer within 0.1 s; searches read" in brief(state)


async def test_an_agent_that_left_the_configuration_is_told_with_its_jobs(tmp_path: Path) -> None:
    """Its files lie there, its jobs do not run; with several agents each job says whose it is."""
    home = make_home(tmp_path / "home")
    alone = home.config_file.read_text("utf-8")
    home.write(home.config_file, f"{alone}[agents.garden]\n")
    Workspace.create(home.agent("garden").workspace, AgentId("garden")).folder.close()
    async with running(home) as app:
        for agent in ("main", "garden"):
            await app.operator.ask(CronOrder("add", agent, when="every day at 9:00", what="Look."))
        first, second = (await app.operator.ask(CronOrder("list"))).jobs
        assert ("(agent main)" in first.line, "(agent garden)" in second.line) == (True, True)
        assert (await app.operator.ask(StatusOrder())).troubles == ()
    home.write(home.config_file, alone)
    async with running(home) as app:
        first, second = (await app.operator.ask(CronOrder("list"))).jobs
        assert "agent" not in first.line
        assert "(agent garden is not in config.toml, so it does not run)" in second.line
        (trouble,) = (await app.operator.ask(StatusOrder())).troubles
        assert "agent garden has files in" in trouble
        assert "strandline agents add garden" in trouble
