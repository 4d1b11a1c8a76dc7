"""`python -m bench.gateways`: messages a second against the number of gateways on one real Redis.

Each number of gateways answers a burst, for the rate, and then a steady talk, for the time added to a message.
Everything shares one machine: gateways, Redis, the platform and the model.
"""

import argparse
import asyncio
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from bench.crowd import Pace
from bench.load import Outcome, Plan, run

HEAD = f"{'gateways':28} {'messages/s':>10} {'added p50':>10} {'added p95':>10} {'processor':>10}"


@dataclass(frozen=True, slots=True)
class Talk:
    """Load for each number of gateways."""

    burst: int = 300
    """Messages at once."""
    steady: int = 150
    a_second: float = 5.0
    """Rate of the steady talk."""
    chats: int = 30


USUAL = Talk()


@dataclass(frozen=True, slots=True)
class Row:
    """Result of a number of gateways."""

    name: str
    burst: Outcome
    steady: Outcome

    @property
    def is_right(self) -> bool:
        """Whether no message was lost, doubled or reordered."""
        return self.burst.is_right() and self.steady.is_right()

    def line(self) -> str:
        """Return it as a row below `HEAD`: a rate, milliseconds, and milliseconds of CPU time per message."""
        rate, times = self.burst.figures(), self.steady.figures()
        added = [times[f"added latency p{part}, ms"] for part in (50, 95)]
        cost = rate["gateways' processor time a message, ms"]
        verdict = "" if self.is_right else f"  WRONG: {', '.join(self._faults())}"
        return (
            f"{self.name:28} {rate['messages a second']:10.1f} {added[0]:10.0f} {added[1]:10.0f} {cost:10.1f}{verdict}"
        )

    def _faults(self) -> Iterator[str]:
        for part, outcome in (("burst", self.burst), ("steady", self.steady)):
            found = outcome.figures()
            for fault in ("lost", "reordered", "processed twice", "answers that came twice"):
                if found[fault]:
                    yield f"{part}: {found[fault]:g} {fault}"


def plans(talk: Talk, most: int) -> Iterator[tuple[str, Plan, Plan]]:
    """Yield the runs: one gateway with its own state for comparison, then one to *most* on a Redis."""
    burst = Pace(talk.burst, 0, talk.chats)
    steady = Pace(talk.steady, talk.steady / talk.a_second / 60, talk.chats)
    yield "1, with its own state", Plan(burst, 0), Plan(steady, 0)
    for number in range(1, most + 1):
        together = Plan(burst, 0, gateways=number, on_redis=True)
        yield f"{number} on Redis", together, replace(together, pace=steady)


async def measure(talk: Talk, most: int) -> Sequence[Row]:
    """Run everything, one after the other."""
    rows = []
    for name, burst, steady in plans(talk, most):
        rows.append(Row(name, await run(burst), await run(steady)))
        print(rows[-1].line(), flush=True)
    return rows


def main() -> None:
    """Print a row for each number of gateways; exit with 1 when a promise was broken."""
    parser = argparse.ArgumentParser(prog="bench.gateways")
    parser.add_argument("--most", type=int, default=3, choices=(1, 2, 3, 6), help="most gateways; six agents in all")
    parser.add_argument("--burst", type=int, default=USUAL.burst)
    parser.add_argument("--steady", type=int, default=USUAL.steady)
    parser.add_argument("--a-second", type=float, default=USUAL.a_second)
    given = parser.parse_args()
    print(f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}; times in milliseconds\n{HEAD}", flush=True)
    rows = asyncio.run(measure(Talk(given.burst, given.steady, given.a_second), given.most))
    sys.exit(not all(row.is_right for row in rows))


if __name__ == "__main__":
    main()
