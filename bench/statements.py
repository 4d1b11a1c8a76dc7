"""Benchmark of what holds: whether a newer statement stands above the older one, and a denial beside what it denies.

    python -m bench.statements DATA        # a folder of BEAM; --misses

Of BEAM's `knowledge_update` and `contradiction_resolution`, by the first ten results of a search as shipped.
"""

import argparse
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from bench.asked import AskedConversation
from bench.recall import as_hit
from bench.retrieval import Bench, conversations_in, corpus_of
from workspaces.memory.assembly import assembled, considered
from workspaces.memory.hits import Hit
from workspaces.memory.index.embeddings.local import LocalEmbedder

SHOWN = 10
UPDATE, CONTRADICTION = "knowledge-update", "contradiction-resolution"


def place_of(side: Sequence[str], conversation: AskedConversation, hits: Sequence[Hit]) -> int | None:
    """Return the place, from 0, of the first of *hits* that holds a turn of *side*."""
    lines = {(at.path, at.line) for at in map(conversation.places.__getitem__, side)}
    holds = (any(hit.path == path and hit.start_line <= n <= hit.end_line for path, n in lines) for hit in hits)
    return next((place for place, is_there in enumerate(holds) if is_there), None)


def judged(kind: str, sides: Sequence[Sequence[str]], conversation: AskedConversation, hits: Sequence[Hit]) -> str:
    """Return what became of the two *sides* of a question of *kind* among *hits*, the first ten."""
    first, second = (place_of(side, conversation, hits) for side in sides)
    if first is None or second is None:
        return "not both found"
    if kind == UPDATE:
        return "right" if second <= first else "older first"  # one line may give both values
    return "right" if all(hits[place].mark.startswith("contradicts") for place in (first, second)) else "not marked"


Searched = Callable[[str], Sequence[Hit]]


def outcomes(conversation: AskedConversation, search: Searched) -> Iterator[tuple[str, str, str]]:
    """Yield kind, question and outcome of each question with two sides."""
    for each in conversation.questions:
        if each.kind in {UPDATE, CONTRADICTION} and len(each.sides) == 2 and all(each.sides):
            yield each.kind, each.text, judged(each.kind, each.sides, conversation, search(each.text)[:SHOWN])


def run(data: Path, *, misses: bool = False) -> str:
    """Return the figures as text, with *misses* also the questions. Raises ImportFormatError."""
    embedder = LocalEmbedder()
    found: list[tuple[str, str, str]] = []
    for conversation in conversations_in(data):
        with tempfile.TemporaryDirectory(prefix="strandline-bench-") as folder:
            bench = Bench(corpus_of(conversation), embedder, Path(folder))

            def search(text: str, bench: Bench = bench) -> Sequence[Hit]:
                return assembled([*map(as_hit, bench.found(text, considered(text)))], text, bench.today)

            found += outcomes(conversation, search)
            bench.close()
    counts = Counter((kind, outcome) for kind, _, outcome in found)
    lines = [f"{kind}: {outcome} {number}" for (kind, outcome), number in sorted(counts.items())]
    missed = [f"{outcome}: {text}" for _, text, outcome in found if outcome != "right"] if misses else []
    return "\n".join([*lines, *missed])


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="bench.statements")
    parser.add_argument("data", type=Path)
    parser.add_argument("--misses", action="store_true")
    asked = parser.parse_args()
    print(run(asked.data, misses=asked.misses))


if __name__ == "__main__":
    main()
