"""These tests hold the shipped embedding model to its contract; they run the real model."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scripts.fit_projection import SHIPPED
from tests.fakes.patience import PATIENCE_S
from workspaces.memory.client import WorkerSettings
from workspaces.memory.index.embeddings import TOKEN_DIMENSION, Embedder, EmbedderUnavailableError, local
from workspaces.memory.index.embeddings.choose import configured_embedder
from workspaces.memory.index.embeddings.local import MODEL_FOLDER, LocalEmbedder
from workspaces.memory.index.embeddings.transformer import (
    OVERLAP,
    QUERIES_KEPT,
    STOP_WORDS,
    WINDOW,
    Network,
    windows,
)

NOTE = "We moved the dentist appointment to Friday afternoon."
LONG = " ".join(f"Entry {number}: the greenhouse reported {number % 37} degrees." for number in range(60))


@pytest.fixture(scope="module")
def embedder() -> LocalEmbedder:
    return LocalEmbedder()


def cosine(embedder: Embedder, first: str, second: str) -> float:
    one, two = embedder.embed([first, second])
    return float(one.pooled @ two.pooled)


def test_vectors_have_the_promised_shapes_and_length_one(embedder: LocalEmbedder) -> None:
    """A note has a pooled vector of length 1 and token vectors of 128 numbers and length 1."""
    [note] = embedder.embed([NOTE])
    assert note.pooled.shape == (embedder.dimension,) == (384,)
    assert note.pooled.dtype == np.float32
    assert np.linalg.norm(note.pooled) == pytest.approx(1, abs=1e-5)
    assert note.tokens.shape == (5, TOKEN_DIMENSION)
    assert note.tokens.dtype == np.float16
    assert np.linalg.norm(note.tokens.astype(np.float32), axis=1) == pytest.approx(1, abs=2e-3)


def test_stop_words_and_punctuation_have_no_token_vectors(embedder: LocalEmbedder) -> None:
    """Only the pieces that carry meaning are kept: a question's frame adds no rows and no piece ids."""
    framed = embedder.embed_query("What did we do about the dentist, and when is it?!")
    bare = embedder.embed_query("dentist")
    assert framed.piece_ids == bare.piece_ids
    assert framed.tokens.shape == (1, TOKEN_DIMENSION)
    only_frame = embedder.embed_query("What was it about?")
    assert (only_frame.piece_ids, only_frame.tokens.shape) == ((), (0, TOKEN_DIMENSION))
    assert np.linalg.norm(only_frame.pooled) == pytest.approx(1, abs=1e-5)


def test_unknown_signs_do_not_all_become_one_word(embedder: LocalEmbedder) -> None:
    """Signs the model does not know leave no token vector, or any emoji would match any other."""
    assert embedder.embed_query("🦩").piece_ids == ()


def test_negations_and_numbers_keep_their_token_vectors(embedder: LocalEmbedder) -> None:
    """What can turn a note's meaning around is not a stop word."""
    assert len(embedder.embed_query("not never no 2016 May").piece_ids) == 5
    assert not STOP_WORDS & {"not", "no", "never", "nor", "without", "may", "will"}


def test_each_query_token_has_its_word_piece(embedder: LocalEmbedder) -> None:
    """A query's rows and piece ids go together, repeated pieces included, and are the ids notes count."""
    query = embedder.embed_query("dentist Friday dentist")
    [note] = embedder.embed([NOTE])
    assert len(query.piece_ids) == len(query.tokens) == 3
    assert query.piece_ids[0] == query.piece_ids[2]
    assert set(query.piece_ids) < note.piece_ids
    assert len(note.piece_ids) == 5


def test_a_query_that_comes_again_is_not_read_again(embedder: LocalEmbedder) -> None:
    """As from recall and from a search, or from the two indexes of an agent; old ones are forgotten."""
    first = embedder.embed_query("when is the dentist")
    assert embedder.embed_query("when is the dentist") is first
    for number in range(QUERIES_KEPT):
        embedder.embed_query(f"dentist {number}")
    assert embedder.embed_query("when is the dentist") is not first


