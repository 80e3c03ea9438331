"""The terms of the chunks of a file, as a worker counts them and sends them to the database."""

import sys
from array import array
from collections import Counter
from collections.abc import Iterable
from itertools import chain, repeat

import msgspec

from .analysis import open_term_cache, split_words

_COUNT_MAX = 255
_LENGTH_MAX = 65_535
NUMBER_TYPE, LENGTH_TYPE = "<u4", "<u2"
"""The NumPy types of the columns of `FileTerms` that are not single bytes."""


class FileTerms(msgspec.Struct, array_like=True, gc=False):
    """How often each term occurs in each chunk: in its text, and in its headings, which are its name, the section
    titles and the path. The terms of all chunks are in columns, chunk after chunk."""

    vocabulary: str
    """The terms of the file, separated by spaces."""
    sizes: bytes
    """For each chunk, the number of its terms."""
    terms: bytes
    """For each term of a chunk, its number in the vocabulary."""
    body: bytes
    """For each term of a chunk, its count in the text, at most 255."""
    head: bytes
    """For each term of a chunk, its count in the headings, at most 255."""
    body_lengths: bytes
    """For each chunk, the length of its text in terms, at most 65,535."""
    head_lengths: bytes
    """For each chunk, the length of its headings in terms, at most 65,535."""


class _Numbers(dict[str, int]):
    """Numbers terms in the order in which they are first looked up."""

    def __missing__(self, term: str) -> int:
        self[term] = number = len(self)
        return number


def count_file_terms(chunks: Iterable[tuple[str, str, str]], language: str) -> FileTerms:
    """Count the terms of the chunks of a file, given as text, name and context. `language` is that of the document;
    empty for program code."""
    terms_of = open_term_cache(language).__getitem__
    vocabulary = _Numbers()
    sizes, terms = array("I"), array("I")
    body, head = bytearray(), bytearray()
    body_lengths, head_lengths = array("H"), array("H")
    known_context, context_terms = "", list[str]()
    flatten = chain.from_iterable
    for text, name, context in chunks:
        if context != known_context:  # it is the same for all chunks of a source file
            known_context, context_terms = context, list(flatten(map(terms_of, split_words(context))))
        in_text = Counter(flatten(map(terms_of, split_words(text))))
        in_headings = Counter(chain(flatten(map(terms_of, split_words(name))), context_terms))
        found = [*in_text, *(term for term in in_headings if term not in in_text)]
        sizes.append(len(found))
        terms.extend(map(vocabulary.__getitem__, found))
        body += _encode_counts(in_text, found)
        head += _encode_counts(in_headings, found)
        body_lengths.append(min(in_text.total(), _LENGTH_MAX))
        head_lengths.append(min(in_headings.total(), _LENGTH_MAX))
    columns = (_encode_column(sizes), _encode_column(terms), bytes(body), bytes(head))
    return FileTerms(" ".join(vocabulary), *columns, _encode_column(body_lengths), _encode_column(head_lengths))


def _encode_counts(counts: Counter[str], terms: list[str]) -> bytes:
    found = list(map(counts.get, terms, repeat(0)))
    try:
        return bytes(found)
    except ValueError:
        return bytes(min(count, _COUNT_MAX) for count in found)


def _encode_column(values: "array[int]") -> bytes:
    if sys.byteorder == "big":
        values.byteswap()
    return values.tobytes()
