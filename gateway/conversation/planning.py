"""This file plans a turn that a language model answers: its prompt, what it shows of the conversation, its tools."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import MappingProxyType

from gateway.agent.context import project_context
from gateway.agent.entries import CallStartEntry, Entry, UsedEntry, UsedMemory
from gateway.agent.guard import Guard
from gateway.agent.loop import TurnLimits
from gateway.agent.models.offline import OFFLINE
from gateway.agent.models.port import ModelRequest
from gateway.agent.prompt import build_prompt
from gateway.agent.recall import Recalled, RecallSettings, recall
from gateway.agent.tools.memory import Used
from gateway.agent.tools.tool import Toolbox
from gateway.agent.window.count import measured_scale
from gateway.agent.window.prune import PruneSettings
from gateway.agent.window.shown import Shown, Window, show
from gateway.agent.window.use import WindowUse, window_use
from gateway.conversation.approvals import Approvals
from gateway.conversation.plan import Asked, Plan
from gateway.hooks import Hooks
from workspaces.access import AgentId, rights
from workspaces.bootstrap import BootstrapFile, Limits

_TOO_LONG = (
    "(Your message is longer than my window: I read its beginning and its end. All of it is kept. "
    "Smaller parts, one at a time, I can read whole.)"
)


@dataclass(frozen=True, slots=True)
class TurnSettings:
    """What the configuration says about turns."""

    bootstrap: Limits = field(default_factory=Limits)
    limits: TurnLimits = field(default_factory=TurnLimits)
    recall: RecallSettings = field(default_factory=RecallSettings)
    prune: PruneSettings = field(default_factory=PruneSettings)
    temperature: Mapping[AgentId, float] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class _Draft:
    """A request before memories were brought up and tools were added."""

    request: ModelRequest
    files: Sequence[BootstrapFile]
    shown: Shown


@dataclass(frozen=True, slots=True)
class Planner:
    """Plans turns; what it reads, it reads by the turn's access."""

    settings: TurnSettings
    hooks: Hooks
    approvals: Approvals
    clock: Callable[[], datetime]
    """Now, in the owner's zone."""

    async def plan(self, asked: Asked) -> Plan:
        """Return what the agent's own model is asked, with the tools of this turn."""

        async def used(memories: Sequence[UsedMemory]) -> None:
            if memories:
                await asked.transcript.append(asked.row.turn_id, UsedEntry(tuple(memories)))

        draft = await self._draft(asked)
        recalled = await self._recalled(asked, draft)
        await used(recalled.used)
        request = replace(draft.request, volatile=draft.request.volatile + recalled.text)
        toolbox = await self._toolbox(asked, request, used)
        return Plan(asked.agent.model, request, toolbox, _TOO_LONG if draft.shown.is_cut else "")

    async def window(self, asked: Asked) -> WindowUse:
        """Return how full the model's window would be if it were asked now, without memories brought up."""
        draft = await self._draft(asked)
        toolbox = await self._toolbox(asked, draft.request, _unused)
        request = replace(draft.request, tools=toolbox.specs)
        scale = measured_scale(asked.transcript.entries, asked.agent.model.name)
        return window_use(request, draft.files, draft.shown, asked.agent.model.window_tokens, scale)

    async def _draft(self, asked: Asked) -> _Draft:
        agent, access, now = asked.agent, asked.access, asked.now
        files = await project_context(agent, access, now.date(), self.settings.bootstrap, self.hooks)
        prompt = build_prompt(files, access.session_type, recall=rights(access).memory_tools, now=now)
        window = Window(agent.model.window_tokens, self.settings.prune)
        scale = measured_scale(asked.transcript.entries, agent.model.name)
        shown = show(asked.transcript.records, window, scale.tokens(len(prompt.stable)))
        temperature = self.settings.temperature.get(agent.id)
        request = ModelRequest(prompt.stable, prompt.volatile + _left_out(shown), shown.entries, (), temperature)
        return _Draft(request, files, shown)

    async def _toolbox(self, asked: Asked, request: ModelRequest, used: Used) -> Toolbox:
        tray = self.approvals.tray(asked.agent.id, asked.origin, asked.row.message.address)
        guard = Guard(asked.access, request.entries, tray)
        return await asked.agent.toolbox(asked.access, self.clock, asked.origin, used, guard)

    async def _recalled(self, asked: Asked, draft: _Draft) -> Recalled:
        agent = asked.agent
        if agent.model.name == OFFLINE:
            return Recalled()
        texts = [*(file.text for file in draft.files), *_texts(draft.shown.entries)]
        message, today = asked.row.message.text, asked.now.date()
        return await recall(message, agent.memory, asked.access, self.settings.recall, texts, today)


async def _unused(_: Sequence[UsedMemory]) -> None:
    """Keep no note: nothing is answered."""


def _texts(entries: Iterable[Entry]) -> Iterator[str]:
    for entry in entries:
        if not isinstance(entry, CallStartEntry):
            yield entry.text


def _left_out(shown: Shown) -> str:
    if not shown.left_out:
        return ""
    left_out = f"{shown.left_out} earlier messages of this conversation no longer fit here"
    return f"\n{left_out}; memory_search may find what was noted."
