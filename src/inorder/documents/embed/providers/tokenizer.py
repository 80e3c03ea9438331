"""Tokenize texts for a model, and pad batches."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from inorder.documents.embed.batching import Tokens
from inorder.errors import OperatorError
from inorder.files.optional_deps import require_module

from .base import replace_surrogates
from .word_tokenizer import TokenArray, make_word_tokenizer

Numbers = npt.NDArray[np.int64]


class TokenizerSpec(msgspec.Struct, frozen=True):
    """A tokenizer that another process can load."""

    definition: str
    """The content of a `tokenizer.json`, truncation included."""
    prompt: str = ""
    """Put before every text."""


class Tokenizer:
    """A `tokenizer.json` that truncates every text to what its model accepts. Thread-safe."""

    def __init__(self, path: Path, tokens_max: int, *, by: str, extra: str) -> None:
        tokenizers = require_module("tokenizers", by=by, extra=extra)
        if not path.is_file():
            raise OperatorError(f"{by} needs the file {path.name} in {str(path.parent)!r}")
        try:
            tokenizer = tokenizers.Tokenizer.from_file(str(path))
        except Exception as error:
            raise OperatorError(f"cannot read the tokenizer {str(path)!r}: {error}") from None
        self._tokenizer = enable_truncation(tokenizer, tokens_max)

    @property
    def spec(self) -> TokenizerSpec:
        """How another process makes the same tokenizer."""
        return TokenizerSpec(self._tokenizer.to_str())

    def tokenize(self, texts: Sequence[str]) -> Sequence[Tokens]:
        """The tokens of each text, special tokens included."""
        return tokenize_texts(self._tokenizer, texts)


def enable_truncation(tokenizer: Any, tokens_max: int) -> Any:
    """Configure a tokenizer to truncate and not to pad: batches are padded later."""
    tokenizer.no_padding()
    tokenizer.enable_truncation(tokens_max)
    return tokenizer


def tokenize_texts(tokenizer: Any, texts: Sequence[str]) -> Sequence[Tokens]:
    """The tokens of each text, computed on all cores."""
    return [encoding.ids for encoding in tokenizer.encode_batch_fast([replace_surrogates(text) for text in texts])]


def load_tokenizer(
    spec: TokenizerSpec, *, by: str, extra: str
) -> Callable[[Sequence[str]], Sequence[Tokens | TokenArray]]:
    """A function that tokenizes texts as the process does in which the spec was made, on one core or few. Called by one
    thread."""
    tokenizer = require_module("tokenizers", by=by, extra=extra).Tokenizer.from_str(spec.definition)
    by_word = make_word_tokenizer(tokenizer)
    tokenize = partial(tokenize_texts, tokenizer) if by_word is None else by_word.tokenize
    prompt = spec.prompt
    return lambda texts: tokenize([prompt + text for text in texts] if prompt else texts)


def pad_batch(batch: Sequence[Tokens], padding: int) -> tuple[Numbers, Numbers]:
    """The tokens of a batch as one table, filled up with `padding`, and the length of each text."""
    lengths = np.array([len(tokens) for tokens in batch], dtype=np.int64)
    table = np.full((len(batch), int(lengths.max())), padding, dtype=np.int64)
    for row, tokens in zip(table, batch, strict=True):
        row[: len(tokens)] = tokens
    return table, lengths
