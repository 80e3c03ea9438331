"""BM25 over the inverted index.

A chunk scores in two fields with the same formula: its text and its headings. What headings weigh is left to the
ranking. All scores are computed at once, so the time depends on the number of postings: a compiled module reads some
hundred million of them per second (`_scorer.h`). Without it, an array operation per term and segment gives the same
numbers in more time. Scores depend on the chunks alone, not on the order in which they were indexed.
"""

import math
import sqlite3
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .blocks import Numbers
from .postings import SegmentOffsets, find_blocks, find_terms, read_alive, read_postings, read_segments
from .schema import DamagedIndexError

_open_scorer: Callable[..., Any] | None
try:
    from ._counter import PostingScorer

    _open_scorer = PostingScorer
except ImportError:  # built without a C compiler
    _open_scorer = None

SATURATION = 1.2
"""k1 of BM25: how soon further occurrences of a term stop to count."""
LENGTH_WEIGHT = 0.75
"""b of BM25: how much a long text is discounted."""

Scores = npt.NDArray[np.float64]
Occurrences = npt.NDArray[np.uint8] | Scores
"""How often chunks have a term; sums of it are floats."""


class TermGroup(NamedTuple):
    """The forms of one word of a question. They count as one term: a chunk has it if it has any of them."""

    forms: tuple[str, ...]
    is_prefix: bool = False
    """Whether terms that begin with a form count too, for a word shorter than what is indexed."""
    weight: float = 1.0
    """What the term weighs: more if the question repeats it."""


class LexicalIndex:
    """The inverted index of a database, and the lengths of its chunks."""

    _scorer: Any = None
    """What reads postings; None: arrays do."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        segments = read_segments(connection)
        empty = np.zeros(0, np.int64)
        self.chunks: Numbers = np.concatenate([empty, *(segment.chunks for segment in segments)])
        """The ids of all chunks, in ascending order. Scores are in the same order."""
        self._offsets = SegmentOffsets(segments)
        self.alive = read_alive(connection, self.chunks)
        """Which of them are alive."""
        self._count = int(self.alive.sum())
        self._has_dead = self._count < len(self.chunks)
        lengths = (np.concatenate([empty, *(segment[at] for segment in segments)]) for at in (2, 3))
        self._norms = [self._make_norms(each) for each in lengths]
        self._is_indexed: dict[TermGroup, bool] = {}
        """Of the terms that were scored last, whether the index has them."""
        if _open_scorer is not None:
            self._scorer = _open_scorer(self.alive, *self._norms, self._count)

    def _make_norms(self, lengths: Numbers) -> Scores:
        return make_norms(lengths, lengths[self.alive].sum() / max(1, self._count))

    def find(self, groups: Sequence[TermGroup]) -> tuple[Numbers, Scores, Scores]:
        """The numbers of the chunks that have any of the terms, in ascending order, and the scores of their texts and
        headings. The compiled form of `score`, if there is one."""
        if self._scorer is None:
            body, head = self.score(groups)
            found = np.flatnonzero(body + head)
            return found, body[found], head[found]
        ranges = self._offsets.ranges
        listed = []
        for group in groups:
            blocks = [
                (*ranges.get(segment, (0, 0)), form.encode(), block)
                for form in group.forms
                for segment, block in find_blocks(self._connection, form, is_prefix=group.is_prefix)
            ]
            listed.append((group.weight, group.is_prefix, blocks))
        try:
            columns, counts = self._scorer.find(listed, SATURATION)
        except ValueError as error:
            raise DamagedIndexError(str(error)) from None
        self._is_indexed = {group: count > 0 for group, count in zip(groups, counts, strict=True)}
        numbers, body, head = columns
        return np.frombuffer(numbers, np.int64), np.frombuffer(body), np.frombuffer(head)

    def score(self, groups: Sequence[TermGroup]) -> tuple[Scores, Scores]:
        """The score of the text and that of the headings of every chunk; 0 if it has none of the terms or is dead."""
        scores: tuple[Scores, Scores] = (np.zeros(len(self.chunks)), np.zeros(len(self.chunks)))
        self._is_indexed = {}
        for group in groups:
            numbers, *counts = self._read_group(group)
            self._is_indexed[group] = len(numbers) > 0
            if not len(numbers):
                continue
            rarity = group.weight * compute_rarity(self._count, len(numbers))
            for count, norms, field in zip(counts, self._norms, scores, strict=True):
                if count.any():
                    field[numbers] += _saturate(count, norms[numbers], rarity * (SATURATION + 1))
        return scores

    def _read_group(self, group: TermGroup) -> tuple[Numbers, Occurrences, Occurrences]:
        """The chunks that have one of the forms, and how often they have any of them."""
        parts = [
            (self._offsets.renumber(segment, postings.numbers), postings.body, postings.head)
            for form in group.forms
            for segment, postings in read_postings(self._connection, form, is_prefix=group.is_prefix)
        ]
        if not parts:
            return np.zeros(0, np.int64), np.zeros(0), np.zeros(0)
        numbers: Numbers = np.concatenate([part[0] for part in parts])
        body, head = (np.concatenate([part[at] for part in parts]) for at in (1, 2))
        if len(group.forms) > 1 or group.is_prefix:
            numbers, inverse = np.unique(numbers, return_inverse=True)
            body, head = (_sum_by_group(inverse, each) for each in (body, head))
        if self._has_dead:
            kept = self.alive[numbers]
            numbers, body, head = numbers[kept], body[kept], head[kept]
        return numbers, body, head

    def find_chunks(self, group: TermGroup) -> Numbers:
        """The numbers of the chunks that are alive and have one of the forms."""
        return self._read_group(group)[0]

    def has_any(self, group: TermGroup) -> bool:
        """Whether a chunk that is alive has one of the forms."""
        known = self._is_indexed.get(group)
        return len(self._read_group(group)[0]) > 0 if known is None else known

    def find_similar_terms(self, start: str, shortest: int, longest: int) -> set[str]:
        """Terms that begin with `start` and have about the right length. Some may be those of dead chunks only."""
        return {term for term in find_terms(self._connection, start) if shortest <= len(term) <= longest}


def compute_rarity(chunks: int, found: int) -> float:
    """What a term weighs that `found` of all `chunks` have: the inverse document frequency of BM25."""
    return math.log(1 + (chunks - found + 0.5) / (found + 0.5))


def make_norms(lengths: Numbers, average: float) -> Scores:
    """What the length of each text does to the saturation of its terms."""
    norms: Scores = SATURATION * (1 - LENGTH_WEIGHT + LENGTH_WEIGHT * lengths.astype(np.float64) / (average or 1))
    return norms


def _saturate(count: Occurrences, norms: Scores, factor: float) -> Scores:
    """The formula of BM25 without intermediate arrays. Overwrites `norms`."""
    scores = count.astype(np.float64)
    norms += scores
    scores *= factor
    scores /= norms
    return scores


def _sum_by_group(groups: Numbers, values: Occurrences) -> Scores:
    """The sum of the values of each group."""
    sums: Scores = np.bincount(groups, values).astype(np.float64)
    return sums
