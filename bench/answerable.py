"""Benchmark of "nothing clearly fits": how well the fit of the hits tells answerable from unanswerable questions.

    python -m bench.answerable DATA        # a file of LoCoMo, a folder of BEAM

Unanswerable are BEAM's abstentions and LoCoMo's adversarial questions, which ask one person about the other's facts.
"""

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from bench.asked import AskedConversation, QuestionKind
from bench.recall import as_hit
from bench.retrieval import Bench, conversations_in, corpus_of
from workspaces.memory.fit import CLEAR, LOOKED_AT, fit
from workspaces.memory.index.embeddings.local import LocalEmbedder


def area(answerable: Sequence[float], unanswerable: Sequence[float]) -> float:
    """Return the share of pairs in which the answerable question scores higher (the area under the ROC curve)."""
    return fmean((one > other) + (one == other) / 2 for one in answerable for other in unanswerable)


def unanswerable_of(conversation: AskedConversation) -> list[str]:
    """Return the questions of *conversation* whose answer was never said."""
    adversarial = [each.text for each in conversation.questions if each.kind == QuestionKind.ADVERSARIAL]
    return [*conversation.unanswerable, *adversarial]


def run(data: Path) -> str:
    """Return the figures as text. Raises ImportFormatError, and StatisticsError without questions of both kinds."""
    embedder = LocalEmbedder()
    scores: dict[bool, list[float]] = {True: [], False: []}
    for conversation in conversations_in(data):
        unanswerable = unanswerable_of(conversation)
        texts = [each.text for each in conversation.questions]
        with tempfile.TemporaryDirectory(prefix="strandline-bench-") as folder:
            bench = Bench(corpus_of(conversation), embedder, Path(folder))
            for text in dict.fromkeys([*texts, *unanswerable]):
                scores[text not in unanswerable].append(fit([*map(as_hit, bench.found(text, LOOKED_AT))], text))
            bench.close()
    answerable, others = scores[True], scores[False]
    missed, told = (100 * fmean(score < CLEAR for score in group) for group in (answerable, others))
    return (
        f"{len(answerable)} answerable, {len(others)} unanswerable: "
        f"area under the curve {area(answerable, others):.3f}; nothing clearly fits for {missed:.1f} % and {told:.1f} %"
    )


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="bench.answerable")
    parser.add_argument("data", type=Path)
    print(run(parser.parse_args().data))


if __name__ == "__main__":
    main()
