"""Counting tokens.

`words` needs nothing: a word or a mark is a token, and so is every character of a script that writes no spaces.
`hf:PATH` counts with a `tokenizer.json`, for chunks that must fit a certain model.
"""

import re
from collections.abc import Callable

from inorder.core.options import OperatorError

Count = Callable[[str], int]

_SPACELESS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_TOKEN = re.compile(rf"[{_SPACELESS}]|[^\W_{_SPACELESS}]+|[^\w\s]|_")


def count_words(text: str) -> int:
    """Words and marks."""
    return len(_TOKEN.findall(text))


def counter(name: str) -> Count:
    """The counter of this name: `words`, or `hf:PATH`."""
    if name == "words":
        return count_words
    kind, _, path = name.partition(":")
    if kind != "hf" or not path:
        raise OperatorError(f"tokenizer must be 'words' or 'hf:PATH', got {name!r}")
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise OperatorError("tokenizer hf:PATH needs the package tokenizers: pip install 'inorder[hf]'") from None
    try:
        tokenizer = Tokenizer.from_file(path)
    except Exception as error:
        raise OperatorError(f"the tokenizer {path} cannot be read: {error}") from error

    def count(text: str) -> int:
        return len(tokenizer.encode(text, add_special_tokens=False).ids)

    return count
