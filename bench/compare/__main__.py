"""`make compare`: Strandline beside nanobot, hermes-agent and OpenClaw, measured on this machine.

Each is installed from its registry into a scratch folder; the rest runs in a network namespace with loopback only.
"""

import argparse
import asyncio
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from bench.compare.hermes import Hermes
from bench.compare.measure import Findings, measure
from bench.compare.nanobot import Nanobot
from bench.compare.openclaw import OpenClaw
from bench.compare.ours import Strandline
from bench.compare.rival import Rival

RIVALS: Sequence[Rival] = (Strandline(), Nanobot(), Hermes(), OpenClaw())
RUN_S = 1_200.0
"""Bound of a run in all: a gateway has its share of it, and what those before it did not use."""
ISOLATED = ("unshare", "--map-root-user", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh")


def main() -> None:
    """Install what is missing, measure in isolation, print a table."""
    parser = argparse.ArgumentParser(prog="bench.compare")
    parser.add_argument(
        "--folder", type=Path, default=Path("build/compare"), help="scratch folder of the installations"
    )
    parser.add_argument("--only", action="append", choices=[rival.name for rival in RIVALS])
    parser.add_argument("--isolated", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    chosen = [rival for rival in RIVALS if given.only is None or rival.name in given.only]
    if given.isolated:
        asyncio.run(_measured(chosen, given.folder))
        return
    for rival in chosen:
        _install(rival, given.folder / rival.name)
    if shutil.which("unshare") is None:
        sys.exit("unshare (util-linux) is needed: without it a rival could reach beyond this machine")
    command = [*ISOLATED, sys.executable, "-m", "bench.compare", "--isolated", *sys.argv[1:]]
    sys.exit(subprocess.run(command, check=False).returncode)


def _install(rival: Rival, folder: Path) -> None:
    if (folder / "installed").exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    print(f"installing {rival.name}", file=sys.stderr, flush=True)
    try:
        rival.install(folder.resolve())
    except (OSError, subprocess.CalledProcessError) as exc:
        print(f"{rival.name} could not be installed: {exc}", file=sys.stderr)
        return
    (folder / "installed").touch()


async def _measured(rivals: Sequence[Rival], folder: Path) -> None:
    found: dict[str, Findings] = {}
    began = asyncio.get_running_loop().time()
    for number, rival in enumerate(rivals, 1):
        place = (folder / rival.name).resolve()
        if not (place / "installed").exists():
            found[rival.name] = {}
            continue
        measured = await measure(rival, place, began + RUN_S * number / len(rivals))
        found[rival.name] = {"installed, MB": [_size_mb(rival.installed(place))], **measured}
        print(f"{rival.name} {rival.version(place)} is measured", file=sys.stderr, flush=True)
    _print(rivals, found, folder)
    (folder / "figures.json").write_text(json.dumps(found, indent=1))


def _size_mb(folder: Path) -> float:
    files = (file for file in folder.rglob("*") if file.is_file() and not file.is_symlink())
    return sum(file.stat().st_blocks * 512 for file in files) / 1_000_000


def _print(rivals: Sequence[Rival], found: dict[str, Findings], folder: Path) -> None:
    print(f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores, {platform.system()}, load {os.getloadavg()[0]:.1f}\n")
    heads = [f"{rival.name} {rival.version((folder / rival.name).resolve())}".strip() for rival in rivals]
    print(f"| | {' | '.join(heads)} |\n|---|{'---|' * len(heads)}")
    names = list(dict.fromkeys(name for each in found.values() for name in each))
    for name in names:
        cells = [_cell(found[rival.name].get(name, "")) for rival in rivals]
        print(f"| {name} | {' | '.join(cells)} |")


def _cell(runs: Sequence[float] | str) -> str:
    """Return the median, with the least and the greatest of several runs, and the 95th percentile of many."""
    if isinstance(runs, str):
        return runs or "not measured"
    middle = f"{statistics.median(runs):.3g}" if statistics.median(runs) < 1000 else f"{statistics.median(runs):,.0f}"
    if len(runs) < 2:
        return middle
    if len(runs) >= 20:
        return f"{middle} (p95 {statistics.quantiles(runs, n=20)[-1]:.3g})"
    return f"{middle} ({min(runs):.3g} … {max(runs):.3g})"


if __name__ == "__main__":
    main()
