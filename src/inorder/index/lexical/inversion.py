"""Write the inverted index: invert the terms of new chunks, and merge segments."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from heapq import merge
from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt

from .file_terms import FileTerms
from .postings import (
    IndexSegment,
    Numbers,
    PostingColumns,
    decode_long_postings,
    decode_many_postings,
    encode_postings,
    read_alive,
    read_segments,
)
from .schema import DamagedIndexError
from .terms import LENGTH_TYPE, NUMBER_TYPE, TermNumbers

BATCH_CHUNKS_MAX = 16_384
"""Chunks that are inverted at once. With 100 terms per chunk, this takes about 60 MB of memory."""
SEGMENTS_MAX = 8
"""More segments are merged. A search looks up each term in each segment."""
_DEAD_SHARE = 4
"""All segments are merged when 1/4 of the chunks are dead."""
_MERGED_POSTINGS = 250_000
"""Postings that are merged at once: about 30 MB of memory."""
_ROW_POSTINGS = 4
"""A row takes as much memory as this many postings: most terms are rare, and have few postings in a row."""
_LONG_ROW_POSTINGS = 64
"""Rows with more postings than this on average are decoded one by one, which takes a tenth of the memory."""
_LENGTHS = ("body_lengths", "head_lengths")


class TermBuffer:
    """The terms of chunks that are not inverted yet, file after file, in the order of the ids of the chunks."""

    def __init__(self) -> None:
        self._files: list[tuple[int, FileTerms]] = []
        self.chunks_count = 0

    @property
    def first(self) -> int | None:
        """The id of the first chunk; None if there is none."""
        return self._files[0][0] if self._files else None

    def add(self, first: int, terms: FileTerms) -> None:
        """Add the terms of a file, whose chunks have the ids from `first` on."""
        count = len(terms.body_lengths) // np.dtype(LENGTH_TYPE).itemsize
        if count:
            self._files.append((first, terms))
            self.chunks_count += count

    def extend(self, other: "TermBuffer") -> None:
        """Add the files of another buffer, whose chunks have higher ids."""
        self._files += other._files
        self.chunks_count += other.chunks_count

    def invert(self, connection: sqlite3.Connection) -> None:
        """Write a segment with everything in the buffer, and empty it."""
        if self._files:
            _invert(connection, self._files)
            self._files = []
            self.chunks_count = 0


def _invert(connection: sqlite3.Connection, files: Sequence[tuple[int, FileTerms]]) -> None:
    all_terms = [terms for _, terms in files]
    lengths = [_join([getattr(each, name) for each in all_terms], LENGTH_TYPE) for name in _LENGTHS]
    firsts = zip((first for first, _ in files), all_terms, strict=True)
    chunks = [np.arange(first, first + len(terms.sizes) // 4, dtype=np.int64) for first, terms in firsts]
    segment = _create_segment(connection, np.concatenate(chunks), np.stack(lengths, axis=1))
    numbers = TermNumbers()
    terms = np.concatenate([_number_terms(each, numbers) for each in all_terms])
    names = sorted(numbers.names)
    ranks = np.empty(len(names), np.int32)
    ranks[[numbers[name] for name in names]] = np.arange(len(names), dtype=np.int32)
    terms = ranks[terms]
    order = np.argsort(terms, kind="stable")
    counts = np.bincount(terms, minlength=len(names))
    sizes = _join([each.sizes for each in all_terms], NUMBER_TYPE)
    columns = PostingColumns(
        np.cumsum(counts) - counts,
        np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)[order].astype(np.int64),
        _join([each.body for each in all_terms], "u1")[order],
        _join([each.head for each in all_terms], "u1")[order],
    )
    _insert_postings(connection, segment, names, columns)


def _number_terms(terms: FileTerms, numbers: TermNumbers) -> npt.NDArray[np.int32]:
    """The number of each term of each chunk of a file."""
    known = np.array(list(map(numbers.__getitem__, terms.vocabulary.split())), np.int32)
    found: npt.NDArray[np.int32] = known[np.frombuffer(terms.terms, NUMBER_TYPE)]
    return found


def _join(columns: Iterable[bytes], type_: str) -> npt.NDArray[Any]:
    return np.frombuffer(b"".join(columns), type_)


def _insert_postings(
    connection: sqlite3.Connection, segment: int, terms: Sequence[str], columns: PostingColumns
) -> None:
    if terms:
        rows = zip(repeat(segment), terms, encode_postings(columns), strict=False)
        connection.executemany(
            "INSERT INTO postings (segment, term, count, data) VALUES (?, ?, ?, ?)",
            ((segment, term, count, data) for segment, term, (count, data) in rows),
        )


def _create_segment(connection: sqlite3.Connection, chunks: Numbers, lengths: npt.NDArray[np.uint16]) -> int:
    columns = (chunks.astype("<i8"), lengths[:, 0].astype("<u2"), lengths[:, 1].astype("<u2"))
    cursor = connection.execute(
        "INSERT INTO segments (last, chunks, body_lengths, head_lengths) VALUES (?, ?, ?, ?)",
        (int(chunks[-1]), *(column.tobytes() for column in columns)),
    )
    return cursor.lastrowid or 0


def merge_segments(connection: sqlite3.Connection) -> None:
    """Merge segments, so that there are never many of them and few dead chunks.

    All of them are merged when many chunks are dead. When there are many segments, the latest ones are merged, from the
    first that is smaller than all after it together. So every posting is merged a few times at most, and a small change
    costs little.
    """
    segments = read_segments(connection)
    sizes = [len(segment.chunks) for segment in segments]
    [dead] = connection.execute("SELECT COUNT(*) FROM dead").fetchone()
    if dead * _DEAD_SHARE >= sum(sizes) > 0:
        _merge(connection, segments)
    elif len(segments) > SEGMENTS_MAX:
        start = next(at for at in range(len(sizes)) if at == len(sizes) - 2 or sizes[at] < sum(sizes[at + 1 :]))
        _merge(connection, segments[start:])


def _merge(connection: sqlite3.Connection, segments: Sequence[IndexSegment]) -> None:
    """Replace segments by one that has those of their chunks that are alive."""
    chunks = np.concatenate([segment.chunks for segment in segments])
    lengths = np.stack([np.concatenate([segment[at] for segment in segments]) for at in (2, 3)], axis=1)
    alive = read_alive(connection, chunks)
    if alive.any():
        merged = _create_segment(connection, chunks[alive], lengths[alive])
        renumbered = np.cumsum(alive) - 1
        for terms, columns in _read_together(connection, segments):
            kept = alive[columns.numbers]
            owners = np.repeat(np.arange(len(terms)), np.diff(columns.starts, append=len(kept)))[kept]
            present, starts = np.unique(owners, return_index=True)
            numbers = renumbered[columns.numbers[kept]]
            remaining = PostingColumns(starts, numbers, columns.body[kept], columns.head[kept])
            _insert_postings(connection, merged, [terms[at] for at in present], remaining)
    ids = [(segment.id,) for segment in segments]
    connection.executemany("DELETE FROM postings WHERE segment = ?", ids)
    connection.executemany("DELETE FROM segments WHERE id = ?", ids)
    connection.executemany("DELETE FROM dead WHERE chunk = ?", ((int(chunk),) for chunk in chunks[~alive]))


def _read_together(
    connection: sqlite3.Connection, segments: Sequence[IndexSegment]
) -> Iterator[tuple[list[str], PostingColumns]]:
    """The postings of all these segments, a limited number of terms at a time, with the chunks numbered together."""
    sizes = np.array([len(segment.chunks) for segment in segments], np.int64)
    query = "SELECT term, ?, count, data FROM postings WHERE segment = ? ORDER BY term"
    queries = [connection.execute(query, (at, segment.id)) for at, segment in enumerate(segments)]
    rows: list[tuple[str, int, int, bytes]] = []
    total = 0
    for row in merge(*queries):
        if total >= _MERGED_POSTINGS and row[0] != rows[-1][0]:
            yield _join_rows(rows, sizes)
            rows, total = [], 0
        rows.append(row)
        total += row[2] + _ROW_POSTINGS
    if rows:
        yield _join_rows(rows, sizes)


def _join_rows(rows: Sequence[tuple[str, int, int, bytes]], sizes: Numbers) -> tuple[list[str], PostingColumns]:
    """The terms and the postings in these rows, which are ordered by term. `sizes` has those of the segments."""
    names, segments, counts, encoded = zip(*rows, strict=True)
    is_long = sum(counts) > _LONG_ROW_POSTINGS * len(rows)
    columns = decode_long_postings(encoded, counts) if is_long else decode_many_postings(encoded, counts)
    segment = np.repeat(np.array(segments, np.int32), counts)
    if (columns.numbers >= sizes[segment]).any():
        raise DamagedIndexError("a term names a chunk that its segment does not have")
    numbers = columns.numbers + (np.cumsum(sizes) - sizes)[segment]
    firsts = [at for at, name in enumerate(names) if not at or name != names[at - 1]]
    return [names[at] for at in firsts], columns._replace(starts=columns.starts[firsts], numbers=numbers)
