"""The inverted index: for each term, the chunks that have it.

Chunks are inverted in batches. A batch becomes a *segment*: its chunks, numbered from 0 in the order of their ids, and
for each term the numbers of the chunks that have it. A segment never changes. A chunk that is removed later is listed
in the table `dead` until its segment is merged with others. The ids in a segment are higher than those in the segments
before it.

Scores depend on the chunks that are alive, and not on how they are divided into segments.
"""

import sqlite3
from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .blocks import AFTER_ALL, Numbers, Postings, find_postings, find_postings_by_prefix, read_terms
from .schema import DamagedIndexError


class SegmentOffsets:
    """The number of the first chunk of each segment, when the chunks of all of them are numbered together."""

    def __init__(self, segments: Sequence["IndexSegment"]) -> None:
        self.ranges: dict[int, tuple[int, int]] = {}
        """Where the chunks of each segment begin and end, by its id."""
        start = 0
        for segment in segments:
            self.ranges[segment.id] = start, start + len(segment.chunks)
            start += len(segment.chunks)

    def renumber(self, segment: int, numbers: Numbers) -> Numbers:
        """Number chunks of a segment among those of all segments. Raises DamagedIndexError if it has no such chunk."""
        start, end = self.ranges.get(segment, (0, 0))
        found = numbers + start
        if found[-1] >= end:
            raise DamagedIndexError(f"a term names a chunk that segment {segment} does not have")
        return found


class IndexSegment(NamedTuple):
    """The chunks of a segment."""

    id: int
    chunks: Numbers
    body_lengths: npt.NDArray[np.uint16]
    head_lengths: npt.NDArray[np.uint16]


def list_segment_sizes(connection: sqlite3.Connection) -> list[tuple[int, int]]:
    """The id of every segment, and the number of its chunks, in the order of their chunks."""
    return connection.execute("SELECT id, length(chunks) / 8 FROM segments ORDER BY last").fetchall()


def read_segments(connection: sqlite3.Connection, ids: Collection[int] | None = None) -> list[IndexSegment]:
    """All segments, or those with these ids, in the order of their chunks."""
    wanted = [id_ for id_, _ in list_segment_sizes(connection) if ids is None or id_ in ids]
    query = "SELECT id, chunks, body_lengths, head_lengths FROM segments WHERE id = ?"
    found = (connection.execute(query, (id_,)).fetchone() for id_ in wanted)
    segments = []
    for id_, chunks, *lengths in found:
        if len(chunks) % 8 or any(len(each) * 4 != len(chunks) for each in lengths):
            raise DamagedIndexError(f"the columns of segment {id_} differ in length")
        body, head = (np.frombuffer(each, "<u2") for each in lengths)
        segments.append(IndexSegment(id_, np.frombuffer(chunks, "<i8"), body, head))
    known = {id_ for id_, _ in list_segment_sizes(connection)}
    for (id_,) in connection.execute(
        "SELECT MIN(segment) FROM term_blocks UNION ALL SELECT MAX(segment) FROM term_blocks"
    ):
        if id_ is not None and id_ not in known:
            raise DamagedIndexError(f"there are terms of segment {id_}, which does not exist")
    return segments


def read_alive(connection: sqlite3.Connection, chunks: Numbers, dead: str = "dead") -> npt.NDArray[np.bool_]:
    """Which of these chunks, in ascending order, are alive. `dead` is the table that lists the others."""
    alive = np.ones(len(chunks), np.bool_)
    first, last = (int(chunks[at]) for at in (0, -1)) if len(chunks) else (0, 0)
    found = connection.execute(f"SELECT chunk FROM {dead} WHERE chunk BETWEEN ? AND ?", (first, last))
    listed = np.fromiter(chain.from_iterable(found), np.int64)
    at = np.searchsorted(chunks, listed)
    is_here = at < len(chunks)
    is_here[is_here] = chunks[at[is_here]] == listed[is_here]
    alive[at[is_here]] = False
    return alive


_ONE_BLOCK = (
    "SELECT segment, data FROM segments CROSS JOIN term_blocks ON term_blocks.id = "
    "(SELECT id FROM term_blocks WHERE segment = segments.id AND first <= ?1 ORDER BY first DESC LIMIT 1)"
)
_BLOCKS = (
    "SELECT segment, data FROM segments CROSS JOIN term_blocks ON segment = segments.id AND first <= ?2 AND "
    "first >= COALESCE((SELECT MAX(first) FROM term_blocks WHERE segment = segments.id AND first <= ?1), ?1)"
)
"""Of each segment, the block that may have a term, and those after it that begin with another one at most."""


def read_postings(
    connection: sqlite3.Connection, term: str, *, is_prefix: bool = False
) -> Iterator[tuple[int, Postings]]:
    """The postings of a term, or of all terms that begin with it, each with the id of its segment."""
    for segment, block in find_blocks(connection, term, is_prefix=is_prefix):
        if is_prefix:
            yield from ((segment, found) for found in find_postings_by_prefix(block, term))
        elif (found := find_postings(block, term)) is not None:
            yield segment, found


def find_terms(connection: sqlite3.Connection, prefix: str) -> set[str]:
    """The terms that begin with `prefix`."""
    blocks = find_blocks(connection, prefix, is_prefix=True)
    return {term for _, block in blocks for term in read_terms(block) if term.startswith(prefix)}


def find_blocks(connection: sqlite3.Connection, term: str, *, is_prefix: bool) -> Iterator[tuple[int, bytes]]:
    """The blocks that may have a term, or any term that begins with it, each with the id of its segment."""
    if is_prefix:
        return connection.execute(_BLOCKS, (term, f"{term}{AFTER_ALL}"))
    return connection.execute(_ONE_BLOCK, (term,))
