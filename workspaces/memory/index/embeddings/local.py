"""The bundled embedder: e5-small-v2, English, trained further on talks."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from workspaces.memory.index.embeddings import EmbedderUnavailableError
from workspaces.memory.index.embeddings.transformer import (
    Frame,
    Ids,
    Network,
    Pieces,
    TransformerEmbedder,
    check_files,
)

MODEL_FOLDER = Path(__file__).parent / "e5"

_CLS, _SEP = 101, 102
FRAME = Frame(((_CLS, 23032, 1024), (_CLS, 6019, 1024)), _SEP)
"""With the word pieces of "query:" and "passage:"."""


class WordPieces(Pieces):
    """The model's tokenizer."""

    def __init__(self, file: Path) -> None:
        """Read the tokenizer from *file*; raises EmbedderUnavailableError."""
        try:
            self._tokenizer = Tokenizer.from_file(str(file))
        except Exception as exc:  # tokenizers raises nothing narrower
            raise EmbedderUnavailableError(f"the embedding model's tokenizer cannot be read: {exc}") from exc
        super().__init__(self._tokenizer.get_vocab_size())

    def is_word(self, text: str) -> bool:
        """Tell whether *text*, in small letters, is one word piece: a common word or name."""
        return text.isalpha() and self._tokenizer.token_to_id(text) is not None

    def split(self, text: str) -> Ids:
        """Return the ids of the word pieces of *text*, shape [n], without [CLS] and [SEP]."""
        return np.array(self._tokenizer.encode(text, add_special_tokens=False).ids, dtype=np.int64)

    def letters(self, number: int) -> str:
        """Return the text of piece *number*; none of [UNK], or all unknown words would be one word."""
        piece = self._tokenizer.id_to_token(number) or ""
        return "" if piece.startswith("[") and piece.endswith("]") else piece


class LocalEmbedder(TransformerEmbedder):
    """The embedder without account or network; it takes about 60 MB."""

    name = "e5-small-v2-adapted-int8-centred"
    languages = "English"

    def __init__(self, folder: Path = MODEL_FOLDER, threads: int = 2, meanwhile: Callable[[], object] = bool) -> None:
        """Load the model in *folder*; *threads* is the number of texts in parallel, one core each.

        *meanwhile* is called while libraries read the files. Raises EmbedderUnavailableError if one is missing or
        differs from the bundled one.
        """
        with ThreadPoolExecutor(2) as beside:
            checked = beside.submit(check_files, folder)
            network = beside.submit(Network, folder / "model.onnx", FRAME)
            try:
                meanwhile()
                super().__init__(WordPieces(folder / "tokenizer.json"), network.result(), folder, threads)
            finally:
                checked.result()  # its reason comes first: a damaged file may fail to load in any way
