"""Term frequencies of a chunk: the part of BM25 that does not depend on other chunks.

Document frequencies and the average length belong to the corpus and are stored separately. So the terms of a chunk
remain valid when the corpus grows.
"""

import re
import unicodedata
from collections import Counter
from functools import cache

from inorder.documents.chunk.tokens import SPACELESS

VERSION = 1
_TERM_CHARACTERS_MAX = 64
"""A longer term is truncated: nothing that long is searched for."""


_ASCII = bytes(ord(chr(code).lower()) if chr(code).isalnum() else ord(" ") for code in range(128)).ljust(256)
"""Letters and digits in lower case; spaces for all other characters."""


@cache
def _term() -> re.Pattern[str]:
    """Compiled with the first text that is not ASCII: a run without changes has none."""
    return re.compile(rf"[{SPACELESS}]|[^\W_{SPACELESS}]+")


def split_terms(text: str) -> list[str]:
    """The words of a text in NFKC and lower case; every character, for scripts without spaces between words."""
    if text.isascii():  # the same in a third of the time
        terms = text.encode().translate(_ASCII).decode().split()
    else:
        terms = _term().findall(unicodedata.normalize("NFKC", text).casefold())
    if max(map(len, terms), default=0) <= _TERM_CHARACTERS_MAX:
        return terms
    return [term[:_TERM_CHARACTERS_MAX] for term in terms]


def count_terms(text: str) -> dict[str, int]:
    """The frequency of each term, sorted by term."""
    return dict(Counter(sorted(split_terms(text))))
