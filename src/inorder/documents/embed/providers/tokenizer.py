"""Tokenize texts for a model, and pad batches."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from inorder.documents.embed.batching import Tokens
from inorder.errors import OperatorError
from inorder.files.optional_deps import require_module
from inorder.host.regular_file import read_regular

from .base import Matrix, normalize_rows, replace_surrogates
from .word_tokenizer import TokenArray, make_word_tokenizer

Numbers = npt.NDArray[np.int64]


WINDOWS_MAX = 32
"""A text that is longer than this many windows is truncated."""


class TextWindow(NamedTuple):
    """How many tokens a model reads at once, and how many of them are special ones at the begin and the end."""

    tokens_max: int
    before: int
    after: int


class TokenizerSpec(msgspec.Struct, frozen=True):
    """A tokenizer that another process can load."""

    definition: str
    """The content of a `tokenizer.json`, truncation included."""
    prompt: str = ""
    """Put before every text."""


class Tokenizer:
    """A `tokenizer.json` for a model that reads texts in windows. Thread-safe."""

    def __init__(self, path: Path, tokens_max: int, *, by: str, extra: str) -> None:
        tokenizers = require_module("tokenizers", by=by, extra=extra)
        if not path.is_file():
            raise OperatorError(f"{by} needs the file {path.name} in {str(path.parent)!r}")
        try:
            tokenizer = tokenizers.Tokenizer.from_buffer(read_regular(path))
        except Exception as error:
            raise OperatorError(f"cannot read the tokenizer {str(path)!r}: {error}") from None
        self._tokenizer = tokenizer
        self.window = enable_windows(tokenizer, tokens_max)

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


def enable_windows(tokenizer: Any, tokens_max: int) -> TextWindow:
    """Configure a tokenizer for texts of up to `WINDOWS_MAX` windows of so many tokens. Returns the window."""
    is_special = list(tokenizer.encode("a").special_tokens_mask)
    before = next((number for number, special in enumerate(is_special) if not special), 0)
    after = next((number for number, special in enumerate(reversed(is_special)) if not special), 0)
    window = TextWindow(tokens_max, before, after)
    room = tokens_max - before - after
    enable_truncation(tokenizer, before + max(room, 1) * (WINDOWS_MAX if room > 0 else 1) + after)
    return window


def cut_windows(texts: Sequence[Tokens], window: TextWindow) -> tuple[list[Tokens], list[int]]:
    """The windows of all texts, and how many each text has. Those of one text are equally long, and each begins and
    ends with the special tokens."""
    windows: list[Tokens] = []
    counts: list[int] = []
    room = max(1, window.tokens_max - window.before - window.after)
    for tokens in texts:
        length = len(tokens)
        if length <= window.tokens_max:
            windows.append(tokens)
            counts.append(1)
            continue
        end = length - window.after
        count = -(-(end - window.before) // room)
        cuts = [window.before + (end - window.before) * number // count for number in range(count + 1)]
        head, tail = list(tokens[: window.before]), list(tokens[end:])
        windows += [[*head, *tokens[begin:stop], *tail] for begin, stop in pairwise(cuts)]
        counts.append(count)
    return windows, counts


def pool_windows(rows: Matrix, counts: Sequence[int]) -> Matrix:
    """One row per text: the mean of the rows of its windows, each with unit length."""
    if len(rows) == len(counts):
        return rows
    starts = np.cumsum([0, *counts[:-1]])
    return np.add.reduceat(normalize_rows(rows), starts, axis=0, dtype=np.float32)


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
