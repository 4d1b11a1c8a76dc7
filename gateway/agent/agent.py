"""An agent: a persona with its workspace, its memory and its model."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from types import MappingProxyType

from msgspec import Struct, field, structs

from gateway.agent.history_writer import HistoryWriter
from gateway.agent.models.port import Model
from gateway.agent.tools.families import NO_ACTIONS, ToolResources, TurnActions
from gateway.agent.tools.history import WritingTurn
from gateway.agent.tools.loading import load_tools
from gateway.agent.tools.memory import Used
from gateway.agent.tools.tool import Tool, Toolbox
from gateway.agent.write_guard import WriteGuard
from workspaces.access import Access, AgentId
from workspaces.history import Origin
from workspaces.memory.search import MemoryIndex
from workspaces.run_blocking import RunBlocking
from workspaces.workspace import Workspace


class Agent(Struct, frozen=True):
    """A persona that answers; no agent reaches another's workspace, memory or sessions."""

    id: AgentId
    workspace: Workspace
    memory: MemoryIndex
    model: Model
    run: RunBlocking
    """Runs blocking work on this workspace's own thread."""
    history_writer: HistoryWriter
    others: Mapping[str, Model] = field(default_factory=lambda: MappingProxyType({}))
    """Every model that a session may choose, by its configured name, the agent's own first; each with its fallbacks."""
    offered: Mapping[str, bool] = field(default_factory=lambda: MappingProxyType({}))
    """Whether a tool is offered, by its name, where that differs from its own rule; all of them answer."""
    fallbacks: tuple[str, ...] = ()
    """Names of the models to ask when the chosen one cannot answer."""

    def with_models(self, wrap: Callable[[Model], Model]) -> "Agent":
        """Return the agent with its models, each behind what *wrap* makes of it."""
        return structs.replace(
            self, model=wrap(self.model), others={name: wrap(each) for name, each in self.others.items()}
        )

    @contextmanager
    def changing(
        self, turn: str, origin: Origin, has_read_others: Callable[[], bool] = lambda: False
    ) -> Iterator[RunBlocking]:
        """Yield a runner for the workspace, whose changes while the block runs are one commit of the history.

        *has_read_others*: as `HistoryWriter.noting`.
        """
        try:
            yield self.history_writer.noting(self.run, turn, origin, has_read_others)
        finally:
            self.history_writer.ended(turn)

    async def toolbox(
        self,
        access: Access,
        clock: Callable[[], datetime],
        origin: Origin,
        used: Used,
        guard: WriteGuard,
        actions: TurnActions = NO_ACTIONS,
    ) -> Toolbox:
        """Return the tools of one turn, each bound to the turn's access; their changes are recorded as the turn's.

        The caller notifies the history writer when the turn of *origin* has ended. *used* is called with the memories
        that the tools return; changes that *guard* holds back wait for the owner.
        """
        history_writer, origins = self.history_writer, self.history_writer.origins
        run = history_writer.noting(self.run, origin.turn or "", origin, lambda: guard.has_read_others)
        history = await history_writer.ready()
        writer = WritingTurn(self.workspace, origin, guard, origins.held_house, origins.names_others)
        resources = ToolResources(
            self.workspace,
            access,
            run,
            clock,
            self.memory,
            history,
            writer,
            used,
            guard,
            self.model,
            actions,
            origins.holds_others,
            origins.names_others,
        )
        return Toolbox(
            [self._as_offered(each) for each in load_tools(resources)],
            access,
            guard.hears,
            origins.holds_others,
            guard.ask_to_call,
            lambda: guard.has_read_house,
        )

    def _as_offered(self, tool: Tool) -> Tool:
        return structs.replace(tool, is_offered=self.offered.get(tool.spec.name, tool.is_offered))
