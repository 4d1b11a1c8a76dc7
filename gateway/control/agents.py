"""The agents that the operator's requests name, and the operator's access to them."""

from collections.abc import Collection, Iterator, Mapping

from msgspec import Struct

from adapters.spoken import OWNER
from gateway.agent.agent import Agent
from gateway.errors import StrandlineError
from workspaces.access import Access, AgentId, Grant, owner_access


class AgentDirectory(Struct, frozen=True):
    agents: Mapping[AgentId, Agent]
    default: AgentId
    standby: bool = False
    """They have another gateway."""
    configured: Collection[str] = ()
    """The names of all agents in config.toml, those of other gateways too."""

    def __iter__(self) -> Iterator[Agent]:
        return iter(self.agents.values())

    def named(self, name: str | None) -> Agent:
        """Return the agent called *name*, `None` for the default one. Raises StrandlineError."""
        found = self.agents.get(AgentId(name) if name is not None else self.default)
        if found is None and self.standby:
            raise StrandlineError("this gateway is on standby; ask the gateway that has the agent")
        if found is None:
            raise StrandlineError(f"there is no agent {name!r}; the agents are: {', '.join(self.agents)}")
        return found

    def one_or_all(self, name: str | None) -> AgentId | None:
        """Return the id of the agent called *name*, `None` for all of them. Raises StrandlineError."""
        return None if name is None else self.named(name).id


def terminal_access(agent: AgentId, *grants: Grant) -> Access:
    """Return the access of the owner, who works at this machine's command line or on the page."""
    return owner_access(agent, f"terminal:{OWNER.id}", frozenset(grants))
