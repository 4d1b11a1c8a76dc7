"""The shape of a gateway's status, as the command line, the page and probes read it."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Literal

from msgspec import Struct, field

from gateway.automation.heartbeat_status import HeartbeatStatus
from gateway.control.cron_wire import JobsStatus
from gateway.control.order import Order

SearchMode = Literal["hybrid", "keyword"]


class MemoryStatus(Struct, frozen=True):
    """The state of one agent's index."""

    entries: int
    mode: SearchMode
    reason: str = ""
    """The reason for keyword-only search, or any other notice to the owner about search."""
    skipped: Mapping[str, str] = field(default_factory=dict)
    """Files that are not indexed, by path, with the reason."""
    owing: int = 0
    """Entries that wait for a provider's vector."""
    rebuilding: bool = False
    """Some notes are not in the index yet."""
    embedder: str = ""
    """Name of the embedding model, and its languages; empty without one."""
    indexing: tuple[int, int] | None = None
    """Documents indexed, and changed ones, while they are being indexed."""
    foreign: str = ""
    """Languages of the notes that the embedding model does not read; told by `memory status` and doctor."""
    held: str = ""
    """The reason why a change of the index was not taken into use, and the ways on."""
    away: str = ""
    """The reason why the index does not answer; nothing else is known of it then."""


class MemoryOrder(Order[MemoryStatus], frozen=True):
    """A request for the state of an agent's index, which is opened for it; `None` is the default agent."""

    agent: str | None = None


class SpendingStatus(Struct, frozen=True):
    """The costs of an agent's models today, the owner's day, and their limits."""

    cause: str
    """`chat`, `heartbeat`, `cron`, `subagent` or `flush`; `all` for all of them."""
    tokens: int
    """Read and written."""
    money: float
    """In US dollars; excludes models without a known price."""
    unpriced_tokens: int = 0
    tokens_a_day: int | None = None
    """`None`: no limit."""
    money_a_day: float | None = None


class AgentStatus(Struct, frozen=True):
    agent: str
    model: str
    memory: MemoryStatus | None
    """`None` until first used: an index is opened on use."""
    history: str = ""
    """The reason that changes of its files are not recorded at the moment; empty while they are."""
    waiting: int = 0
    """Messages for it that were accepted and not answered yet."""
    oldest_waiting_s: float = 0
    """Age of the oldest of them."""
    heartbeat: HeartbeatStatus = field(default_factory=HeartbeatStatus)
    jobs: JobsStatus = field(default_factory=JobsStatus)
    spending: tuple[SpendingStatus, ...] = ()
    recall: str = ""
    """The latest receipt of a search for what was said, such as `41 of 41 facts findable`, with its day."""
    """The total first, then each cause with spending or a limit; empty if there is neither."""
    left_out: str = ""
    """Files that are neither read nor changed, with the reasons: they have a second name, or are links."""
    left_out_mend: str = ""
    """How to have them included again."""
    cut_files: str = ""
    """Files that are too long to be shown whole in the prompt, and how much of each is shown."""
    cut_files_mend: str = ""
    """How to have them shown whole."""


class ChannelStatus(Struct, frozen=True):
    """One bot account."""

    channel: str
    account: str
    state: str
    """Such as `listening`, `connecting`, `waiting`, `stopped`, `off`."""
    reason: str = ""
    notes: tuple[str, ...] = ()
    """What its setup at the platform lacks, each with the remedy."""


class UnsureStatus(Struct, frozen=True):
    """A part of a reply that may have been sent twice, or once."""

    address: str
    part: int
    """From 0."""
    at: datetime
    why: str


class Status(Struct, frozen=True):
    """The answer of `strandline status`."""

    version: str
    home: str
    ready: bool
    uptime_s: float
    time_zone: str
    time_zone_source: str
    agents: tuple[AgentStatus, ...] = ()
    channels: tuple[ChannelStatus, ...] = ()
    loading: tuple[str, ...] = ()
    """Features that still load."""
    inbox_waiting: int = 0
    outbox_queued: int = 0
    outbox_dead: int = 0
    unsure: tuple[UnsureStatus, ...] = ()
    reasons: Mapping[str, int] = field(default_factory=dict)
    """Count of each reason code."""
    approvals_waiting: int = 0
    quarantined: int = 0
    """Changes of files that wait for the owner's decision."""
    standby: bool = False
    """Not ready because it has nothing to run: it waits for an agent, for files, or for the Redis."""
    repairs: tuple[str, ...] = ()
    """Descriptions of damage found and repaired."""
    assumed: tuple[str, ...] = ()
    """Descriptions of unset settings and the values assumed for them."""
    troubles: tuple[str, ...] = ()
    """Descriptions of hooks, tool servers and skills that cannot be used."""
    helpers: tuple[str, ...] = ()
    """Descriptions of running subagents, with their agent and start."""
    waits_for: tuple[str, ...] = ()
    """Descriptions of the things that this one of several gateways waits for: agents' files, the Redis."""
    store_trouble: str = ""
    """The reason that the state cannot be read now; waiting messages are then those that this gateway knows of."""
    store_away_s: float = 0
    """Duration of that fault; 0 if it is not known, as with a full disk."""

    @property
    def store_away(self) -> str:
        """Duration of the store's fault in words, and its reason."""
        since = f" for {timedelta(seconds=int(self.store_away_s))}" if self.store_away_s else ""
        return f"unavailable{since}: {self.store_trouble}"


class StatusOrder(Order[Status], frozen=True):
    """A request for the state of the gateway."""


def disabled_line(disabled: Sequence[str]) -> Iterator[str]:
    """Yield one line that names the disabled code of a restored backup, if any."""
    if disabled:
        more = f" and {len(disabled) - 5} more" if len(disabled) > 5 else ""
        told = ", ".join(disabled[:5])
        yield f"{told}{more}: disabled since a backup was restored; read them, then: strandline hooks enable"
