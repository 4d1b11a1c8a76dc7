"""`make bench`: measures gateway, search, history, page, transcripts and talks; prints the results beside their goals.

The rivals' figures were measured on a similar machine (two cores, an instant model): nanobot, hermes-agent, OpenClaw.
"""

import argparse
import asyncio
import json
import os

from bench import gateway, history, hooks, http, index, page, search, talk, transcripts, webhook


def main() -> None:
    """Print a table, or JSON."""
    parser = argparse.ArgumentParser(prog="bench")
    parser.add_argument("--json", action="store_true")
    parser.add_argument(
        "--only",
        choices=("gateway", "hooks", "http", "search", "index", "history", "page", "talk", "transcripts", "webhook"),
    )
    given = parser.parse_args()
    every = (gateway, hooks, http, search, index, history, page, talk, transcripts, webhook)
    parts = [part for part in every if given.only in {None, part.__name__.rpartition(".")[2]}]
    figures = [figure for part in parts for figure in asyncio.run(part.run())]
    if given.json:
        print(json.dumps({figure.name: {"median": figure.value, "runs": list(figure.runs)} for figure in figures}))
        return
    print(f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}; median, least … greatest, goal, rivals")
    for figure in figures:
        print(figure.line())


if __name__ == "__main__":
    main()
