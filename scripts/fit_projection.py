"""Fit the centres of vectors and the projection of token vectors to 128 dimensions, and write the model's checksums.

Use, after `scripts/build_model.py --plain`, with the English text named in the model folder's README:

    pip download --no-deps --no-binary :all: vaderSentiment==3.3.2 flask==3.1.3 && (unpack both)
    pip install --no-deps --target CHAT chatterbot-corpus==1.3.3
    python -m scripts.fit_projection SNIPPETS/*_GroundTruth.txt flask-3.1.3/docs CHAT/chatterbot_corpus/data/english

    python -m scripts.fit_projection --multilingual SOURCES CHAT/chatterbot_corpus/data/{german,french,…}

    python -m scripts.fit_projection --checksums [--multilingual]

Each argument is one source and gives at most SAMPLE texts. The vectors of this model lie close together, so the
embedder subtracts the mean of queries or of passages, the centre, from each; the projection preserves what is left of
passages as well as 128 numbers can.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from workspaces.memory.index.embeddings import TOKEN_DIMENSION, multilingual
from workspaces.memory.index.embeddings.local import FRAME, MODEL_FOLDER, WordPieces
from workspaces.memory.index.embeddings.packed_weights import PackedWeights
from workspaces.memory.index.embeddings.transformer import PASSAGE, QUERY, WINDOW, Floats, Network, Pieces

SAMPLE = 150
"""Texts taken from one source."""
SEED = 20240517
SHIPPED: tuple[str, ...] = (
    "centres.npy",
    "change.npy",
    "model.onnx",
    "projection.npy",
    "tokenizer.json",
    "weights.bin",
)
SHIPPED_MULTILINGUAL = ("adapter.npz", "centres.npy", "change.npy", "graph.onnx", "projection.npy")


def read(source: Path, letters: str) -> list[str]:
    """Return the texts of *source* in which *letters* occur: a folder's files, table cells, paragraphs, list items."""
    files = sorted(file for file in source.rglob("*") if file.is_file()) if source.is_dir() else [source]
    return [text for file in files for text in _texts(file) if re.search(letters, text)]


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


def vectors(texts: Sequence[str], pieces: Pieces, network: Network, kind: int) -> tuple[Floats, Floats]:
    """Return the pooled vectors of *texts*, and the vectors of their meaningful pieces, of each one's first window."""
    ids = [pieces.split(text)[:WINDOW] for text in texts]
    pooled, tokens = zip(*(network.run(each, kind) for each in ids), strict=True)
    return np.stack(pooled), np.concatenate([v[pieces.are_meaningful(i)] for i, v in zip(ids, tokens, strict=True)])


def fit(moment: npt.NDArray[np.float64]) -> Floats:
    """Return the 128 directions [384, 128] with the largest part of the second moment [384, 384], signs fixed."""
    directions = np.linalg.eigh(moment).eigenvectors[:, ::-1][:, :TOKEN_DIMENSION]
    largest = np.abs(directions).argmax(axis=0)
    signs = np.sign(directions[largest, np.arange(TOKEN_DIMENSION)])
    return np.asarray(directions * signs, dtype=np.float32)


def write_checksums(folder: Path, shipped: Sequence[str]) -> None:
    """Write SHA256SUMS of the *shipped* files, in the format of sha256sum."""
    sums = [f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n" for name in shipped]
    (folder / "SHA256SUMS").write_text("".join(sums), encoding="ascii")


def load_english() -> tuple[Pieces, Network]:
    """Return the tokenizer and the network of the built-in model."""
    return WordPieces(MODEL_FOLDER / "tokenizer.json"), Network(MODEL_FOLDER / "model.onnx", FRAME)


def load_multilingual() -> tuple[Pieces, Network]:
    """Return the tokenizer and the network of the multilingual model, without its adapter."""
    packed = PackedWeights(multilingual.weights_file())
    pieces = multilingual.UnigramPieces(packed.vocabulary)
    return pieces, multilingual.network(packed, packed.words, pieces)


def main() -> None:
    """Fit on the sources named and write `projection.npy` and `SHA256SUMS`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", type=Path, nargs="*")
    parser.add_argument("--multilingual", action="store_true", help="fit those of the multilingual model")
    parser.add_argument("--checksums", action="store_true", help="write SHA256SUMS alone")
    arguments = parser.parse_args()
    folder, shipped = MODEL_FOLDER, SHIPPED
    if arguments.multilingual:
        folder, shipped = multilingual.MODEL_FOLDER, SHIPPED_MULTILINGUAL
    if arguments.checksums:
        write_checksums(folder, shipped)
        return
    if not arguments.sources:
        parser.error("name the sources, or give --checksums")

    pieces, network = load_multilingual() if arguments.multilingual else load_english()
    texts: list[str] = []
    for source in arguments.sources:
        found = read(source, r"[^\W\d_]{2}" if arguments.multilingual else "[a-zA-Z]{2}")
        texts += random.Random(SEED).sample(found, min(SAMPLE, len(found)))
    kinds = [vectors(texts, pieces, network, kind) for kind in (QUERY, PASSAGE)]
    centres = np.array([[pooled.mean(axis=0), tokens.mean(axis=0)] for pooled, tokens in kinds], np.float32)
    rest = (kinds[PASSAGE][1] - centres[PASSAGE][1]).astype(np.float64)
    spread = rest.T @ rest / len(rest)
    projection = fit(spread)
    kept = np.trace(projection.T @ spread @ projection) / np.trace(spread)
    print(f"{len(texts)} texts, {len(rest)} vectors; kept {kept:.3f} of their squared length")
    np.save(folder / "projection.npy", projection)
    np.save(folder / "centres.npy", centres)
    write_checksums(folder, shipped)


if __name__ == "__main__":
    main()
