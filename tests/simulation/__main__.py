"""`python -m tests.simulation --seeds N` runs as many worlds; `--seed K` repeats one, with its trace."""

import argparse
import gc
import logging
import sys
import time
from collections import Counter
from collections.abc import Callable

from tests.simulation import virtual_time

MOST_SEEDS = 2_000
"""Worlds in which a planted fault must be found."""


def main() -> int:
    """Return 1 if a promise was broken, or a planted fault was not found."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=100, help="how many worlds")
    parser.add_argument("--first", type=int, default=0, help="the seed of the first one")
    parser.add_argument("--seed", type=int, help="only this one, with its trace")
    parser.add_argument("--fifo", action="store_true", help="ready steps are taken first come, first served")
    parser.add_argument("--digests", action="store_true", help="print a digest of each world")
    parser.add_argument("--plant", default="", help="with this fault planted")
    parser.add_argument("--planted", action="store_true", help="plant each fault, until a world shows it")
    given = parser.parse_args()
    logging.getLogger().addHandler(logging.NullHandler())  # a world's gateway has no memory worker, and warns of it
    virtual_time.install()
    from tests.simulation.planted import PLANTED
    from tests.simulation.worlds import make_ready, nothing

    make_ready()
    gc.collect()
    gc.freeze()
    for each in PLANTED:
        each.source()
    faults = {each.name: each.plant for each in PLANTED}
    if given.planted:
        return sum([_look_for(name, plant, given.first) for name, plant in faults.items()]) > 0
    plant = faults[given.plant] if given.plant else nothing
    return _repeat(given, plant) if given.seed is not None else _run(given, plant)


def _repeat(given: argparse.Namespace, plant: Callable[[], None]) -> bool:
    from tests.simulation.worlds import run_world

    world = run_world(given.seed, fifo=given.fifo, plant=plant)
    print("\n".join(world.trace), world.failure, world.digest(), sep="\n")
    return bool(world.failure)


def _run(given: argparse.Namespace, plant: Callable[[], None]) -> bool:
    from tests.simulation.worlds import run_world

    marks, failed, virtual_s, steps, began_s = Counter[str](), 0, 0.0, 0, virtual_time.real_monotonic()
    for seed in range(given.first, given.first + given.seeds):
        world = run_world(seed, fifo=given.fifo, plant=plant)
        marks.update(world.marks.keys())
        virtual_s, steps, failed = virtual_s + world.now, steps + world.steps, failed + bool(world.failure)
        if given.digests:
            print(seed, world.digest())
        if world.failure:
            planted = f" --plant '{given.plant}'" if given.plant else ""
            fifo = " --fifo" if given.fifo else ""
            print(f"seed {seed}: {world.failure}", flush=True)
            print(f"repeat: python -m tests.simulation --seed {seed}{fifo}{planted}", flush=True)
    took_s, used = virtual_time.real_monotonic() - began_s, time.process_time()
    print(f"{given.seeds} worlds, {failed} failed; {virtual_s / 3600:.0f} virtual hours, {steps} steps, {took_s:.0f} s")
    print(f"{virtual_s / took_s:.0f} simulated hours an hour", f"({used:.0f} s in this process)")
    for name, count in sorted(marks.items()):
        print(f"{count:6} {name}")
    return failed > 0


def _look_for(name: str, plant: Callable[[], None], first: int) -> bool:
    """Print in which world a planted fault is found that is sound without it; return whether there is none."""
    from tests.simulation.worlds import run_world

    for seed in range(first, first + MOST_SEEDS):
        world = run_world(seed, plant=plant)
        if world.failure and not run_world(seed).failure:
            print(f"| {name} | {seed - first + 1} | {world.failure.splitlines()[-1][:90]} |", flush=True)
            return False
    print(f"| {name} | not found in {MOST_SEEDS} | |", flush=True)
    return True


if __name__ == "__main__":
    sys.exit(main())
