"""Measured costs of one message, one agent and one chunk, and the file that stores them."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

COSTS_FILE = Path(__file__).parent / "costs.json"


@dataclass(frozen=True, slots=True)
class Costs:
    """Costs measured on one machine on one day; sizes in bytes unless the name says otherwise."""

    day: str
    machine: str
    load: float
    """The machine's load average before the measurement."""
    message_ms: Sequence[float]
    """CPU time of the gateway and its children per message, sent one by one, ascending."""
    burst_ms: float
    """The same per message, while many wait at once."""
    redis_ms: float
    """Redis' CPU time per message."""
    redis_bytes: float
    """Redis' memory per message, until pruned."""
    transcript_bytes: float
    state_bytes: float
    """Size of `state.db` per message, without Redis."""
    history_bytes: float
    """Size of the git history per message."""
    commits: float
    """Per message."""
    gateway_mb: float
    """Resident with one agent, without a platform's SDK."""
    agent_mb: float
    """Resident, for each further idle agent."""
    agent_files: float
    agent_threads: float
    agent_disk: float
    agent_start_ms: float
    """CPU time of the gateway's start for each further agent."""
    worker_mb: float
    """Resident: the memory worker with its model and no index."""
    index_mb: float
    """Resident, for each open index with `INDEX_CHUNKS` chunks."""
    index_disk: float
    chunk_mb: float
    """Resident, for each further chunk in an open index."""
    chunk_disk: float
    chunk_ms: float
    """CPU time of reading, embedding and storing a line of 20 words."""
    search_ms: float
    """CPU time of a search, the query's embedding included."""

    @property
    def mean_ms(self) -> float:
        """CPU time per message, sent one by one."""
        return sum(self.message_ms) / len(self.message_ms)

    @property
    def variation(self) -> float:
        """Variance of `message_ms` over its squared mean."""
        mean = self.mean_ms
        return sum((each - mean) ** 2 for each in self.message_ms) / len(self.message_ms) / mean**2

    @property
    def p95_ms(self) -> float:
        """95th percentile."""
        return self.message_ms[int(0.95 * len(self.message_ms))]

    def lines(self) -> Iterator[str]:
        """Yield the costs as a Markdown table."""
        yield "| what | processor | memory | disk | else |"
        yield "|---|---|---|---|---|"
        yield (
            f"| a message, one after the other | {self.mean_ms:.1f} ms (95 of 100: {self.p95_ms:.1f}) | "
            f"| {_kb(self.transcript_bytes)} transcript, {_kb(self.history_bytes)} history, "
            f"{_kb(self.state_bytes)} `state.db` | {self.commits:.2f} commits |"
        )
        yield f"| a message of a burst | {self.burst_ms:.1f} ms | | | |"
        yield f"| a message in Redis | {self.redis_ms:.2f} ms | {_kb(self.redis_bytes)} until it is pruned | | |"
        yield f"| a gateway with one agent, no platform | | {self.gateway_mb:.0f} MB | | |"
        yield (
            f"| each agent more, at rest | {self.agent_start_ms:.0f} ms at a start | {self.agent_mb:.2f} MB "
            f"| {_kb(self.agent_disk)} | {self.agent_files:.1f} file handles, {self.agent_threads:.1f} threads |"
        )
        yield f"| the memory worker, no index open | | {self.worker_mb:.0f} MB | | |"
        yield f"| each index open, {INDEX_CHUNKS} chunks | | {self.index_mb:.1f} MB | {_kb(self.index_disk)} | |"
        yield (
            f"| each chunk more | {self.chunk_ms:.1f} ms, embedding included | {1000 * self.chunk_mb:.1f} kB "
            f"while open | {_kb(self.chunk_disk)} | |"
        )
        yield f"| a search | {self.search_ms:.1f} ms | | | |"


INDEX_CHUNKS = 140
"""Ten days of notes of 14 lines: the index of a young agent."""


def _kb(size: float) -> str:
    return f"{size / 1000:.1f} kB"


def read_costs(file: Path = COSTS_FILE) -> Costs:
    """Return the stored costs. Raises KeyError for a file of another form."""
    kept = json.loads(file.read_text("utf-8"))
    return Costs(**{field.name: kept[field.name] for field in fields(Costs)})


def write_costs(costs: Costs, file: Path = COSTS_FILE) -> None:
    """Store *costs*, rounded to their accuracy."""
    file.write_text(json.dumps({name: _rounded(value) for name, value in asdict(costs).items()}, indent=1) + "\n")


def _rounded(value: object) -> object:
    match value:
        case float():
            return float(f"{value:.4g}")
        case list() | tuple():
            return [_rounded(each) for each in value]
        case _:
            return value
