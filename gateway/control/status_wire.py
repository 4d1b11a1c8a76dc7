"""This file holds the shape of a gateway's status, as the command line, the page and probes read it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from gateway.control.cron_wire import JobsStatus

SearchMode = Literal["hybrid", "keyword"]


@dataclass(frozen=True, slots=True)
class MemoryStatus:
    """The state of one agent's index."""

    entries: int
    mode: SearchMode
    reason: str = ""
    """Why search is by keyword alone, or anything else an owner should know of how it answers."""
    skipped: Mapping[str, str] = field(default_factory=dict)
    """Files that are not indexed, by path, with the reason."""
    owing: int = 0
    """Entries that wait for a provider's vector."""
    rebuilding: bool = False
    """Not all notes are in the index yet."""


@dataclass(frozen=True, slots=True)
class HeartbeatStatus:
    """How an agent's heartbeats stand."""

    state: str = "never"
    """`on`, `off`, or why none comes: `never` (by the configuration), `no_model`, `no_route`, `stopped`."""
    items: int = 0
    """What is looked after."""
    last_run: datetime | None = None
    """When the agent was last asked."""
    outcome: str = ""
    """Of that: `running`, `silent`, `told`, or `failed`."""
    next_look: datetime | None = None
    """When something may be due next."""
    failures: int = 0
    """In a row."""
    faults: tuple[str, ...] = ()
    """What of the list cannot be looked after."""

    def __str__(self) -> str:
        known = f"{self.state}, {self.items} on its list"
        last = f", last run {self.last_run:%Y-%m-%d %H:%MZ} ({self.outcome})" if self.last_run else ""
        soon = f", next look {self.next_look:%Y-%m-%d %H:%MZ}" if self.next_look else ""
        failed = f", {self.failures} failed in a row" if self.failures else ""
        return f"{known}{last}{soon}{failed}"


@dataclass(frozen=True, slots=True)
class SpendingStatus:
    """What an agent's models cost today, the owner's day, and what they may."""

    cause: str
    """`chat`, `heartbeat`, `cron`, `subagent` or `flush`; `all` for all of them."""
    tokens: int
    """Read and written."""
    money: float
    """In US dollars; what has no known price is not in it."""
    unpriced_tokens: int = 0
    tokens_a_day: int | None = None
    """`None`: no limit."""
    money_a_day: float | None = None


@dataclass(frozen=True, slots=True)
class AgentStatus:
    """One agent."""

    agent: str
    model: str
    memory: MemoryStatus | None
    """`None` until something asks for it: an index is opened on use."""
    history: str = ""
    """Why changes of its files are not recorded at the moment; empty while they are."""
    waiting: int = 0
    """Messages for it that were accepted and not answered yet."""
    oldest_waiting_s: float = 0
    """How long ago the oldest of them came."""
    heartbeat: HeartbeatStatus = HeartbeatStatus()
    jobs: JobsStatus = field(default_factory=JobsStatus)
    spending: tuple[SpendingStatus, ...] = ()
    """For all causes first, then each for which something was spent or may be; none if nothing was and all may be."""
    left_out: str = ""
    """Files that are neither read nor changed, with the reasons: they have a second name, or are links."""
    left_out_mend: str = ""
    """How to have them taken in again."""


@dataclass(frozen=True, slots=True)
class ChannelStatus:
    """One bot account."""

    channel: str
    account: str
    state: str
    """Such as `listening`, `connecting`, `waiting`, `stopped`, `off`."""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class UnsureStatus:
    """A part of a reply that may have been sent twice, or once."""

    address: str
    part: int
    """From 0."""
    at: datetime
    why: str


@dataclass(frozen=True, slots=True)
class Status:
    """What `strandline status` says."""

    version: str
    home: str
    ready: bool
    uptime_s: float
    time_zone: str
    time_zone_source: str
    agents: tuple[AgentStatus, ...] = ()
    channels: tuple[ChannelStatus, ...] = ()
    loading: tuple[str, ...] = ()
    """Features that are still on their way."""
    inbox_waiting: int = 0
    outbox_queued: int = 0
    outbox_dead: int = 0
    unsure: tuple[UnsureStatus, ...] = ()
    reasons: Mapping[str, int] = field(default_factory=dict)
    """How often each reason code was counted."""
    approvals_waiting: int = 0
    quarantined: int = 0
    """Changes of files that wait for the owner's decision."""
    standby: bool = False
    """Not ready because there is nothing that it may do: it waits for an agent, for files, or for the Redis."""
    repairs: tuple[str, ...] = ()
    """What was found damaged and mended, in words."""
    assumed: tuple[str, ...] = ()
    """What is not set and taken for granted, in words."""
    troubles: tuple[str, ...] = ()
    """Hooks, tool servers and skills that cannot be used, in words."""
    helpers: tuple[str, ...] = ()
    """Which helpers are at work, for whom and since when, in words."""
    waits_for: tuple[str, ...] = ()
    """What of several gateways this one cannot begin without, in words: agents' files, the Redis."""
    store_trouble: str = ""
    """Why the state cannot be read now; what waits is then what this gateway knows of."""
    store_away_s: float = 0
    """How long that has lasted."""


def disabled_line(disabled: Sequence[str]) -> Iterator[str]:
    """Say, in one line, which code of a restored backup does not run, if any."""
    if disabled:
        more = f" and {len(disabled) - 5} more" if len(disabled) > 5 else ""
        told = ", ".join(disabled[:5])
        yield f"{told}{more}: disabled since a backup was restored; read them, then: strandline hooks enable"
