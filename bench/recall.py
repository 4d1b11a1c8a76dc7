"""Benchmark of automatic recall: how often the evidence is in the prompt unasked, and its cost.

    python -m bench.recall DATA        # a file of LoCoMo, a folder of REALTALK or BEAM

Questions are messages that should bring something up; turns of the other conversations are messages that mostly should
not, although some name or ask something.
"""

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from statistics import fmean

from bench.retrieval import Bench, Corpus, conversations_in, corpus_of, interval_of
from gateway.agent.recall import CANDIDATES, RecallSettings, asks_about_the_past, file_of, fitting, line_of
from gateway.agent.recall_gate import calls_for_memories
from gateway.agent.window.count import estimate_tokens
from workspaces.access import PRIVATE
from workspaces.memory.hits import LONGEST_SNIPPET, Hit
from workspaces.memory.index.embeddings.local import LocalEmbedder
from workspaces.memory.index.order import MatchingEntry
from workspaces.memory.source_index import LOOKED_AT
from workspaces.memory.text.dialogue import LineKind

BUDGETS = (300, 500, 800, 1_000)
"""Tokens of a prompt for memories."""
EVERY = 40
"""Interval of another conversation's turns used as messages."""


@dataclass(frozen=True, slots=True)
class Brought:
    """Passages recalled for one message."""

    corpus: str
    asks: bool
    """It is a question of this conversation."""
    is_past: bool
    hits: int
    tokens: int
    covered: float
    """Share of the evidence in the prompt."""


def run(data: Path) -> str:
    """Return a Markdown table of modes and budgets. Raises ImportFormatError."""
    corpora = [corpus_of(conversation) for conversation in conversations_in(data)]
    brought: dict[int, list[Brought]] = {budget: [] for budget in BUDGETS}
    embedder = LocalEmbedder()
    for place, corpus in enumerate(corpora):
        strangers = _turns(corpora[(place + 1) % len(corpora)])
        with tempfile.TemporaryDirectory(prefix="strandline-bench-") as folder:
            bench = Bench(corpus, embedder, Path(folder))
            for text, evidence in [*((q.text, q.evidence) for q in corpus.questions), *((t, None) for t in strangers)]:
                found = bench.found(text, CANDIDATES + LOOKED_AT) if calls_for_memories(text) else []
                for budget, outcomes in brought.items():
                    outcomes.append(_judge(corpus.name, text, evidence, found, budget))
            bench.close()
    return _table(brought)


def _turns(corpus: Corpus) -> list[str]:
    lines = [line for _, note in sorted(corpus.notes.items()) for line in note.splitlines()]
    said = [line.partition(": ")[2] for line in lines if ": " in line]
    return [text for text in said[::EVERY] if text]


def _judge(
    corpus: str,
    text: str,
    evidence: frozenset[tuple[str, int]] | None,
    found: Sequence[MatchingEntry],
    budget: int,
) -> Brought:
    chosen = fitting(map(as_hit, found), RecallSettings(tokens=budget))
    held = {(hit.path, line) for hit in chosen for line in range(hit.start_line, hit.end_line + 1)}
    return Brought(
        corpus=corpus,
        asks=evidence is not None,
        is_past=asks_about_the_past(text, date(2023, 12, 31)),
        hits=len(chosen),
        tokens=sum(map(estimate_tokens, [*map(line_of, chosen), *set(map(file_of, chosen))])),
        covered=len(evidence & held) / len(evidence) if evidence else 0.0,
    )


def as_hit(found: MatchingEntry) -> Hit:
    """Return *found* as a hit of the gateway."""
    entry = found.entry
    return Hit(
        path=entry.path,
        start_line=entry.start_line,
        end_line=entry.end_line,
        snippet=entry.text[:LONGEST_SNIPPET],
        section=entry.section,
        date=entry.date,
        scope=PRIVATE,
        score=found.score,
        similarity=found.similarity,
        late=found.late,
        keyword=found.keyword,
        matched=found.matched,
        is_answer=found.kind is LineKind.ANSWER,
    )


def _table(brought: dict[int, list[Brought]]) -> str:
    head = ["mode", "tokens", "evidence in the prompt", "95 %", "tokens a question", "others: brought up", "tokens"]
    rows = (_row(mode, budget, each) for mode in ("on", "past") for budget, each in brought.items())
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, ["---"] * len(head), *rows])


def _row(mode: str, budget: int, outcomes: Sequence[Brought]) -> list[str]:
    seen = [each if mode == "on" or each.is_past else replace(each, hits=0, tokens=0, covered=0.0) for each in outcomes]
    asked, others = [each for each in seen if each.asks], [each for each in seen if not each.asks]
    low, high = interval_of([(each.corpus, each.covered) for each in asked])
    evidence, disturbed = fmean(each.covered for each in asked), fmean(each.hits > 0 for each in others)
    costs = [f"{fmean(each.tokens for each in group):.0f}" for group in (asked, others)]
    shares = [f"{100 * evidence:.1f}", f"{low:.1f} to {high:.1f}", costs[0], f"{100 * disturbed:.1f}", costs[1]]
    return [mode, str(budget), *shares]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="bench.recall")
    parser.add_argument("data", type=Path)
    print(run(parser.parse_args().data))


if __name__ == "__main__":
    main()
