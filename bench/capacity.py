"""`python -m bench.capacity`: measures what agents cost, models what many of them need, and updates the paper's tables.

python -m bench.capacity [--kept] [--write]

`--kept` uses the costs measured last. `--write` stores the new ones in `bench/costs.json` and puts the tables between
the marks of `docs/measurements/scale.md`. Measuring takes some two minutes.
"""

import argparse
import asyncio
from collections.abc import Sequence
from pathlib import Path

from bench.capacity_model import CHOSEN, USUAL, Capacity, Question, capacity, open_share
from bench.costs import Costs, read_costs, write_costs

PAPER = Path(__file__).parents[1] / "docs" / "measurements" / "scale.md"
SIZES = (1_000, 1_000_000)


def costs_table(costs: Costs) -> str:
    """Return the measured costs, with date and machine."""
    when = f"{costs.day}, {costs.machine}, load average {costs.load:.1f} before:"
    return "\n".join([when, "", *costs.lines()])


def model_table(found: Sequence[Capacity]) -> str:
    """Return the resources for each number of agents, a column a size."""
    share = 100 * open_share(USUAL, CHOSEN)
    rows: list[tuple[str, list[str]]] = [
        ("messages a second, busiest", [f"{each.messages_a_second:,.1f}" for each in found]),
        ("shards, each a Redis with a replica", [f"{each.shards:,}" for each in found]),
        ("gateways, spare ones included", [f"{each.gateways:,}" for each in found]),
        ("agents that a gateway can have", [f"{each.agents_a_gateway:,}, by its {each.binding}" for each in found]),
        ("a gateway's processor, busiest", [f"{100 * each.utilisation:.1f} %" for each in found]),
        ("an answer beyond the model's time, 95 of 100", [f"{each.added_p95_ms:,.0f} ms" for each in found]),
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
    made = {"costs": costs_table(costs), "model": model_table([capacity(costs, Question(agents)) for agents in SIZES])}
    print("\n\n".join(made.values()))
    if given.write:
        PAPER.write_text(renewed(PAPER.read_text("utf-8"), made), "utf-8")


async def _weighed() -> Costs:
    from bench.weighing import weigh  # the engine, the model and the servers: not for the model alone

    return await weigh()


if __name__ == "__main__":
    main()
