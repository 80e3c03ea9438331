"""Count tokens.

`words` needs no model: a word or a punctuation mark is a token, and so is every character of a script without spaces.
`hf:PATH` counts with a `tokenizer.json`, for chunks that must fit a certain model. Such a tokenizer may find more
tokens in a text than in its parts, so sums are never used where an exact number is needed.

Words are counted without building them: each character is replaced by its class, and a word begins where two certain
bytes follow each other. That is ten times as fast as finding every token.
"""

import re
from collections.abc import Callable
from functools import cache
from typing import Any

from inorder.errors import OperatorError
from inorder.files.optional_deps import require_module

TokenCounter = Callable[[str], int]

SPACELESS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
"""Scripts without spaces between words, as ranges for a character class of a regular expression."""
_WORD_CHARACTER = re.compile(rf"[^\W_{SPACELESS}]")
_BEYOND_16_BITS = re.compile(r"[^\x00-\uffff]")


def _classify(character: str) -> str:
    """The class of a character: `a` for part of a word, `.` for a token by itself, or a space."""
    return " " if character.isspace() else "a" if _WORD_CHARACTER.match(character) else "."


_ASCII_CLASSES = "".join(map(_classify, map(chr, range(128)))).encode().ljust(256)


def count_words(text: str) -> int:
    """The number of words and punctuation marks."""
    classes = text.encode().translate(_ASCII_CLASSES) if text.isascii() else _classify_all(text)
    return classes.count(b".") + classes.count(b" a") + classes.count(b".a") + classes.startswith(b"a")


def _classify_all(text: str) -> bytes:
    """The class of each character, for any script."""
    import numpy as np

    codes = text.encode("utf-16-le", "surrogatepass")
    if len(codes) > 2 * len(text):
        text = _BEYOND_16_BITS.sub(lambda match: _classify(match.group()), text)
        codes = text.encode("utf-16-le", "surrogatepass")
    classes: bytes = _make_class_table().take(np.frombuffer(codes, "<u2")).tobytes()
    return classes


@cache
def _make_class_table() -> Any:
    """The class of every character below U+10000."""
    import numpy as np

    return np.frombuffer("".join(map(_classify, map(chr, range(1 << 16)))).encode(), np.uint8)


def load_counter(name: str) -> TokenCounter:
    """The counter for `words` or `hf:PATH`."""
    if name == "words":
        return count_words
    kind, _, path = name.partition(":")
    if kind != "hf" or not path:
        raise OperatorError(f"tokenizer must be 'words' or 'hf:PATH', got {name!r}")
    tokenizers = require_module("tokenizers", by="tokenizer hf:PATH", extra="hf")
    try:
        tokenizer = tokenizers.Tokenizer.from_file(path)
    except Exception as error:
        raise OperatorError(f"cannot read the tokenizer {path}: {error}") from error
    # A file may enable truncation or padding. Then every text would have the same number of tokens.
    tokenizer.no_truncation()
    tokenizer.no_padding()

    def count(text: str) -> int:
        return len(tokenizer.encode(text, add_special_tokens=False).ids)

    return count
