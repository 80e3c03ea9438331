"""Count terms where inorder was built without a C compiler; see `terms`."""

from array import array
from collections import Counter
from collections.abc import Sequence

import numpy as np

from .analysis import open_term_cache, split_words
from .file_terms import COUNT_MAX, LENGTH_MAX, LENGTH_TYPE, NUMBER_TYPE, FileTerms


class PlainCounter:
    """Counts the terms of texts in one language. Its length is the number of words that it knows."""

    def __init__(self, language: str) -> None:
        self._derive_terms = open_term_cache(language).derive_terms
        self._known: dict[str, list[str]] = {}

    def __len__(self) -> int:
        return len(self._known)

    def count(self, fields: Sequence[str]) -> FileTerms:
        """Count the terms of chunks, given by turns as the text of a chunk and its headings."""
        numbers: dict[str, int] = {}
        sizes, terms, body, head = array("I"), array("I"), bytearray(), bytearray()
        listed = [self._list_terms(field) for field in fields]
        for texts, headings in zip(map(Counter, listed[0::2]), map(Counter, listed[1::2]), strict=True):
            found = texts | headings
            sizes.append(len(found))
            terms.extend(numbers.setdefault(term, len(numbers)) for term in found)
            body.extend(min(texts[term], COUNT_MAX) for term in found)
            head.extend(min(headings[term], COUNT_MAX) for term in found)
        lengths = np.minimum([*map(len, listed)], LENGTH_MAX).astype(LENGTH_TYPE)
        return FileTerms(
            " ".join(numbers),
            np.array(sizes, NUMBER_TYPE).tobytes(),
            np.array(terms, NUMBER_TYPE).tobytes(),
            bytes(body),
            bytes(head),
            lengths[0::2].tobytes(),
            lengths[1::2].tobytes(),
        )

    def _list_terms(self, text: str) -> list[str]:
        """The terms of a text. Those of each word are derived once."""
        known, words = self._known, split_words(text)
        for word in words:
            if word not in known:
                known[word] = self._derive_terms(word)
        return [term for word in words for term in known[word]]
