"""Count tokens.

`words` needs no model: a word or a punctuation mark is a token, and so is every character of a script without spaces.
`hf:PATH` counts with a `tokenizer.json`, for chunks that must fit a certain model. Such a tokenizer may find more
tokens in a text than in its parts, so sums are never used where an exact number is needed.

Words are counted without building them: each character is replaced by its class, and a word begins where two certain
bytes follow each other. That is ten times as fast as finding every token.
"""

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from inorder.errors import OperatorError
from inorder.files.optional_deps import require_module
from inorder.host.regular_file import read_regular

TokenCounter = Callable[[str], int]
PartCounter = Callable[[str, int, Sequence[int]], list[int]]
"""Counts the tokens of many parts of a text at once; arguments and result as in `count_words_of_parts`."""

SPACELESS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
"""Scripts without spaces between words, as ranges for a character class of a regular expression."""
_TABLE_SIZE = 1 << 16


def _classify(character: str) -> str:
    """The class of a character: `a` for part of a word, `.` for a token by itself, or a space."""
    if character.isascii():
        return " " if character.isspace() else "a" if character.isalnum() else "."
    return " " if character.isspace() else "a" if _word_character().match(character) else "."


@cache
def _word_character() -> re.Pattern[str]:
    """Compiled with the first text that is not ASCII: a run without changes has none."""
    return re.compile(rf"[^\W_{SPACELESS}]")


_ASCII_CLASSES = "".join(map(_classify, map(chr, range(128)))).encode().ljust(256)


def count_words(text: str) -> int:
    """The number of words and punctuation marks."""
    classes = text.encode().translate(_ASCII_CLASSES) if text.isascii() else _classify_all(text)
    return classes.count(b".") + classes.count(b" a") + classes.count(b".a") + classes.startswith(b"a")


def count_words_of_parts(text: str, start: int, ends: Sequence[int]) -> list[int]:
    """The words and punctuation marks of each part of a text. The first begins at `start`, and every part ends where
    the next begins."""
    import numpy as np

    piece = text[start : ends[-1]]
    encoded = piece.encode().translate(_ASCII_CLASSES) if piece.isascii() else _classify_all(piece)
    classes = np.frombuffer(encoded, np.uint8)
    letters = classes == ord("a")
    begins = classes == ord(".")
    begins[1:] |= letters[1:] & ~letters[:-1]
    at = np.array(ends) - start
    firsts = np.concatenate(([0], at[:-1]))
    begins[firsts] |= letters[firsts]
    counted: list[int] = np.add.reduceat(begins, firsts, dtype=np.int64).tolist()
    return counted


def _classify_all(text: str) -> bytes:
    """The class of each character, for any script."""
    import numpy as np

    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
    classes = _make_class_table().take(codes, mode="clip")
    beyond = np.flatnonzero(codes >= _TABLE_SIZE)
    if beyond.size:
        distinct, places = np.unique(codes[beyond], return_inverse=True)
        classes[beyond] = np.frombuffer("".join(map(_classify, map(chr, distinct.tolist()))).encode(), np.uint8)[places]
    found: bytes = classes.tobytes()
    return found


@cache
def _make_class_table() -> Any:
    """The class of every character below U+10000."""
    import numpy as np

    return np.frombuffer("".join(map(_classify, map(chr, range(_TABLE_SIZE)))).encode(), np.uint8)


def choose_part_counter(count: TokenCounter) -> PartCounter:
    """The counter for parts that gives the same numbers as this one, part by part."""
    if count is count_words:
        return count_words_of_parts

    def count_each(text: str, start: int, ends: Sequence[int]) -> list[int]:
        return [count(text[first:last].strip()) for first, last in zip((start, *ends), ends, strict=False)]

    return count_each


def load_counter(name: str) -> TokenCounter:
    """The counter for `words` or `hf:PATH`."""
    if name == "words":
        return count_words
    kind, _, path = name.partition(":")
    if kind != "hf" or not path:
        raise OperatorError(f"tokenizer must be 'words' or 'hf:PATH', got {name!r}")
    tokenizers = require_module("tokenizers", by="tokenizer hf:PATH", extra="hf")
    try:
        tokenizer = tokenizers.Tokenizer.from_buffer(read_regular(path))
    except Exception as error:
        raise OperatorError(f"cannot read the tokenizer {path}: {error}") from error
    # A file may enable truncation or padding. Then every text would have the same number of tokens.
    tokenizer.no_truncation()
    tokenizer.no_padding()

    def count(text: str) -> int:
        return len(tokenizer.encode(text, add_special_tokens=False).ids)

    return count
