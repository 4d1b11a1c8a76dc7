"""Resources for a number of agents, computed from the costs of a message, an agent and a chunk; measures nothing.

It is arithmetic on means and one queueing formula.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from bench.costs import INDEX_CHUNKS, Costs

DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class Usage:
    """Usage of agents; assumptions only."""

    messages_a_day: float = 20.0
    """Messages to one agent."""
    messages_a_talk: float = 5.0
    """People write several in a row, then nothing for hours."""
    gap_s: float = 30.0
    """Mean time between two messages of a talk."""
    peak: float = 3.0
    """Rate of the busiest hours, relative to the mean."""
    peak_hours: float = 2.0
    model_s: float = 4.0
    """Time of a model's answer."""
    chunks_a_day: float = 10.0
    days: float = 365.0
    """Age of the notes."""
    kept_days: float = 14.0
    """Retention of a message's data in Redis."""
    searches: float = 1.0
    """Memory searches per message."""

    @property
    def peak_a_second(self) -> float:
        """Messages to one agent in the busiest hours."""
        return self.messages_a_day * self.peak / DAY_S

    @property
    def chunks(self) -> float:
        """Chunks in one agent's index."""
        return self.chunks_a_day * self.days


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits of each resource: our choices."""

    utilisation: float = 0.5
    """Of a processor, in the busiest hours."""
    gateway_gb: float = 16.0
    """Memory of one gateway and its worker."""
    start_s: float = 10.0
    """Longest start: the agents of a gateway wait for as long when a share changes."""
    redis_gb: float = 8.0
    redis_ms_a_second: float = 500.0
    """Its one thread is half busy."""
    spare: int = 1
    """Gateways of a shard that may be down."""
    index_open_s: float = 600.0
    """As in `workspaces/memory/index/request_handler.py`."""
    qdrant_gb: float = 64.0
    qdrant_replicas: int = 2
    resident: float = 0.1
    """Share of a chunk that a Qdrant server holds in memory, vectors being on its disk: not measured."""


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices per month, in one currency: assumptions, to be replaced by your own."""

    core: float = 20.0
    gb: float = 3.0
    disk_gb: float = 0.1


USUAL, CHOSEN, ASSUMED = Usage(), Bounds(), Prices()


@dataclass(frozen=True, slots=True)
class Question:
    """Number of agents, their usage, limits and prices."""

    agents: int
    usage: Usage = USUAL
    bounds: Bounds = CHOSEN
    prices: Prices = ASSUMED


@dataclass(frozen=True, slots=True)
class Capacity:
    """Required resources."""

    agents: int
    shards: int
    """Redis deployments with gateways of their own."""
    gateways: int
    """Total, including spare ones."""
    binding: str
    """The limit that determines the number of agents per gateway."""
    agents_a_gateway: int
    messages_a_second: float
    """In the busiest hours."""
    utilisation: float
    """Of a gateway's processor then, with no gateway down."""
    added_p95_ms: float
    """From a message to its answer, less the model's time."""
    open_indexes: float
    """Then, of all agents."""
    gateway_gb: float
    """Memory of all gateways and workers."""
    redis_gb: float
    disk_gb: float
    qdrant_nodes: int
    """If the indexes are on servers instead."""
    qdrant_disk_gb: float
    money: float
    """Per month, with embedded indexes and without models."""


def capacity(costs: Costs, asked: Question) -> Capacity:
    """Return the resources for *asked*."""
    usage, bounds = asked.usage, asked.bounds
    limits = dict(_agents_a_gateway(costs, usage, bounds))
    binding = min(limits, key=limits.__getitem__)
    most = max(1, math.floor(limits[binding]))
    shards = math.ceil(asked.agents / _agents_a_shard(costs, usage, bounds))
    gateways = shards * (math.ceil(asked.agents / shards / most) + bounds.spare)
    each = asked.agents / gateways
    busy = each * busy_share(costs, usage)
    open_ = asked.agents * open_share(usage, bounds)
    memory_gb = (gateways * (costs.gateway_mb + costs.worker_mb) + asked.agents * _agent_mb(costs, usage, bounds)) / 1e3
    redis_gb = asked.agents * _redis_bytes(costs, usage) / 1e9
    disk_gb = asked.agents * _disk_bytes(costs, usage) / 1e9
    found = Capacity(
        agents=asked.agents,
        shards=shards,
        gateways=gateways,
        binding=binding,
        agents_a_gateway=most,
        messages_a_second=asked.agents * usage.peak_a_second,
        utilisation=busy,
        added_p95_ms=costs.p95_ms + max(wait_p95_ms(busy, costs), lane_p95_ms(usage)),
        open_indexes=open_,
        gateway_gb=memory_gb,
        redis_gb=redis_gb,
        disk_gb=disk_gb,
        qdrant_nodes=_qdrant_nodes(costs, asked),
        qdrant_disk_gb=asked.agents * usage.chunks * costs.chunk_disk * bounds.qdrant_replicas / 1e9,
        money=0.0,
    )
    return replace(found, money=_money(found, asked))


