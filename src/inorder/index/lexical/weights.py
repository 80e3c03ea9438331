"""What the terms of chunks weigh in the ranking, and how many chunks have each.

The weight of a term in a chunk is what the term adds to the score of the chunk when a question has it:

    rarity * (k1 + 1) * (body / (body + norm of the text) + share * head / (head + norm of the headings))

`body` and `head` are how often the text and the headings have the term, `share` is what headings weigh beside the text,
and the rest is BM25: see `scoring`. Only chunks that are alive count. So weights are the same for the same chunks, in
whatever order they were indexed, and however they are divided into segments.
"""

import sqlite3
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .blocks import Numbers
from .file_terms import LENGTH_TYPE, NUMBER_TYPE, FileTerms
from .inversion import read_together
from .postings import read_alive, read_segments
from .scoring import SATURATION, compute_rarity, make_norms


class TermCounts(NamedTuple):
    """The terms of all chunks."""

    terms: list[str]
    """In ascending order."""
    chunks: Numbers
    """For each term, the number of chunks that have it."""
    counts: Numbers
    """How often they have it, headings included: the text and the headings of a chunk count up to 255 each."""
    sizes: Numbers
    """For each chunk, the number of its terms."""


class TermWeights:
    """What the terms of files weigh, once all files were added."""

    def __init__(self) -> None:
        self.chunks = 0
        """The number of chunks."""
        self.found: Counter[str] = Counter()
        """For each term, the number of chunks that have it."""
        self._words = np.zeros(2)
        """The length of all texts, and of all headings."""

    def add(self, terms: FileTerms) -> None:
        """Add the terms of a file."""
        names, numbers = terms.vocabulary.split(), np.frombuffer(terms.terms, NUMBER_TYPE)
        self.found.update(dict(zip(names, np.bincount(numbers, minlength=len(names)).tolist(), strict=True)))
        lengths = _read_lengths(terms)
        self.chunks += len(lengths[0])
        self._words += [each.sum() for each in lengths]

    def weigh(self, terms: FileTerms, head_share: float) -> list[dict[str, float]]:
        """Return the weight of each term of each chunk of a file that was added, in the order of the terms.
        `head_share` is what headings weigh beside the text."""
        names, numbers = terms.vocabulary.split(), np.frombuffer(terms.terms, NUMBER_TYPE)
        rarities = np.array([compute_rarity(self.chunks, self.found[name]) for name in names])
        sizes = np.frombuffer(terms.sizes, NUMBER_TYPE)
        weights = np.zeros(len(numbers))
        parts = (terms.body, terms.head), _read_lengths(terms), self._words.tolist(), (1.0, head_share)
        for counts, lengths, words, share in zip(*parts, strict=True):
            often = np.frombuffer(counts, np.uint8)
            weights += share * (often / (often + np.repeat(make_norms(lengths, words / self.chunks), sizes)))
        weights *= rarities[numbers] * (SATURATION + 1)
        pairs = [*zip([names[at] for at in numbers.tolist()], weights.astype(np.float32).tolist(), strict=True)]
        return [dict(sorted(pairs[at:end])) for at, end in pairwise([0, *np.cumsum(sizes).tolist()])]


def _read_lengths(terms: FileTerms) -> list[npt.NDArray[Any]]:
    return [np.frombuffer(each, LENGTH_TYPE) for each in (terms.body_lengths, terms.head_lengths)]


def count_terms(connection: sqlite3.Connection) -> TermCounts:
    """Count the terms of all chunks that are alive."""
    segments = read_segments(connection)
    alive = read_alive(connection, _join([segment.chunks for segment in segments]))
    sizes = np.zeros(len(alive), np.int64)
    terms: list[str] = []
    chunks: list[Numbers] = []
    counts: list[Numbers] = []
    for names, columns in read_together(connection, segments):
        kept = alive[columns.numbers]
        found = np.add.reduceat(kept, columns.starts, dtype=np.int64)
        sums = np.add.reduceat((columns.body.astype(np.int64) + columns.head) * kept, columns.starts)
        present = np.flatnonzero(found)
        terms += [names[at] for at in present.tolist()]
        chunks.append(found[present])
        counts.append(sums[present])
        sizes += np.bincount(columns.numbers, minlength=len(sizes))
    return TermCounts(terms, _join(chunks), _join(counts), sizes[alive])


def _join(columns: Sequence[npt.NDArray[np.integer[Any]]]) -> Numbers:
    return np.concatenate([np.zeros(0, np.int64), *columns])