def test_a_paraphrase_is_nearer_than_another_subject(embedder: LocalEmbedder) -> None:
    """The same thing in other words is clearly nearer than something else in similar words."""
    paraphrase = cosine(embedder, NOTE, "The tooth doctor's visit was rescheduled to the end of the week.")
    other = cosine(embedder, NOTE, "We moved the sofa to the living room.")
    assert paraphrase > other + 0.15


def test_token_vectors_find_the_matching_word(embedder: LocalEmbedder) -> None:
    """In a note, a query word's best token is that of the word with the same meaning."""
    [note] = embedder.embed(["The puppy destroyed my leather shoes."])
    query = embedder.embed_query("dog")
    similar = query.tokens @ note.tokens.astype(np.float32).T
    assert int(similar.argmax()) == 0


def test_a_vector_depends_on_its_text_alone(embedder: LocalEmbedder) -> None:
    """Batch mates, their order and the number of threads change no bit of a vector."""
    [alone] = embedder.embed([NOTE])
    among = embedder.embed(["Short.", NOTE, LONG, "zzz 🦩 $$$ " * 20])[1]
    elsewhere = LocalEmbedder(threads=1).embed([NOTE, LONG])[0]
    for other in (among, elsewhere):
        assert np.array_equal(alone.pooled, other.pooled)
        assert np.array_equal(alone.tokens, other.tokens)
        assert alone.piece_ids == other.piece_ids


def test_a_query_is_read_as_one_and_lies_close_to_the_note_of_the_same_text(embedder: LocalEmbedder) -> None:
    """The model knows questions from notes by a prefix; each kind has its centre, so that both meet nevertheless."""
    [note], query = embedder.embed([NOTE]), embedder.embed_query(NOTE)
    assert not np.array_equal(note.pooled, query.pooled)
    assert note.pooled @ query.pooled > 0.5
    assert np.sum(note.tokens.astype(np.float32) * query.tokens, axis=1).min() > 0.8


def test_texts_with_nothing_in_common_are_far_apart(embedder: LocalEmbedder) -> None:
    """The cosine of unlike texts is near 0, where the ranking and its thresholds expect it."""
    notes = embedder.embed([NOTE, "The server runs on port 80.", "Grandma's soup needs more salt."])
    query = embedder.embed_query("How far is the moon?")
    assert max(float(query.pooled @ note.pooled) for note in notes) < 0.25


@pytest.mark.parametrize("text", ["", "  \n\t"])
def test_an_empty_text_is_zero_and_has_no_tokens(embedder: LocalEmbedder, text: str) -> None:
    """Nothing to read gives zeros, which have cosine 0 with everything, instead of a failure."""
    [note], query = embedder.embed([text]), embedder.embed_query(text)
    assert not note.pooled.any()
    assert not query.pooled.any()
    assert note.tokens.shape == query.tokens.shape == (0, TOKEN_DIMENSION)
    assert note.piece_ids == frozenset()


def test_no_texts_give_no_embeddings(embedder: LocalEmbedder) -> None:
    """An empty list is fine."""
    assert embedder.embed([]) == []


def test_a_long_text_is_read_to_its_end(embedder: LocalEmbedder) -> None:
    """What stands behind the model's window still counts, in the token vectors and in the pooled one."""
    [long, changed] = embedder.embed([LONG, LONG + " The walrus escaped."])
    walrus = embedder.embed_query("walrus")
    assert set(walrus.piece_ids) <= changed.piece_ids
    assert not set(walrus.piece_ids) & long.piece_ids
    assert len(changed.tokens) == len(long.tokens) + len(embedder.embed_query("walrus escaped").piece_ids)
    assert float((walrus.tokens @ changed.tokens.astype(np.float32).T).max()) > 0.5
    [half] = embedder.embed([LONG + " The walrus escaped from the zoo." * 60])
    assert half.pooled @ walrus.pooled > long.pooled @ walrus.pooled + 0.15
    assert np.linalg.norm(half.pooled) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("length", [1, WINDOW - 1, WINDOW, WINDOW + 1, 2 * WINDOW - OVERLAP, 2 * WINDOW, 12_345])
