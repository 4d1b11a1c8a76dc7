"""An adapter: small changes of a model's matrices, trained on talks (`scripts/train_model.py`).

To each adapted matrix [out, in] the product of two thin ones is added: `up` [out, r] and `down` [r, in].
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from workspaces.memory.index.embeddings.transformer import Floats

_DOWN, _UP, _WEIGHT = ".down", ".up", ".weight"


class AdaptedWeights(Mapping[str, Floats]):
    """The trained tensors of a model by their names in PyTorch, with those that an adapter changes."""

    def __init__(self, weights: Mapping[str, Floats], file: Path) -> None:
        """Read the adapter in *file*, in NumPy's npz; raises OSError, and ValueError for a file of another kind."""
        self._weights = weights
        with np.load(file, allow_pickle=False) as opened:
            self._changes = {name: np.asarray(opened[name], np.float32) for name in opened.files}

    def __getitem__(self, name: str) -> Floats:
        """Return the tensor *name* in float32."""
        matrix = name.removesuffix(_WEIGHT)
        down = self._changes.get(matrix + _DOWN)
        if down is None or matrix == name:
            return self._weights[name]
        return np.asarray(self._weights[name] + self._changes[matrix + _UP] @ down, np.float32)

    def __iter__(self) -> Iterator[str]:
        return iter(self._weights)

    def __len__(self) -> int:
        return len(self._weights)
