"""Counting tokens.

`words` needs nothing: a word or a mark is a token, and so is every character of a script that writes no spaces.
`hf:PATH` counts with a `tokenizer.json`, for chunks that must fit a certain model. Such a tokenizer may find more
tokens in a text than in its parts, so nothing is ever added up where an exact number is wanted.

Words are counted without making them: each character is replaced by what it is, and where a word begins is then a
search for two bytes. That is ten times as quick as finding every token.
"""

import re
from collections.abc import Callable
from functools import cache
from typing import Any

from inorder.errors import OperatorError
from inorder.files.optional_deps import require_module

Count = Callable[[str], int]

SPACELESS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
"""Scripts that write no spaces, as a regular expression has them between brackets."""
_OF_WORDS = re.compile(rf"[^\W_{SPACELESS}]")
_BEYOND_16_BITS = re.compile(r"[^\x00-\uffff]")


def _kind(character: str) -> str:
    """What it is: `a` of a word, `.` a token by itself, or a space."""
    return " " if character.isspace() else "a" if _OF_WORDS.match(character) else "."


_ASCII_KINDS = "".join(map(_kind, map(chr, range(128)))).encode().ljust(256)


def count_words(text: str) -> int:
    """Words and marks."""
    kinds = text.encode().translate(_ASCII_KINDS) if text.isascii() else _kinds(text)
    return kinds.count(b".") + kinds.count(b" a") + kinds.count(b".a") + kinds.startswith(b"a")


def _kinds(text: str) -> bytes:
    """The kind of each character, of any script."""
    import numpy as np

    codes = text.encode("utf-16-le", "surrogatepass")
    if len(codes) > 2 * len(text):
        text = _BEYOND_16_BITS.sub(lambda found: _kind(found.group()), text)
        codes = text.encode("utf-16-le", "surrogatepass")
    kinds: bytes = _all_kinds().take(np.frombuffer(codes, "<u2")).tobytes()
    return kinds


@cache
def _all_kinds() -> Any:
    """The kind of every character of 16 bits, as an array."""
    import numpy as np

    return np.frombuffer("".join(map(_kind, map(chr, range(1 << 16)))).encode(), np.uint8)


def counter(name: str) -> Count:
    """The counter of this name: `words`, or `hf:PATH`."""
    if name == "words":
        return count_words
    kind, _, path = name.partition(":")
    if kind != "hf" or not path:
        raise OperatorError(f"tokenizer must be 'words' or 'hf:PATH', got {name!r}")
    tokenizers = require_module("tokenizers", by="tokenizer hf:PATH", extra="hf")
    try:
        tokenizer = tokenizers.Tokenizer.from_file(path)
    except Exception as error:
        raise OperatorError(f"the tokenizer {path} cannot be read: {error}") from error
    # A file may ask for texts to be cut or filled up to a length: then every text would count the same.
    tokenizer.no_truncation()
    tokenizer.no_padding()

    def count(text: str) -> int:
        return len(tokenizer.encode(text, add_special_tokens=False).ids)

    return count
