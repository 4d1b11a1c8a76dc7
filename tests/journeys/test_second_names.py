"""A copy of a home by hard links costs its agents the files that have a second name now, and nothing else."""

import asyncio
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from gateway.app.app import App
from gateway.cli.scaffold import prepare_home, zone_of
from gateway.control.status_wire import AgentStatus, StatusOrder
from gateway.control.stream_wire import ChatOrder
from gateway.home import Home
from tests.fakes.patience import PATIENCE_S
from tests.journeys.house import make_home, running

REMEMBERED = "The boat is called Ondine."


class Owner:
    """Talks at the terminal, and keeps what is said there."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.heard: list[str] = []

    @property
    def told(self) -> list[str]:
        return [text for text in self.heard if "skips" in text]

    async def say(self, text: str) -> str:
        before = len(self.heard)
        await self.app.operator.chat(ChatOrder(text), self._hear)
        return "\n".join(self.heard[before:])

    async def until_told(self) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not self.told:
                await self.say("hello")

    async def agent(self) -> AgentStatus:
        return (await self.app.operator.ask(StatusOrder())).agents[0]

    async def _hear(self, text: str, _: bool) -> None:
        self.heard.append(text)


@asynccontextmanager
async def gateway(home: Home) -> AsyncIterator[Owner]:
    """Start it as `strandline up` does."""
    with prepare_home(home, zone_of({}), "a test"):
        pass
    async with running(home) as app:
        yield Owner(app)


def lived_in(folder: Path) -> Home:
    home = make_home(folder / "home")
    memory = home.agent("main").workspace / "MEMORY.md"
    memory.write_text(f"# Memory\n\n- {REMEMBERED}\n", "utf-8")
    return home


def copy_by_links(home: Home) -> None:
    """Do what backup scripts do."""
    run("cp", "-al", str(home.agents), str(home.path.with_name("copy")))


def run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


async def test_a_home_that_was_copied_by_links_starts_and_says_so_once(tmp_path: Path) -> None:
    """The agent answers, the owner is told once over two starts, and the command that they are told mends it."""
    home = lived_in(tmp_path)
    root = home.agent("main").workspace
    copy_by_links(home)
    async with gateway(home) as owner:
        await owner.until_told()
        assert await owner.say("what is two and two?")
        state = await owner.agent()
        assert "AGENTS.md (it has 2 names (hard links)), " in state.left_out
        assert state.left_out.endswith(" and 3 more")
        assert (await owner.app.operator.ask(StatusOrder())).reasons["file_left_out"] == 8
    (told,) = owner.told
    assert f"`{state.left_out_mend}`" in told
    async with gateway(home) as owner:
        await owner.say("hello")
        await owner.app.operator.agents.named(None).history_writer.catch_up()
        await owner.say("hello")
        assert owner.told == []
        run("sh", "-c", state.left_out_mend)
        assert (await owner.agent()).left_out == ""
        await owner.app.operator.agents.named(None).memory.sync()
        assert "Ondine" in await owner.say("what is the boat called?")
    assert (root / "MEMORY.md").stat().st_nlink == 1


async def test_a_second_name_that_a_running_gateway_meets_is_told_and_recorded_as_no_loss(tmp_path: Path) -> None:
    """Nothing tells of a link that is made elsewhere: the next prompt comes upon it. The history keeps the file."""
    home = lived_in(tmp_path)
    async with gateway(home) as owner:
        agent = owner.app.operator.agents.named(None)
        await owner.say("hello")
        assert owner.told == []
        copy_by_links(home)
        await owner.until_told()
        await owner.say("remember that the dog is called Rex")
        await agent.history_writer.catch_up()
    assert len(owner.told) == 1
    assert "MEMORY.md" in owner.told[0]
    assert REMEMBERED in (home.agent("main").workspace / "MEMORY.md").read_text("utf-8")
    assert REMEMBERED in run("git", "--git-dir", str(home.agent("main").history), "show", "main:MEMORY.md")
