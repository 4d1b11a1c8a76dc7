"""Whether the gateway accepts messages, and the parts that it started without."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from importlib.metadata import version

from msgspec import Struct, field

from gateway.automation.subagents import RunningSubagent
from gateway.inbound.listener import BotAccount, ListeningState
from gateway.inbound.overflow import Depth
from workspaces.access import AgentId


class Health(Struct):
    """Whether the gateway accepts messages, and the features that still load."""

    accounts: list[BotAccount]
    home: str = ""
    """The folder of the gateway's files."""
    standby: bool = False
    """Every agent has another gateway; this one is not ready, and waits until one becomes free."""
    ready: bool = False
    started: float = field(default_factory=time.monotonic)
    depths: Callable[[], Mapping[AgentId, Depth]] = dict
    """Returns the number of waiting messages of each agent."""
    helpers: Callable[[], Sequence[RunningSubagent]] = tuple
    """Returns the running subagents of each agent."""
    disabled: tuple[str, ...] = ()
    """Disabled hooks and commands from a restored backup; this gateway started without them."""
    plugin_faults: tuple[str, ...] = ()
    """Plug-ins that cannot be used, each in one sentence; this gateway started without them."""
    assumed: tuple[str, ...] = ()
    """Descriptions of unset settings and the values assumed for them."""
    tool_troubles: Callable[[], Iterable[str]] = tuple
    """Returns the tool servers that are away, and tools that are not offered, each in one sentence."""
    model_troubles: Iterable[str] = ()
    """The models that do not answer, each in one sentence."""
    version: str = field(default_factory=partial(version, "strandline"))
    """Read once, as it is in a file."""
    backup_troubles: tuple[str, ...] = ()
    """The backups and restores on trial that failed last, each in one sentence."""
    waits_for: Callable[[], tuple[str, ...]] = tuple
    """Returns the agents that cannot run for lack of their files, with the remedy."""

    def begin(self) -> None:
        """Note that messages are accepted, unless every agent has another gateway."""
        self.ready = not self.standby

    def end(self) -> None:
        """Note that messages are accepted no more."""
        self.ready = False

    def note_backups(self, troubles: tuple[str, ...]) -> None:
        """Note what failed last of the automatic backups; nothing if all is well."""
        self.backup_troubles = troubles

    def report(self, faults: Iterable[str]) -> None:
        """Note plug-ins that cannot be used."""
        self.plugin_faults += tuple(faults)

    @property
    def loading(self) -> list[str]:
        """Bot accounts whose platform library still loads."""
        return [f"{a.channel}.{a.account}" for a in self.accounts if a.state is ListeningState.LOADING]
