"""Random faults and updates of a fleet and its servers: a Redis behind a sentinel, and three Qdrant nodes."""

import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial

import httpx2

from bench.judgement import asked_in
from tests.fakes import qdrant_server
from tests.fakes.qdrant_server import Node
from tests.fakes.redis_several import Watched, watched
from tests.journeys.processes import Gateway

GATEWAY_PAUSE_S = (1.0, 15.0)
"""Shorter and longer than a lease."""
DEAD_AFTER_MS = 4_000
"""How long a Redis is silent before the sentinel takes it for dead: on a busy machine half a second is no death."""
REDIS_PAUSE_S = (0.1, 2.0)
"""Shorter than the sentinel takes for a death: a primary that wakes up beside its heir may lose what it confirmed."""
QDRANT_PAUSE_S = (1.0, 20.0)
"""Shorter and longer than a cluster takes to give a node up."""


@dataclass(frozen=True, slots=True)
class Servers:
    """Servers with the state and, if there are any, the index of a fleet."""

    redis: Watched
    qdrant: Sequence[Node]

    def sections(self) -> str:
        """Return the settings that name them, without Redis'."""
        if not self.qdrant:
            return ""
        first, *rest = (f'"{node.url}"' for node in self.qdrant)
        return f"[qdrant]\nurl = {first}\nother_urls = [{', '.join(rest)}]\nreplication_factor = 2\n"

    def indexed(self) -> list[set[int]]:
        """Return the numbers of the questions that each Qdrant node finds; none while it refuses or is away."""
        return [_numbers(node.url) for node in self.qdrant]


def _numbers(url: str) -> set[int]:
    with suppress(httpx2.HTTPError):  # a node that was cut off until a moment ago answers with status 500
        return {number for text in _texts(url) for number in asked_in(text)}
    return set()


def _texts(url: str) -> Iterator[str]:
    for each in httpx2.get(f"{url}/collections").raise_for_status().json()["result"]["collections"]:
        offset = None
        while True:
            body = {"limit": 1_000, "offset": offset, "with_payload": ["text"]}
            found = httpx2.post(
                f"{url}/collections/{each['name']}/points/scroll?consistency=all", json=body, timeout=30
            )
            page = found.raise_for_status().json()["result"]
            yield from (point["payload"]["text"] for point in page["points"])
            if (offset := page["next_page_offset"]) is None:
                break


@contextmanager
def servers(kind: str) -> Iterator[Servers]:
    """Run a primary of *kind* with replica and sentinel, and three Qdrant nodes if the program is installed."""
    with ExitStack() as stack:
        redis = stack.enter_context(watched(kind, dead_after_ms=DEAD_AFTER_MS))
        has_qdrant = qdrant_server.program() is not None
        yield Servers(redis, stack.enter_context(qdrant_server.cluster()) if has_qdrant else [])


@dataclass(slots=True)
class Faults:
    """One thing after the other fails, and comes back."""

    gateways: Sequence[Gateway]
    servers: Servers
    dice: random.Random
    done: Counter[str] = field(default_factory=Counter)

    def strike(self) -> None:
        """Let something fail, and return once it is back."""
        kinds: list[Callable[[], None]] = [self._kill_gateway, self._pause_gateway, self._fail_over, self._pause_redis]
        if self.servers.qdrant:
            kinds += [self._kill_node, self._pause_node, self._cut_node]
        struck = self.dice.choice(kinds)
        struck()
        self.done[struck.__name__.strip("_")] += 1

    def update(self, step: int) -> None:
        """End the part whose turn it is at *step* in order, and start it again, as for a new version of it."""
        redis, parts = self.servers.redis, list[Gateway | Node]([*self.gateways, *self.servers.qdrant])
        restarts: list[Callable[[], None]] = [partial(_restart, part) for part in parts]
        restarts += [redis.restart_replica, redis.restart_primary]
        restarts[step % len(restarts)]()
        self.done["update"] += 1

    def _kill_gateway(self) -> None:
        gateway = self.dice.choice(self.gateways)
        gateway.kill()
        gateway.start()

    def _pause_gateway(self) -> None:
        process = self.dice.choice(self.gateways).process
        assert process is not None
        process.send_signal(signal.SIGSTOP)
        time.sleep(self.dice.uniform(*GATEWAY_PAUSE_S))
        process.send_signal(signal.SIGCONT)

    def _fail_over(self) -> None:
        self.servers.redis.fail_over()

    def _pause_redis(self) -> None:
        server = self.servers.redis.named
        server.signal(signal.SIGSTOP)
        time.sleep(self.dice.uniform(*REDIS_PAUSE_S))
        server.signal(signal.SIGCONT)

    def _kill_node(self) -> None:
        node = self.dice.choice(self.servers.qdrant)
        node.kill()
        time.sleep(self.dice.uniform(*QDRANT_PAUSE_S))
        node.start()

    def _pause_node(self) -> None:
        node = self.dice.choice(self.servers.qdrant)
        node.signal(signal.SIGSTOP)
        time.sleep(self.dice.uniform(*QDRANT_PAUSE_S))
        node.signal(signal.SIGCONT)

    def _cut_node(self) -> None:
        node = self.dice.choice(self.servers.qdrant)
        node.cut_off()
        time.sleep(self.dice.uniform(*QDRANT_PAUSE_S))
        node.mend()


def _restart(part: Gateway | Node) -> None:
    assert part.stop() == 0, "it did not end in order"
    part.start()
