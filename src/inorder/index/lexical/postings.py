"""The inverted index: for each term, the chunks that have it.

Chunks are inverted in batches. A batch becomes a *segment*: its chunks, numbered from 0 in the order of their ids, and
for each term the numbers of the chunks that have it. A segment never changes. A chunk that is removed later is listed
in the table `dead` until its segment is merged with others. The ids in a segment are higher than those in the segments
before it.

Scores depend on the chunks that are alive, and not on how they are divided into segments.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .schema import DamagedIndexError
from .terms import decode_terms

BATCH_CHUNKS_MAX = 16_384
"""Pending chunks that are inverted at once. With 100 terms per chunk, this takes about 40 MB of memory."""
SEGMENTS_MAX = 8
_MERGE_SHARE = 4
"""All segments are merged when 1/4 of the chunks are dead or outside the largest segment."""
_GAP_TYPES = ("<u1", "<u2", "<u4")

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


def encode_postings(postings: Postings) -> bytes:
    """Numbers as gaps in the narrowest type, then the counts in the text, then those in the headings if there are any.

    The first byte is the position of the type in `_GAP_TYPES`, plus 16 if counts in headings follow."""
    gaps = np.diff(postings.numbers, prepend=0)
    widest = int(gaps.max())
    kind = 0 if widest < 1 << 8 else 1 if widest < 1 << 16 else 2
    has_head = bool(postings.head.any())
    parts = [bytes([kind + 16 * has_head]), gaps.astype(_GAP_TYPES[kind]).tobytes(), postings.body.tobytes()]
    return b"".join([*parts, postings.head.tobytes()] if has_head else parts)


def decode_postings(data: bytes, count: int) -> Postings:
    """The inverse of `encode_postings`. Raises DamagedIndexError for data of another length."""
    type_ = np.dtype(_GAP_TYPES[data[0] & 3]) if data and data[0] & 3 < len(_GAP_TYPES) else None
    if type_ is None or count < 1 or len(data) != 1 + count * (type_.itemsize + (2 if data[0] & 16 else 1)):
        raise DamagedIndexError(f"the postings of {count} chunks have {len(data)} bytes")
    start = 1 + count * type_.itemsize
    numbers = np.cumsum(np.frombuffer(data, type_, count, 1), dtype=np.int64)
    body = np.frombuffer(data, np.uint8, count, start)
    head = np.frombuffer(data, np.uint8, count, start + count) if data[0] & 16 else np.zeros(count, np.uint8)
    return Postings(numbers, body, head)


def next_chunk_id(connection: sqlite3.Connection) -> int:
    """An id above that of every chunk, also of those that are dead."""
    [last] = connection.execute(
        "SELECT MAX(COALESCE((SELECT MAX(id) FROM chunks), 0), COALESCE((SELECT MAX(last) FROM segments), 0))"
    ).fetchone()
    return int(last) + 1


def add_chunks(connection: sqlite3.Connection, rows: Iterable[tuple[int, bytes]]) -> None:
    """Add the encoded terms of chunks, by chunk id. They are inverted when enough of them wait."""
    connection.executemany("INSERT INTO pending VALUES (?, ?)", rows)
    # Two queries, each of which looks at one row: a single one would read the whole table.
    [first, last] = connection.execute(
        "SELECT (SELECT MIN(chunk) FROM pending), (SELECT MAX(chunk) FROM pending)"
    ).fetchone()
    if first is not None and last - first >= BATCH_CHUNKS_MAX:
        invert_pending(connection)


def remove_chunks(connection: sqlite3.Connection, file: int) -> None:
    """Remove the chunks of a file. To be called while the table `chunks` still has them."""
    connection.execute("DELETE FROM pending WHERE chunk IN (SELECT id FROM chunks WHERE file = ?)", (file,))
    connection.execute(
        "INSERT INTO dead SELECT id FROM chunks WHERE file = ? AND id <= (SELECT MAX(last) FROM segments)", (file,)
    )


def invert_pending(connection: sqlite3.Connection) -> None:
    """Turn the chunks that wait into a segment."""
    chunks: list[int] = []
    lengths: list[tuple[int, int]] = []
    vocabulary: dict[str, int] = {}
    terms: list[npt.NDArray[np.int32]] = []
    body, head = bytearray(), bytearray()
    for chunk, data in connection.execute("SELECT chunk, terms FROM pending ORDER BY chunk"):
        found = decode_terms(data)
        chunks.append(chunk)
        lengths.append((found.body_length, found.head_length))
        known = [vocabulary.setdefault(term, len(vocabulary)) for term in found.terms.split()]
        terms.append(np.array(known, np.int32))
        body += found.body
        head += found.head
    if not chunks:
        return
    segment = _create_segment(connection, np.array(chunks, np.int64), np.array(lengths, np.uint16))
    flat = np.concatenate(terms)
    numbers = np.repeat(np.arange(len(chunks), dtype=np.int64), [len(each) for each in terms])
    order = np.argsort(flat, kind="stable")
    ends = [0, *np.cumsum(np.bincount(flat, minlength=len(vocabulary))).tolist()]
    inverted: list[npt.NDArray[Any]]
    inverted = [
        numbers[order],
        np.frombuffer(bytes(body), np.uint8)[order],
        np.frombuffer(bytes(head), np.uint8)[order],
    ]
    rows = (
        (
            term,
            segment,
            ends[at + 1] - ends[at],
            encode_postings(Postings(*(each[ends[at] : ends[at + 1]] for each in inverted))),
        )
        for term, at in sorted(vocabulary.items())
    )
    connection.executemany("INSERT INTO postings VALUES (?, ?, ?, ?)", rows)
    connection.execute("DELETE FROM pending")


def _create_segment(connection: sqlite3.Connection, chunks: Numbers, lengths: npt.NDArray[np.uint16]) -> int:
    columns = (chunks.astype("<i8"), lengths[:, 0].astype("<u2"), lengths[:, 1].astype("<u2"))
    cursor = connection.execute(
        "INSERT INTO segments (last, chunks, body_lengths, head_lengths) VALUES (?, ?, ?, ?)",
        (int(chunks[-1]), *(column.tobytes() for column in columns)),
    )
    return cursor.lastrowid or 0


class IndexSegment(NamedTuple):
    """The chunks of a segment."""

    id: int
    chunks: Numbers
    body_lengths: npt.NDArray[np.uint16]
    head_lengths: npt.NDArray[np.uint16]


def read_segments(connection: sqlite3.Connection) -> list[IndexSegment]:
    """All segments, in the order of their chunks."""
    found = connection.execute("SELECT id, chunks, body_lengths, head_lengths FROM segments ORDER BY last")
    segments = []
    for id_, chunks, *lengths in found:
        if len(chunks) % 8 or any(len(each) * 4 != len(chunks) for each in lengths):
            raise DamagedIndexError(f"the columns of segment {id_} differ in length")
        body, head = (np.frombuffer(each, "<u2") for each in lengths)
        segments.append(IndexSegment(id_, np.frombuffer(chunks, "<i8"), body, head))
    return segments


def read_alive(connection: sqlite3.Connection, chunks: Numbers) -> npt.NDArray[np.bool_]:
    """Which of these chunks, in ascending order, are alive."""
    alive = np.ones(len(chunks), np.bool_)
    dead = np.array([chunk for (chunk,) in connection.execute("SELECT chunk FROM dead")], np.int64)
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
        f"SELECT segment, count, data FROM postings WHERE {condition}", values
    ):
        yield segment, decode_postings(data, count)


def merge_segments(connection: sqlite3.Connection) -> None:
    """Merge segments, so that there are never many of them and few dead chunks.

    All of them are merged after a large change. After a small one the first, which is the largest, is left alone, so a
    small change costs little.
    """
    segments = read_segments(connection)
    sizes = [len(segment.chunks) for segment in segments]
    [dead] = connection.execute("SELECT COUNT(*) FROM dead").fetchone()
    changed = sum(sizes[1:]) + dead
    if changed and changed * _MERGE_SHARE >= sum(sizes):
        _merge(connection, segments)
    elif len(segments) > SEGMENTS_MAX:
        _merge(connection, segments[1:])


def _merge(connection: sqlite3.Connection, segments: Sequence[IndexSegment]) -> None:
    """Replace segments by one that has those of their chunks that are alive."""
    chunks = np.concatenate([segment.chunks for segment in segments])
    lengths = np.stack([np.concatenate([segment[at] for segment in segments]) for at in (2, 3)], axis=1)
    alive = read_alive(connection, chunks)
    ids = ", ".join(str(segment.id) for segment in segments)
    merged = _create_segment(connection, chunks[alive], lengths[alive]) if alive.any() else 0
    connection.execute("CREATE TABLE merged (term TEXT NOT NULL, segment INTEGER, count INTEGER, data BLOB)")
    connection.executemany(
        "INSERT INTO merged VALUES (?, ?, ?, ?)", _merge_postings(connection, segments, alive, merged)
    )
    connection.execute(f"DELETE FROM postings WHERE segment IN ({ids})")
    connection.execute("INSERT INTO postings SELECT * FROM merged")
    connection.execute("DROP TABLE merged")
    connection.execute(f"DELETE FROM segments WHERE id IN ({ids})")
    connection.executemany("DELETE FROM dead WHERE chunk = ?", ((int(chunk),) for chunk in chunks[~alive]))


def _merge_postings(
    connection: sqlite3.Connection, segments: Sequence[IndexSegment], alive: npt.NDArray[np.bool_], merged: int
) -> Iterator[tuple[str, int, int, bytes]]:
    """The rows of the merged segment, term by term."""
    offsets = SegmentOffsets(segments)
    renumbered = np.cumsum(alive) - 1
    ids = ", ".join(str(segment.id) for segment in segments)
    rows = connection.execute(
        f"SELECT term, segment, count, data FROM postings WHERE segment IN ({ids}) ORDER BY term, segment"
    )
    for term, parts in groupby(rows, key=itemgetter(0)):
        found = [(segment, decode_postings(data, count)) for _, segment, count, data in parts]
        numbers = np.concatenate([offsets.renumber(segment, postings.numbers) for segment, postings in found])
        kept = alive[numbers]
        if kept.any():
            body, head = (np.concatenate([postings[at] for _, postings in found])[kept] for at in (1, 2))
            data = encode_postings(Postings(renumbered[numbers[kept]], body, head))
            yield term, merged, int(kept.sum()), data
