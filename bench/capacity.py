"""`python -m bench.capacity`: measures, models and simulates capacity, and updates the paper's tables.

python -m bench.capacity [--kept] [--write]

`--kept` uses the costs measured last. `--write` stores the new ones in `bench/costs.json` and puts the tables between
the marks of `docs/measurements/scale.md`. Measuring takes some two minutes, the rest one.
"""

import argparse
import asyncio
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bench.capacity_day import Day, Death, Seen, least_gateways, simulate, simulate_burst
from bench.capacity_model import CHOSEN, USUAL, Capacity, Question, busy_share, capacity, open_share, wait_p95_ms
from bench.costs import Costs, read_costs, write_costs

PAPER = Path(__file__).parents[1] / "docs" / "measurements" / "scale.md"
SIZES = (1_000, 1_000_000)
BURST, CHATS = 300, 30
"""As in `bench.weighing` and `bench.gateways`."""
_BUSY = (0.5, 0.8)
"""Utilisations of a processor at which the queueing formula is checked."""
_MOST_SIMULATED = 20_000
"""Agents: beyond this number one shard or a part of one is simulated, with its gateways in proportion."""
_PATIENT_MS = 150.0
"""Limit for the wait for a processor of 19 in 20 messages (the goal of the load bench)."""
_DEATH = Death(at_s=1_800, back_s=60)


@dataclass(frozen=True, slots=True)
class Trial:
    """A model's answer, and its simulation."""

    found: Capacity
    day: Day
    quiet: Seen
    death: Seen
    least: int | None
    """The fewest gateways with an acceptable wait for a processor."""

    def rows(self) -> Iterator[str]:
        """Yield both, side by side, as rows of a table."""
        found, quiet, death = self.found, self.quiet, self.death
        at = f"| {self.day.agents:,} on {self.day.gateways}"
        yield f"{at}: busy | {100 * found.utilisation:.1f} % | {100 * quiet.utilisation:.1f} % |"
        modelled = found.open_indexes * self.day.agents / found.agents
        yield f"{at}: indexes open | {modelled:,.0f} | {quiet.open_indexes:,} at most |"
        yield f"{at}: added, 95 of 100 | {found.added_p95_ms:,.0f} ms | {quiet.added_ms(0.95):,.0f} ms |"
        yield f"{at}: of that, waiting for a processor | | {quiet.queued_ms(0.95):.0f} ms |"
        yield f"{at}, one dies: added, 99 and 99.9 of 100 | | {_two(death)} |"
        needed = "more than there are" if self.least is None else f"{self.least}"
        yield f"{at}: gateways that the processor alone asks for | | {needed} |"


def _two(seen: Seen) -> str:
    return f"{seen.added_ms(0.99) / 1000:.1f} s and {seen.added_ms(0.999) / 1000:.1f} s"


def trial(costs: Costs, agents: int, most: int = _MOST_SIMULATED) -> Trial:
    """Model *agents*, and simulate them, or as many whole gateways of a shard as hold *most*."""
    found = capacity(costs, Question(agents))
    gateways = min(found.gateways, max(2, round(found.gateways * most / agents)))
    day = Day(round(agents * gateways / found.gateways), gateways)
    dying = replace(day, death=_DEATH)
    return Trial(found, day, simulate(costs, day), simulate(costs, dying), least_gateways(costs, day, _PATIENT_MS, 4))


def tables(costs: Costs, trials: Sequence[Trial]) -> dict[str, str]:
    """Return the paper's tables by the names of their marks."""
    return {
        "costs": costs_table(costs),
        "model": model_table(costs, [each.found for each in trials]),
        "simulation": "\n".join(_simulation(costs, trials)),
    }


def costs_table(costs: Costs) -> str:
    """Return the measured costs, with date and machine."""
    when = f"{costs.day}, {costs.machine}, load average {costs.load:.1f} before:"
    return "\n".join([when, "", *costs.lines()])


