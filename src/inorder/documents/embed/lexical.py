"""Terms of a chunk and how often each comes: what BM25 needs of a chunk, and nothing that depends on the others.

How rare a term is, and how long chunks are on average, belongs to the corpus and is kept apart. So a chunk's terms are
right for ever, however the corpus grows.
"""

import re
import unicodedata
from collections import Counter

VERSION = 1
_SPACELESS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_TERM = re.compile(rf"[{_SPACELESS}]|[^\W_{_SPACELESS}]+")
_TERM_MAX = 64
"""Characters; what is longer is cut: a term of a thousand letters is none that anybody looks for."""


def terms(text: str) -> list[str]:
    """Words in lower case, compatibility characters made plain; every character of a script that writes no spaces."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return [term[:_TERM_MAX] for term in _TERM.findall(plain)]


def frequencies(text: str) -> dict[str, int]:
    """How often each term comes, in the order of the terms."""
    return dict(sorted(Counter(terms(text)).items()))
