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

from .schema import DamagedIndexError

_GAP_TYPES = ("<u1", "<u2", "<u4")
_HAS_HEAD = 16
_KIND_BYTES = [bytes((kind,)) for kind in range(2 * _HAS_HEAD)]

Numbers = npt.NDArray[np.int64]
Counts = npt.NDArray[np.uint8]


class SegmentOffsets:
    """The number of the first chunk of each segment, when the chunks of all of them are numbered together."""

    def __init__(self, segments: Sequence["IndexSegment"]) -> None:
        self._range_of: dict[int, tuple[int, int]] = {}
        start = 0
        for segment in segments:
            self._range_of[segment.id] = start, start + len(segment.chunks)
            start += len(segment.chunks)

    def renumber(self, segment: int, numbers: Numbers) -> Numbers:
        """Number chunks of a segment among those of all segments. Raises DamagedIndexError if it has no such chunk."""
        start, end = self._range_of.get(segment, (0, 0))
        found = numbers + start
        if found[-1] >= end:
            raise DamagedIndexError(f"a term names a chunk that segment {segment} does not have")
        return found


class Postings(NamedTuple):
    """The chunks of a segment that have a term, by number, and how often they have it in the text and headings."""

    numbers: Numbers
    body: Counts
    head: Counts


class PostingColumns(NamedTuple):
    """The postings of many terms, term after term."""

    starts: Numbers
    """Where the postings of each term begin."""
    numbers: Numbers
    body: Counts
    head: Counts


def encode_postings(columns: PostingColumns) -> tuple[list[int], list[bytes]]:
    """For each term, how many chunks have it, and its postings: the numbers of the chunks as gaps in the narrowest
    type, then the counts in the text, then those in the headings if there are any.

    The first byte is the position of the type in `_GAP_TYPES`, plus 16 if counts in headings follow. All terms are
    encoded at once, because most have few postings and an operation on an array costs more than it does on these."""
    starts, numbers, body, head = columns
    gaps = np.diff(numbers, prepend=0)
    gaps[starts] = numbers[starts]
    widest = np.maximum.reduceat(gaps, starts)
    kinds = np.digitize(widest, (1 << 8, 1 << 16)) + _HAS_HEAD * (np.maximum.reduceat(head, starts) > 0)
    gap_columns = [gaps.astype(each).tobytes() for each in _GAP_TYPES]
    body_column, head_column = body.tobytes(), head.tobytes()
    counts = np.diff(starts, append=len(numbers)).tolist()
    encoded = []
    for start, count, kind in zip(starts.tolist(), counts, kinds.tolist(), strict=True):
        end, width = start + count, 1 << (kind & 3)
        parts = [_KIND_BYTES[kind], gap_columns[kind & 3][start * width : end * width], body_column[start:end]]
        if kind & _HAS_HEAD:
            parts.append(head_column[start:end])
        encoded.append(b"".join(parts))
    return counts, encoded


def decode_postings(data: bytes, count: int) -> Postings:
    """The inverse of `encode_postings`. Raises DamagedIndexError for data of another length."""
    type_ = np.dtype(_GAP_TYPES[data[0] & 3]) if data and data[0] & 3 < len(_GAP_TYPES) else None
    if type_ is None or count < 1 or len(data) != 1 + count * (type_.itemsize + (2 if data[0] & _HAS_HEAD else 1)):
        raise DamagedIndexError(f"the postings of {count} chunks have {len(data)} bytes")
    start = 1 + count * type_.itemsize
    numbers = np.cumsum(np.frombuffer(data, type_, count, 1), dtype=np.int64)
    body = np.frombuffer(data, np.uint8, count, start)
    head = np.frombuffer(data, np.uint8, count, start + count) if data[0] & _HAS_HEAD else np.zeros(count, np.uint8)
    return Postings(numbers, body, head)


def decode_many_postings(encoded: Sequence[bytes], counts: Sequence[int]) -> PostingColumns:
    """The inverse of `encode_postings`. Raises DamagedIndexError for data of another length."""
    data = np.frombuffer(b"".join(encoded), np.uint8)
    count = np.array(counts, np.int64)
    sizes = np.array([len(each) for each in encoded], np.int64)
    first = np.cumsum(sizes) - sizes
    kinds = np.array([each[0] if each else 3 for each in encoded], np.int64)
    widths = 1 << (kinds & 3)
    has_head = (kinds & _HAS_HEAD) > 0
    is_damaged = (count < 1) | (kinds & 3 == 3) | (sizes != 1 + count * (widths + 1 + has_head))
    if is_damaged.any():
        at = int(is_damaged.argmax())
        raise DamagedIndexError(f"the postings of {counts[at]} chunks have {len(encoded[at])} bytes")
    starts = np.cumsum(count) - count
    within = np.arange(int(count.sum())) - np.repeat(starts, count)
    width = np.repeat(widths, count)
    place = np.repeat(first + 1, count) + within * width
    gaps = data[place].astype(np.int64)
    for byte in (1, 2, 3):
        is_wide = width > (1 if byte == 1 else 2)
        gaps[is_wide] += data[place[is_wide] + byte].astype(np.int64) << (8 * byte)
    sums = np.cumsum(gaps)
    numbers = sums - np.repeat(sums[starts] - gaps[starts], count)
    place = np.repeat(first + 1 + count * widths, count) + within
    head = np.zeros(len(gaps), np.uint8)
    in_head = np.repeat(has_head, count)
    head[in_head] = data[place[in_head] + np.repeat(count, count)[in_head]]
    return PostingColumns(starts, numbers, data[place], head)


def decode_long_postings(encoded: Sequence[bytes], counts: Sequence[int]) -> PostingColumns:
    """As `decode_many_postings`, for terms that many chunks have: with less memory, and more time per term."""
    decoded = [decode_postings(data, count) for data, count in zip(encoded, counts, strict=True)]
    columns = [np.concatenate(column) for column in zip(*decoded, strict=True)]
    count = np.array(counts, np.int64)
    return PostingColumns(np.cumsum(count) - count, *columns)


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
    for (id_,) in connection.execute("SELECT MIN(segment) FROM postings UNION ALL SELECT MAX(segment) FROM postings"):
        if id_ is not None and id_ not in known:
            raise DamagedIndexError(f"there are terms of segment {id_}, which does not exist")
    return segments


def read_alive(connection: sqlite3.Connection, chunks: Numbers) -> npt.NDArray[np.bool_]:
    """Which of these chunks, in ascending order, are alive."""
    alive = np.ones(len(chunks), np.bool_)
    first, last = (int(chunks[at]) for at in (0, -1)) if len(chunks) else (0, 0)
    found = connection.execute("SELECT chunk FROM dead WHERE chunk BETWEEN ? AND ?", (first, last))
    dead = np.fromiter(chain.from_iterable(found), np.int64)
    at = np.searchsorted(chunks, dead)
    is_here = at < len(chunks)
    is_here[is_here] = chunks[at[is_here]] == dead[is_here]
    alive[at[is_here]] = False
    return alive


def read_postings(
    connection: sqlite3.Connection, term: str, *, is_prefix: bool = False
) -> Iterator[tuple[int, Postings]]:
    """The postings of a term, or of all terms that begin with it, each with the id of its segment."""
    condition, values = "term = ?", [term]
    if is_prefix:
        condition, values = "term >= ? AND term < ?", [term, f"{term}\U0010ffff"]
    for segment, count, data in connection.execute(
        f"SELECT segment, count, data FROM segments CROSS JOIN postings ON segment = id WHERE {condition}", values
    ):
        yield segment, decode_postings(data, count)