def test_windows_keep_each_piece_once_and_in_context(length: int) -> None:
    """Every piece is kept exactly once, in order, in a window that fits, away from a cut by half the overlap."""
    kept: list[int] = []
    for window in windows(length):
        assert 0 < window.end - window.start <= WINDOW
        inside = range(window.start, window.end)[window.kept]
        assert window.start == 0 or inside[0] - window.start >= OVERLAP // 2
        assert window.end == length or window.end - inside[-1] > OVERLAP // 2
        kept += inside
    assert kept == list(range(length))


@pytest.fixture
def model_folder(tmp_path: Path) -> Path:
    """The shipped model's files as links, which a test may replace."""
    return Path(shutil.copytree(MODEL_FOLDER, tmp_path / "e5", copy_function=os.symlink))


def replace(file: Path, content: bytes) -> None:
    """Put another file in the place of a link."""
    file.unlink()
    file.write_bytes(content)


@pytest.mark.parametrize("name", [*SHIPPED, "SHA256SUMS"])
def test_a_missing_file_is_told_plainly(model_folder: Path, name: str) -> None:
    """Without one of its files the embedder says which one, in its one error."""
    (model_folder / name).unlink()
    with pytest.raises(EmbedderUnavailableError, match=f"{name} cannot be read"):
        LocalEmbedder(model_folder)


@pytest.mark.parametrize("name", SHIPPED)
def test_a_single_damaged_byte_is_noticed(model_folder: Path, name: str) -> None:
    """A changed byte, which the runtime would load without a word, makes the embedder unavailable."""
    content = bytearray((model_folder / name).read_bytes())
    content[len(content) // 2] ^= 1
    replace(model_folder / name, bytes(content))
    with pytest.raises(EmbedderUnavailableError, match=f"{name} is damaged"):
        LocalEmbedder(model_folder)


@pytest.mark.parametrize("sums", ["nonsense\n", "\N{GREEK SMALL LETTER ALPHA}  model.onnx\n"])
def test_damaged_checksums_are_told_plainly(model_folder: Path, sums: str) -> None:
    """An unreadable list of checksums is the same one error."""
    replace(model_folder / "SHA256SUMS", sums.encode())
    with pytest.raises(EmbedderUnavailableError, match="SHA256SUMS is damaged"):
        LocalEmbedder(model_folder)


@pytest.mark.parametrize(("name", "told"), [("model.onnx", "cannot be loaded"), ("tokenizer.json", "cannot be read")])
def test_a_file_the_libraries_refuse_is_told_plainly(model_folder: Path, name: str, told: str) -> None:
    """Should a library not take a file that has the right checksum, its error becomes ours."""
    replace(model_folder / name, b"\x08\x01 not a model")
    replace(model_folder / "SHA256SUMS", b"")
    with pytest.raises(EmbedderUnavailableError, match=told):
        LocalEmbedder(model_folder)


def test_the_contract_loads_no_heavy_library() -> None:
    """Whoever only needs the contract does not wait for numpy and onnxruntime."""
    code = "import sys, workspaces.memory.index.embeddings; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"numpy", "onnxruntime", "tokenizers"} & set(loaded.stdout.split())


def test_what_else_is_to_be_loaded_is_loaded_while_the_network_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Making the network's session leaves the interpreter to others: the worker imports the rest meanwhile."""
    is_called = threading.Event()

    class Slow(Network):
        def __init__(self, *given: Any) -> None:
            assert is_called.wait(PATIENCE_S)
            super().__init__(*given)

    monkeypatch.setattr(local, "Network", Slow)
    assert configured_embedder(WorkerSettings().init, is_called.set).reason == ""
    assert is_called.is_set()
