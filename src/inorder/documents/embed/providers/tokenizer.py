"""Texts into the numbers that a model reads."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from inorder.documents.embed.batching import Tokens
from inorder.errors import OperatorError
from inorder.files.optional_deps import require_module

from .base import encodable

Numbers = npt.NDArray[np.int64]


class Tokeniser:
    """A `tokenizer.json`, cutting every text to what its model can take. Safe for any number of threads."""

    def __init__(self, path: Path, tokens_max: int, *, by: str, extra: str) -> None:
        tokenizers = require_module("tokenizers", by=by, extra=extra)
        if not path.is_file():
            raise OperatorError(f"{by} needs the file {path.name} in {str(path.parent)!r}")
        try:
            tokenizer = tokenizers.Tokenizer.from_file(str(path))
        except Exception as error:
            raise OperatorError(f"the tokenizer {str(path)!r} cannot be read: {error}") from None
        self._tokenizer = cutting(tokenizer, tokens_max)

    def tokenise(self, texts: Sequence[str]) -> Sequence[Tokens]:
        """The tokens of each text, those that open and close it included."""
        return tokens_of(self._tokenizer, texts)


def cutting(tokenizer: Any, tokens_max: int) -> Any:
    """The tokenizer, set to cut and not to pad: padding is for whoever makes the batches."""
    tokenizer.no_padding()
    tokenizer.enable_truncation(tokens_max)
    return tokenizer


def tokens_of(tokenizer: Any, texts: Sequence[str]) -> Sequence[Tokens]:
    """What the tokenizer makes of each text, on as many cores as there are."""
    return [encoding.ids for encoding in tokenizer.encode_batch_fast([encodable(text) for text in texts])]


def padded(batch: Sequence[Tokens], padding: int) -> tuple[Numbers, Numbers]:
    """The numbers of a batch as one table, filled up with `padding`, and the length of each text."""
    lengths = np.array([len(tokens) for tokens in batch], dtype=np.int64)
    table = np.full((len(batch), int(lengths.max())), padding, dtype=np.int64)
    for row, tokens in zip(table, batch, strict=True):
        row[: len(tokens)] = tokens
    return table, lengths
