"""Find documents whose text is the same, or nearly the same.

A text is the set of its runs of five words, without regard to case and punctuation. A signature stands for the set: the
share of equal numbers in two signatures estimates the share of runs that two texts have in common (MinHash). Documents
with an equal part of the signature are compared, so the time grows with the number of documents and not of pairs.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import groupby
from operator import itemgetter
from zlib import crc32

import msgspec
import numpy as np
import numpy.typing as npt

SIMILARITY_MIN = 0.8
"""Share of common runs from which two documents are nearly the same."""
_RUN_WORDS = 5
_NUMBERS = 128
_BAND_NUMBERS = 8
"""Numbers of a part of the signature: two texts with 0.8 in common share one of the 16 parts with 0.95 probability."""
_RUNS_AT_ONCE = 8192
_WORD = re.compile(r"\w+")

Signature = npt.NDArray[np.uint64]


class DuplicateGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Documents that are the same or nearly the same."""

    documents: list[str]
    """Their ids, in order."""
    similarity: float
    """1 if their texts are the same; else the least share of runs of words that one has in common with the first."""


def find_duplicates(chunks: Iterable[tuple[str, str]], copies: Iterable[tuple[str, str]] = ()) -> list[DuplicateGroup]:
    """The groups of documents with the same text, and with nearly the same, in the order of their ids. Chunks are given
    as document and text; those of a document follow each other. Documents without words are left out, except those with
    copies: pairs of a file and the document whose content it has."""
    same: defaultdict[bytes, list[str]] = defaultdict(list)
    signatures: dict[str, Signature] = {}
    for document, found in groupby(chunks, key=itemgetter(0)):
        words = [word for _, text in found for word in _WORD.findall(text.casefold())]
        if not words:
            continue
        group = same[blake2b(" ".join(words).encode("utf-8", "replace"), digest_size=16).digest()]
        if not group:
            signatures[document] = _sign(words)
        group.append(document)
    groups = {document: group for group in same.values() for document in group}
    for copy, document in copies:
        groups.setdefault(document, [document]).append(copy)
    distinct = {id(group): sorted(group) for group in groups.values() if len(group) > 1}
    exact = [DuplicateGroup(documents=group, similarity=1.0) for group in distinct.values()]
    return sorted([*exact, *_group_similar(signatures)], key=lambda group: (group.documents, -group.similarity))


def _sign(words: Sequence[str]) -> Signature:
    count = max(1, len(words) - _RUN_WORDS + 1)
    runs = {crc32(" ".join(words[at : at + _RUN_WORDS]).encode("utf-8", "replace")) for at in range(count)}
    numbers = np.fromiter(runs, np.uint64, len(runs))
    factors, terms = _draw_constants()
    least = np.full(_NUMBERS, np.iinfo(np.uint64).max, np.uint64)
    for start in range(0, len(numbers), _RUNS_AT_ONCE):
        hashed = (numbers[start : start + _RUNS_AT_ONCE, None] * factors + terms) >> np.uint64(32)
        least = np.minimum(least, hashed.min(axis=0))
    return least


def _draw_constants() -> tuple[Signature, Signature]:
    """The same in every run and on every machine."""
    chance = np.random.Generator(np.random.PCG64(1))
    drawn = chance.integers(1, 2**64 - 1, (2, _NUMBERS), np.uint64)
    return drawn[0] | np.uint64(1), drawn[1]


def _group_similar(signatures: dict[str, Signature]) -> Iterator[DuplicateGroup]:
    """Groups of similar documents around the first of each, which is in one group at most."""
    names = sorted(signatures)
    bands: defaultdict[tuple[int, bytes], list[int]] = defaultdict(list)
    for at, name in enumerate(names):
        for start in range(0, _NUMBERS, _BAND_NUMBERS):
            bands[start, signatures[name][start : start + _BAND_NUMBERS].tobytes()].append(at)
    near: defaultdict[int, set[int]] = defaultdict(set)
    for members in bands.values():
        for other in members[1:]:
            near[members[0]].add(other)
    taken: set[int] = set()
    for first in sorted(near):
        shares = {other: _compare(signatures[names[first]], signatures[names[other]]) for other in near[first] - taken}
        similar = sorted(other for other, share in shares.items() if share >= SIMILARITY_MIN)
        if similar and first not in taken:
            taken.update(similar)
            documents = [names[at] for at in (first, *similar)]
            yield DuplicateGroup(documents=documents, similarity=round(min(shares[at] for at in similar), 2))


def _compare(one: Signature, other: Signature) -> float:
    return float((one == other).mean())
