"""`make bench`: measures what people wait for, and prints the results beside their goals.

It exits with 1 if a goal was missed, after a table of those that were. The rivals' figures were measured on a similar
machine (two cores, an instant model): nanobot, hermes-agent, OpenClaw.
"""

import argparse
import asyncio
import json
import os
import sys
import time
from collections.abc import Mapping
from typing import Any, Protocol

from bench import gateway, history, hooks, index, messages, page, search, talk, transcripts, webhook
from bench.figures import Figure, as_json, machine, missed

PARTS: Mapping[str, Any] = {
    part.__name__.rpartition(".")[2]: part
    for part in (messages, gateway, search, index, hooks, history, page, talk, transcripts, webhook)
}


class Part(Protocol):
    """A module with measurements."""

    async def run(self) -> list[Figure]:
        """Return its figures."""


def main(parts: Mapping[str, Part] = PARTS) -> None:
    """Print a table, or JSON."""
    parser = argparse.ArgumentParser(prog="bench")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--only", action="append", choices=list(parts), help="may be repeated")
    given = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # programs that it starts find compiled modules, as a user's do
    began, figures = time.perf_counter(), list[Figure]()
    if not given.json:
        print(f"{machine()}; median, least … greatest, goal, rivals", flush=True)
    for name in given.only or parts:
        found = asyncio.run(parts[name].run())
        figures += found
        if not given.json:
            print(*(figure.line() for figure in found), sep="\n", flush=True)
    if given.json:
        print(json.dumps(as_json(figures)))
    elif table := missed(figures):
        print(f"\n{table}")
    if not given.json:
        print(f"\n{time.perf_counter() - began:.0f} s; {machine()} at the end")
    sys.exit(any(figure.is_missed for figure in figures))


if __name__ == "__main__":
    main()
