"""The settings that people choose for a session: its queue mode and model until it ends, and the mark of its chat."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import PurePosixPath

import msgspec
import structlog
from msgspec import DecodeError, Struct, structs

from gateway.admission.routing import SessionKey
from gateway.agent.agent import Agent
from gateway.inbound.settings import QueueMode
from gateway.sessions.due import Ending, Pause
from gateway.sessions.session import Session
from gateway.stores.ports import Store
from gateway.stores.remembered import UNREADABLE_VALUE, remember
from workspaces.access import AgentId

log = structlog.get_logger()

EVERY = "*"
"""Stands for every session of an agent without a mark of its own; no session has this name."""


class Choice(Struct, frozen=True, omit_defaults=True):
    """The settings chosen for one session; `None` leaves it to the configuration."""

    mode: QueueMode | None = None
    model: str | None = None
    house: bool | None = None
    """The chat carries the mark `house`; it keeps it when the session ends."""


class Choices:
    """All chosen settings, in memory and in the store; one value per agent, as few sessions have any."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._chosen: dict[SessionKey, Choice] = {}

    async def load(self, agents: Iterable[AgentId], tell: Callable[[AgentId], Awaitable[None]]) -> None:
        """Load the stored settings for sessions of *agents*; *tell* of each whose settings are damaged.

        Its chats are marked `house` then, as any of them may have been, until the owner says otherwise in each.
        Raises StoreError.
        """
        for agent in agents:
            kept = _read(await self._store.get(_place(agent)))
            if kept is None:
                log.error("the settings of sessions cannot be read and are forgotten", agent=agent)
                await self._store.count(UNREADABLE_VALUE)
                await tell(agent)
                await self.choose(SessionKey(agent, EVERY), Choice(house=True))
            else:
                self._chosen |= {SessionKey(agent, name): choice for name, choice in kept.items()}

    def of(self, key: SessionKey) -> Choice:
        """Return the settings of a session."""
        return self._chosen.get(key, Choice())

    def mode(self, key: SessionKey) -> QueueMode | None:
        """Return the chosen queue mode, if any."""
        return self.of(key).mode

    def is_house(self, key: SessionKey) -> bool:
        """Return whether the chat of a session carries the mark `house`."""
        own = self.of(key).house
        return bool(self.of(SessionKey(key.agent, EVERY)).house if own is None else own)

    def voice(self, key: SessionKey, agent: Agent) -> Agent:
        """Return *agent* with the model chosen for the session, if it is still configured."""
        model = agent.others.get(self.of(key).model or "")
        return agent if model is None else structs.replace(agent, model=model)

    async def choose(self, key: SessionKey, choice: Choice) -> None:
        """Set *choice* for a session from now on. Raises StoreError."""
        of_agent = {each.name: chosen for each, chosen in self._chosen.items() if each.agent == key.agent}
        of_agent[key.name] = choice
        kept = {name: chosen for name, chosen in of_agent.items() if chosen != Choice()}
        await remember(self._store, _place(key.agent), kept)
        if choice == Choice():
            self._chosen.pop(key, None)
        else:
            self._chosen[key] = choice

    async def ended(self, session: Session, why: Ending | Pause) -> Sequence[PurePosixPath]:
        """Drop the settings of a session that ends, but for those of its chat. Raises StoreError."""
        lasting = Choice(house=self.of(session.key).house)
        if isinstance(why, Ending) and self.of(session.key) != lasting:
            await self.choose(session.key, lasting)
        return ()


def _place(agent: AgentId) -> str:
    return f"choices:{agent}"


def _read(kept: str | None) -> dict[str, Choice] | None:
    try:
        return msgspec.json.decode(kept or "{}", type=dict[str, Choice])
    except (DecodeError, RecursionError):
        return None