def model_table(costs: Costs, found: Sequence[Capacity]) -> str:
    """Return the resources for each number of agents, a column a size."""
    share = 100 * open_share(USUAL, CHOSEN)
    rows: list[tuple[str, list[str]]] = [
        ("messages a second, busiest", [f"{each.messages_a_second:,.1f}" for each in found]),
        ("shards, each a Redis with a replica", [f"{each.shards:,}" for each in found]),
        ("gateways, spare ones included", [f"{each.gateways:,}" for each in found]),
        ("agents that a gateway can have", [f"{each.agents_a_gateway:,}, by its {each.binding}" for each in found]),
        ("a gateway's processor, busiest", [f"{100 * each.utilisation:.1f} %" for each in found]),
        (f"indexes open, busiest ({share:.0f} %)", [f"{each.open_indexes:,.0f}" for each in found]),
        ("memory of gateways and workers", [f"{each.gateway_gb:,.0f} GB" for each in found]),
        ("memory of each Redis", [f"{each.redis_gb / each.shards:,.1f} GB" for each in found]),
        ("disk of the agents after a year", [f"{each.disk_gb:,.0f} GB" for each in found]),
        ("money a month, without models", [f"{each.money:,.0f}" for each in found]),
        ("Qdrant nodes instead of embedded indexes", [f"{each.qdrant_nodes:,}" for each in found]),
        ("their disk", [f"{each.qdrant_disk_gb:,.0f} GB" for each in found]),
    ]
    head = ["| |" + "".join(f" {each.agents:,} agents |" for each in found), "|---|" + "---|" * len(found)]
    return "\n".join([*head, *(f"| {name} |" + "".join(f" {each} |" for each in values) for name, values in rows)])


def _simulation(costs: Costs, trials: Sequence[Trial]) -> Iterator[str]:
    burst = simulate_burst(costs, BURST, CHATS)
    rate, half = burst.messages / burst.seconds, burst.added_ms(0.5)
    yield "| what | model, or measured | simulated |"
    yield "|---|---|---|"
    yield f"| measured: a burst of {BURST}, one gateway | {costs.burst_a_second:.1f} a second | {rate:.1f} a second |"
    yield f"| measured: half of it answered | {costs.burst_p50_ms / 1000:.1f} s | {half / 1000:.1f} s |"
    for busy in _BUSY:
        seen = simulate(costs, busy_day(costs, busy))
        name, formula = f"a gateway busy {100 * busy:.0f} %: waiting for it, 95 of 100", wait_p95_ms(busy, costs)
        yield f"| {name} | {formula:.0f} ms | {seen.queued_ms(0.95):.0f} ms, busy {100 * seen.utilisation:.0f} % |"
    for each in trials:
        yield from each.rows()


def busy_day(costs: Costs, busy: float, hours: float = 0.5) -> Day:
    """Return a day of one gateway with as many agents as bring its processor to the utilisation *busy*."""
    return Day(round(busy / busy_share(costs, USUAL)), 1, USUAL, hours)


def renewed(paper: str, made: dict[str, str]) -> str:
    """Return *paper* with each table between its marks. Raises KeyError for a table without marks."""
    for name, table in made.items():
        before, mark, rest = paper.partition(f"<!-- {name} -->\n")
        _, end, after = rest.partition(f"\n<!-- /{name} -->")
        if not mark or not end:
            raise KeyError(name)
        paper = before + mark + table + end + after
    return paper


def main() -> None:
    """Print the tables, and update the paper's if requested."""
    parser = argparse.ArgumentParser(prog="bench.capacity")
    parser.add_argument("--kept", action="store_true", help="use the costs in bench/costs.json without measuring")
    parser.add_argument("--write", action="store_true", help="store the costs and update docs/measurements/scale.md")
    given = parser.parse_args()
    costs = read_costs() if given.kept else asyncio.run(_weighed())
    if given.write:
        write_costs(costs)
        costs = read_costs()  # rounded, as the tables are made of them
    began = time.perf_counter()
    made = tables(costs, [trial(costs, agents) for agents in SIZES])
    print("\n\n".join(made.values()), f"\n\nsimulated in {time.perf_counter() - began:.0f} s")
    if given.write:
        PAPER.write_text(renewed(PAPER.read_text("utf-8"), made), "utf-8")


async def _weighed() -> Costs:
    from bench.weighing import weigh  # the engine, the model and the servers: not for the model alone

    return await weigh()


if __name__ == "__main__":
    main()