def wait_p95_ms(busy: float, costs: Costs) -> float:
    """Return the wait of 19 in 20 messages for a processor with the utilisation *busy*.

    The mean by Pollaczek and Khinchine; the tail as if it were exponential. Infinite at one and above.
    """
    if busy >= 1:
        return math.inf
    if busy <= 0.05:
        return 0.0
    mean = busy * costs.mean_ms * (1 + costs.variation) / (2 * (1 - busy))
    return mean / busy * math.log(busy / 0.05)


def lane_p95_ms(usage: Usage) -> float:
    """Return the wait of 19 in 20 messages for the answer to the previous message in their chat.

    A message that is not its talk's first comes an exponential time after the previous one, which takes `model_s`.
    """
    later = 1 - 1 / usage.messages_a_talk
    if later <= 0.05:
        return 0.0
    return max(0.0, 1000 * (usage.model_s + usage.gap_s * math.log(1 - 0.05 / later)))


def open_share(usage: Usage, bounds: Bounds) -> float:
    """Return the share of agents with an open index in the busiest hours: those with a recent talk."""
    talks_a_second = usage.peak_a_second / usage.messages_a_talk
    stays_s = bounds.index_open_s + (usage.messages_a_talk - 1) * usage.gap_s
    return 1 - math.exp(-talks_a_second * stays_s)


def busy_share(costs: Costs, usage: Usage) -> float:
    """Return the share of a processor used by one agent's messages in the busiest hours."""
    return usage.peak_a_second * costs.mean_ms / 1000


def _agents_a_gateway(costs: Costs, usage: Usage, bounds: Bounds) -> Iterator[tuple[str, float]]:
    yield "processor", bounds.utilisation / busy_share(costs, usage)
    free_mb = 1000 * bounds.gateway_gb - costs.gateway_mb - costs.worker_mb
    yield "memory", free_mb / _agent_mb(costs, usage, bounds)
    yield "time of a start", 1000 * bounds.start_s / costs.agent_start_ms
    in_worker_ms = costs.search_ms * usage.searches * usage.peak_a_second
    in_worker_ms += costs.chunk_ms * usage.chunks_a_day * usage.peak / DAY_S
    yield "worker's processor", 1000 * bounds.utilisation / in_worker_ms


def _agent_mb(costs: Costs, usage: Usage, bounds: Bounds) -> float:
    """Return an agent's memory in its gateway and the worker, being active for its share of the time."""
    chunks = max(0.0, usage.chunks - INDEX_CHUNKS)
    return costs.agent_mb + open_share(usage, bounds) * (costs.index_mb + chunks * costs.chunk_mb)


def _agents_a_shard(costs: Costs, usage: Usage, bounds: Bounds) -> float:
    by_time = bounds.redis_ms_a_second / (usage.peak_a_second * costs.redis_ms)
    return min(by_time, 1e9 * bounds.redis_gb / _redis_bytes(costs, usage))


def _redis_bytes(costs: Costs, usage: Usage) -> float:
    return costs.redis_bytes * usage.messages_a_day * usage.kept_days


def _disk_bytes(costs: Costs, usage: Usage) -> float:
    told = usage.messages_a_day * usage.days * (costs.transcript_bytes + costs.history_bytes)
    index = costs.index_disk + max(0.0, usage.chunks - INDEX_CHUNKS) * costs.chunk_disk
    return costs.agent_disk + told + index


def _qdrant_nodes(costs: Costs, asked: Question) -> int:
    bounds = asked.bounds
    gb = asked.agents * asked.usage.chunks * costs.chunk_mb * bounds.resident * bounds.qdrant_replicas / 1e3
    return max(bounds.qdrant_replicas, math.ceil(gb / bounds.qdrant_gb))


def _money(found: Capacity, asked: Question) -> float:
    """Return the price of two processors per gateway, including its worker's, and two per Redis and its replica."""
    prices = asked.prices
    cores = 2 * found.gateways + 2 * found.shards
    return cores * prices.core + (found.gateway_gb + 2 * found.redis_gb) * prices.gb + found.disk_gb * prices.disk_gb
