"""Random faults of what a fleet runs on: its gateways, and a Redis behind a sentinel."""

import random
import signal
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.fakes.redis_several import Watched
from tests.journeys.processes import Gateway

GATEWAY_PAUSE_S = (1.0, 15.0)
"""Shorter and longer than a lease."""
DEAD_AFTER_MS = 4_000
"""How long a Redis is silent before the sentinel takes it for dead: on a busy machine half a second is no death."""
REDIS_PAUSE_S = (0.1, 2.0)
"""Shorter than the sentinel takes for a death: a primary that wakes up beside its heir may lose what it confirmed."""


@dataclass(slots=True)
class Faults:
    """One thing after the other fails, and comes back."""

    gateways: Sequence[Gateway]
    redis: Watched
    dice: random.Random
    done: Counter[str] = field(default_factory=Counter)

    def strike(self) -> None:
        """Let something fail, and return once it is back; start what ended by itself, as a service manager does."""
        for gateway in self.gateways:
            if gateway.process and gateway.process.poll() is not None:
                gateway.start()
                self.done["a gateway ended by itself"] += 1
        struck = self.dice.choice([self._kill_gateway, self._pause_gateway, self._fail_over, self._pause_redis])
        struck()
        self.done[struck.__name__.strip("_")] += 1

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
        self.redis.fail_over()

    def _pause_redis(self) -> None:
        server = self.redis.named
        server.signal(signal.SIGSTOP)
        time.sleep(self.dice.uniform(*REDIS_PAUSE_S))
        server.signal(signal.SIGCONT)
