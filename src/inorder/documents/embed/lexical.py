"""Term frequencies of a chunk: the part of BM25 that does not depend on other chunks.

Document frequencies and the average length belong to the corpus and are stored separately. So the terms of a chunk
remain valid when the corpus grows.
"""

import re
import unicodedata
from collections import Counter

from inorder.documents.chunk.tokens import SPACELESS

VERSION = 1
_TERM = re.compile(rf"[{SPACELESS}]|[^\W_{SPACELESS}]+")
_TERM_CHARACTERS_MAX = 64
"""A longer term is truncated: nothing that long is searched for."""


def split_terms(text: str) -> list[str]:
    """The words of a text in NFKC and lower case; every character, for scripts without spaces between words."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return [term[:_TERM_CHARACTERS_MAX] for term in _TERM.findall(folded)]


def count_terms(text: str) -> dict[str, int]:
    """The frequency of each term, sorted by term."""
    return dict(sorted(Counter(split_terms(text)).items()))
