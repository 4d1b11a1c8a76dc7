"""Benchmark of automatic recall: how often the evidence is in the prompt unasked, and its cost.

    python -m bench.recall FILE        # conversations in LoCoMo's format

Questions are messages that should bring something up; turns of the other conversations are messages that should not.
"""

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from statistics import fmean

from bench.retrieval import Bench, Corpus, corpus_of
from gateway.agent.recall import CANDIDATES, RecallSettings, asks_about_the_past, fitting, line_of
from gateway.agent.window.count import estimate_tokens
from gateway.importers.locomo import read_locomo
from workspaces.access import PRIVATE
from workspaces.memory.hits import LONGEST_SNIPPET, Hit
from workspaces.memory.index.embeddings.local import LocalEmbedder
from workspaces.memory.index.finder import MatchingEntry

THRESHOLDS = (0.40, 0.45, 0.50, 0.55, 0.60)
EVERY = 40
"""Interval of another conversation's turns used as messages."""


@dataclass(frozen=True, slots=True)
class Brought:
    """Passages recalled for one message."""

    asks: bool
    """It is a question of this conversation."""
    is_past: bool
    hits: int
    tokens: int
    covered: float
    """Share of the evidence in the prompt."""


def run(file: Path) -> str:
    """Return a Markdown table of modes and thresholds. Raises ImportFormatError."""
    corpora = [corpus_of(conversation) for conversation in read_locomo(file)]
    brought: dict[float, list[Brought]] = {threshold: [] for threshold in THRESHOLDS}
    embedder = LocalEmbedder()
    for place, corpus in enumerate(corpora):
        strangers = _turns(corpora[(place + 1) % len(corpora)])
        with tempfile.TemporaryDirectory(prefix="strandline-bench-") as folder:
            bench = Bench(corpus, embedder, Path(folder))
            for text, evidence in [*((q.text, q.evidence) for q in corpus.questions), *((t, None) for t in strangers)]:
                found = bench.found(text, CANDIDATES)
                for threshold, outcomes in brought.items():
                    outcomes.append(_judge(text, evidence, found, RecallSettings(clear=threshold)))
            bench.close()
    return _table(brought)


def _turns(corpus: Corpus) -> list[str]:
    lines = [line for _, note in sorted(corpus.notes.items()) for line in note.splitlines()]
    said = [line.partition(": ")[2] for line in lines if ": " in line]
    return [text for text in said[::EVERY] if text]


def _judge(
    text: str, evidence: frozenset[tuple[str, int]] | None, found: Sequence[MatchingEntry], settings: RecallSettings
) -> Brought:
    chosen = fitting([hit for hit in map(_hit, found) if hit.relevance >= settings.clear], settings)
    held = {(hit.path, line) for hit in chosen for line in range(hit.start_line, hit.end_line + 1)}
    return Brought(
        asks=evidence is not None,
        is_past=asks_about_the_past(text, date(2023, 12, 31)),
        hits=len(chosen),
        tokens=sum(estimate_tokens(line_of(hit)) for hit in chosen),
        covered=len(evidence & held) / len(evidence) if evidence else 0.0,
    )


def _hit(found: MatchingEntry) -> Hit:
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
        relevance=found.relevance,
    )


def _table(brought: dict[float, list[Brought]]) -> str:
    head = ["mode", "threshold", "evidence in the prompt", "some of it", "tokens a question", "others: brought up"]
    lines = [head, ["---"] * 7, *(_row(mode, t, each) for mode in ("on", "past") for t, each in brought.items())]
    lines[0] = [*head, "tokens a message"]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _row(mode: str, threshold: float, outcomes: Sequence[Brought]) -> list[str]:
    seen = [each if mode == "on" or each.is_past else replace(each, hits=0, tokens=0, covered=0.0) for each in outcomes]
    asked, others = [each for each in seen if each.asks], [each for each in seen if not each.asks]
    shares = [each.covered for each in asked], [each.covered > 0 for each in asked], [each.hits > 0 for each in others]
    evidence, some, disturbed = (f"{100 * fmean(share):.1f}" for share in shares)
    costs = (f"{fmean(each.tokens for each in group):.0f}" for group in (asked, others))
    return [mode, f"{threshold:.2f}", evidence, some, next(costs), disturbed, next(costs)]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="bench.recall")
    parser.add_argument("file", type=Path)
    print(run(parser.parse_args().file))


if __name__ == "__main__":
    main()
