"""Measures the check-up on a year of notes with planted faults, and on many entries.

python -m bench.checkup                    # --seed 2; --misses shows what was missed and what was wrong
python -m bench.checkup --entries 100000   # time and memory of as many generated notes
"""

import argparse
import asyncio
import resource
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bench.made_notes import daily_notes
from bench.planted_year import TODAY, PlantedYear, plant_year
from gateway.checkup.checkup import checked_agent, run_checkup
from gateway.checkup.proposals import CheckupProposal, CheckupRecord
from gateway.home import Home
from tests.journeys.house import make_home, running
from workspaces.access import owner_access
from workspaces.memory.checkup.findings import FindingKind


@dataclass(frozen=True, slots=True)
class Judged:
    """The proposals of one check-up beside what was planted."""

    right: Counter[FindingKind]
    """Proposals about a planted fault, by the fault's kind."""
    same_kind: int
    """Those of them that name its kind."""
    wrong: list[CheckupProposal]
    missed: list[tuple[FindingKind, tuple[str, str]]]

    @property
    def precision(self) -> float:
        """Share of the proposals that concern a fault."""
        found = sum(self.right.values())
        return found / max(found + len(self.wrong), 1)

    @property
    def recall(self) -> float:
        """Share of the faults that a proposal concerns."""
        found = sum(self.right.values())
        return found / max(found + len(self.missed), 1)


@dataclass(frozen=True, slots=True)
class Run:
    """A check-up and its cost."""

    record: CheckupRecord
    seconds: float
    steps: int
    """Reports of progress."""
    changed: int
    """Files of notes that differ afterwards: nobody tapped anything."""


async def check_home(home: Home, now: datetime) -> Run:
    """Check the notes of *home* as its owner."""
    steps: list[int] = []
    async with running(home) as app:
        [agent] = app.operator.agents
        checked = checked_agent(agent, app.parts.resources.sessions, UTC)
        notes = home.agent("main").workspace
        before = {path: path.read_bytes() for path in sorted(notes.rglob("*.md"))}
        begun = time.perf_counter()
        record = await run_checkup(checked, owner_access(agent.id, "bench"), now, lambda done, _: steps.append(done))
        seconds = time.perf_counter() - begun
        changed = sum(path.read_bytes() != text for path, text in before.items())
        return Run(record, seconds, len(steps), changed)


def judge(year: PlantedYear, proposals: Sequence[CheckupProposal]) -> Judged:
    """Compare *proposals* with what was planted; of a double, either line is right."""
    left = year.planted.copy()
    right: Counter[FindingKind] = Counter()
    wrong, same_kind = [], 0
    for each in proposals:
        if each.kind is FindingKind.PROMOTION:
            continue
        lines = [(each.path, each.before), (each.beside_path, each.beside)]
        fault = next((line for line in lines[: 1 + (each.kind is FindingKind.DOUBLE)] if left[line]), None)
        if fault is None:
            wrong.append(each)
            continue
        left[fault] -= 1
        right[year.kinds[fault]] += 1
        same_kind += year.kinds[fault] is each.kind
    missed = [(year.kinds[line], line) for line in left.elements()]
    return Judged(right, same_kind, wrong, missed)


def _table(year: PlantedYear, judged: Judged, run: Run) -> Iterator[str]:
    yield f"{run.record.entries:,} entries, {sum(year.planted.values()):,} planted faults, {run.seconds:.1f} s"
    yield f"precision {judged.precision:.3f}, recall {judged.recall:.3f}, right kind {judged.same_kind}"
    planted = Counter(kind for line, kind in year.kinds.items() for _ in range(year.planted[line]))
    for kind in FindingKind:
        if planted[kind]:
            wrong = sum(each.kind is kind for each in judged.wrong)
            yield f"  {kind:10} found {judged.right[kind]:4} of {planted[kind]:4}, wrong proposals {wrong}"


def _shown(judged: Judged) -> Iterator[str]:
    for each in judged.wrong:
        yield f"wrong {each.kind} {each.citation}: {each.before.strip()} ({each.reason})"
    for (kind, (path, line)), number in Counter(judged.missed).items():
        yield f"missed {number} {kind} {path}: {line}"


async def year_run(folder: Path, seed: int, *, misses: bool, faults: int = 1_000) -> Iterator[str]:
    """Return the figures of a planted year, and whether the notes are as before."""
    year = plant_year(folder / "home", seed=seed, faults=faults)
    run = await check_home(year.home, datetime(TODAY.year, TODAY.month, TODAY.day, tzinfo=UTC))
    judged = judge(year, run.record.proposals)
    lines = [*_table(year, judged, run), f"files changed without a tap: {run.changed}"]
    return iter([*lines, *(_shown(judged) if misses else [])])


async def many_run(folder: Path, entries: int) -> Iterator[str]:
    """Return time and memory of a check-up of *entries* generated notes."""
    home = make_home(folder / "home")
    notes = home.agent("main").workspace / "memory"
    notes.mkdir(exist_ok=True)
    for day, text in daily_notes(entries):
        (notes / f"{day}.md").write_text(text, "utf-8")
    run = await check_home(home, datetime(2026, 7, 1, tzinfo=UTC))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return iter([f"{run.record.entries:,} entries: {run.seconds:.0f} s, peak {peak:.0f} MB, {run.steps:,} reports"])


async def _main() -> None:
    parser = argparse.ArgumentParser(prog="bench.checkup")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--misses", action="store_true")
    parser.add_argument("--entries", type=int)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines = many_run(folder, given.entries) if given.entries else year_run(folder, given.seed, misses=given.misses)
        print("\n".join(await lines))


if __name__ == "__main__":
    asyncio.run(_main())
