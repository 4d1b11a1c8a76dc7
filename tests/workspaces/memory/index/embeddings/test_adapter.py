"""An adapter changes the matrices that it names, and nothing else; the scripts that make one are held to their word."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scripts
from workspaces.memory.index.embeddings.adapter import AdaptedWeights
from workspaces.memory.index.embeddings.multilingual import ADAPTER, MODEL_FOLDER
from workspaces.memory.index.embeddings.packed_weights import ATTENTION, LAYERS
from workspaces.memory.index.embeddings.transformer import DIMENSION, Floats

ENGLISH = Path(scripts.__file__).with_name("english_adapter.npz")
WEIGHTS: dict[str, Floats] = {
    "first.weight": np.eye(3, 2, dtype=np.float32),
    "first.bias": np.ones(3, np.float32),
    "second.weight": np.eye(2, dtype=np.float32),
}
UP, DOWN = np.array([[1], [2], [3]], np.float16), np.array([[10, 20]], np.float16)


def adapter(folder: Path) -> Path:
    """Write an adapter of the matrix `first` and return its file."""
    arrays: dict[str, Any] = {"first.up": UP, "first.down": DOWN}
    np.savez(folder / "adapter.npz", **arrays)
    return folder / "adapter.npz"


def test_the_product_of_the_thin_matrices_is_added(tmp_path: Path) -> None:
    """Only the named matrix changes: its bias and the other matrix are the same arrays."""
    weights = AdaptedWeights(WEIGHTS, adapter(tmp_path))
    assert weights["first.weight"].tolist() == [[11, 20], [20, 41], [30, 60]]
    assert weights["first.weight"].dtype == np.float32
    assert weights["first.bias"] is WEIGHTS["first.bias"]
    assert weights["second.weight"] is WEIGHTS["second.weight"]
    assert [*weights] == [*WEIGHTS]
    assert len(weights) == 3


def test_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    """As ValueError, which the embedder turns into its own error."""
    other = tmp_path / "adapter.npz"
    other.write_bytes(b"no archive")
    with pytest.raises(ValueError, match="pickle"):
        AdaptedWeights(WEIGHTS, other)


@pytest.mark.parametrize("file", [ENGLISH, MODEL_FOLDER / ADAPTER])
def test_the_adapters_change_every_matrix_of_the_layers(file: Path) -> None:
    """What training wrote is complete, finite and of the model's shapes."""
    with np.load(file, allow_pickle=False) as opened:
        arrays = dict(opened)
    names = [*ATTENTION, "attention.output.dense", "intermediate.dense", "output.dense"]
    matrices = {f"encoder.layer.{layer}.{name}" for layer in range(LAYERS) for name in names}
    assert {name.rpartition(".")[0] for name in arrays} == matrices
    for matrix in matrices:
        up, down = arrays[f"{matrix}.up"], arrays[f"{matrix}.down"]
        assert up.shape[1] == down.shape[0] < DIMENSION
        assert np.isfinite(up).all()
        assert np.abs(up).max() > 0
        assert np.isfinite(down).all()
