"""Write the inverted index: invert the terms of new chunks, and merge segments."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from heapq import merge
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .blocks import Numbers, PostingColumns, decode_blocks, encode_blocks, read_layout, read_terms
from .file_terms import LENGTH_TYPE, NUMBER_TYPE, FileTerms
from .postings import IndexSegment, list_segment_sizes, read_alive, read_segments
from .schema import DamagedIndexError
from .term_ranks import rank_terms

SEGMENTS_MAX = 8
"""More segments are merged. A search looks up each term in each segment."""
SEGMENT_CHUNKS_MAX = 131_072
"""No more chunks are merged, so that the memory for it does not grow with the index."""
_DEAD_SHARE = 4
"""All segments are merged when 1/4 of the chunks are dead."""
_MERGED_POSTINGS = 50_000
"""Postings that are merged at once, unless a single term has more: about 5 MB of memory."""
_ENCODED_POSTINGS = 50_000
"""Postings that are encoded at once, unless a single term has more."""
_TERM_POSTINGS = 4
"""A term takes as much memory in a merge as this many postings: most terms are rare, and have few."""
_RANK_BITS = 16
"""NumPy sorts numbers of this many bits in linear time."""
_LENGTHS = ("body_lengths", "head_lengths")
_COLUMNS = ("sizes", "terms", "body", "head", *_LENGTHS)
_FILE_BYTES = 400
"""Memory for the objects of a file."""
_Block = tuple[str, int, bytes]
"""The first term of a block, the place of its segment, and the block."""


class TermBuffer:
    """The terms of chunks that are not inverted yet, file after file, in the order of the ids of the chunks."""

    def __init__(self) -> None:
        self._files: list[tuple[int, FileTerms]] = []
        self.size_bytes = 0
        """The size of the terms."""

    @property
    def first(self) -> int | None:
        """The id of the first chunk; None if there is none."""
        return self._files[0][0] if self._files else None

    def add(self, first: int, terms: FileTerms) -> None:
        """Add the terms of a file, whose chunks have the ids from `first` on."""
        if terms.body_lengths:
            self._files.append((first, terms))
            self.size_bytes += _FILE_BYTES + len(terms.vocabulary) + sum(len(getattr(terms, each)) for each in _COLUMNS)

    def extend(self, other: "TermBuffer") -> None:
        """Add the files of another buffer, whose chunks have higher ids."""
        self._files += other._files
        self.size_bytes += other.size_bytes

    def invert(self, connection: sqlite3.Connection) -> None:
        """Write a segment with everything in the buffer, and empty it."""
        if self._files:
            _invert(connection, self._files)
            self._files = []
            self.size_bytes = 0


def _invert(connection: sqlite3.Connection, files: Sequence[tuple[int, FileTerms]]) -> None:
    all_terms = [terms for _, terms in files]
    lengths = [_join([getattr(each, name) for each in all_terms], LENGTH_TYPE) for name in _LENGTHS]
    firsts = zip((first for first, _ in files), all_terms, strict=True)
    chunks = [np.arange(first, first + len(terms.sizes) // 4, dtype=np.int64) for first, terms in firsts]
    segment = _create_segment(connection, np.concatenate(chunks), np.stack(lengths, axis=1))
    names, ranks = rank_terms(all_terms)
    counts = np.bincount(ranks, minlength=len(names))
    places = _sort_places(ranks)
    del ranks
    sizes = _join([each.sizes for each in all_terms], NUMBER_TYPE)
    owners = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    body, head = (_join([getattr(each, name) for each in all_terms], "u1") for name in ("body", "head"))
    ends = np.cumsum(counts)
    starts = ends - counts
    for first, last in _divide(ends):
        here = places[starts[first] : ends[last - 1]]
        columns = PostingColumns(starts[first:last] - starts[first], owners[here], body[here], head[here])
        _insert_blocks(connection, segment, names[first:last], columns)


def _sort_places(ranks: npt.NDArray[np.int32]) -> Numbers:
    """The places of these numbers in the order of the numbers, and equal ones in the order of the places."""
    places = np.argsort(ranks.astype(np.uint16), kind="stable")
    if len(ranks) and int(ranks.max()) >> _RANK_BITS:
        places = places[np.argsort((ranks >> _RANK_BITS).astype(np.uint16)[places], kind="stable")]
    return places


def _divide(ends: Numbers) -> Iterator[tuple[int, int]]:
    """Divide terms into ranges that are encoded one after the other. `ends` is where the postings of each end."""
    first, before = 0, 0
    while first < len(ends):
        last = max(first + 1, int(np.searchsorted(ends, before + _ENCODED_POSTINGS, "right")))
        yield first, last
        first, before = last, int(ends[last - 1])


def _join(columns: Iterable[bytes], type_: str) -> npt.NDArray[Any]:
    return np.frombuffer(b"".join(columns), type_)


def _insert_blocks(connection: sqlite3.Connection, segment: int, terms: Sequence[str], columns: PostingColumns) -> None:
    if terms:
        connection.executemany(
            "INSERT INTO term_blocks (segment, first, data) VALUES (?, ?, ?)",
            ((segment, *block) for block in encode_blocks(terms, columns)),
        )


def _create_segment(connection: sqlite3.Connection, chunks: Numbers, lengths: npt.NDArray[np.uint16]) -> int:
    columns = (chunks.astype("<i8"), lengths[:, 0].astype("<u2"), lengths[:, 1].astype("<u2"))
    cursor = connection.execute(
        "INSERT INTO segments (last, chunks, body_lengths, head_lengths) VALUES (?, ?, ?, ?)",
        (int(chunks[-1]), *(column.tobytes() for column in columns)),
    )
    return cursor.lastrowid or 0


class MergeRules(NamedTuple):
    """When segments are merged, and which chunks a merge leaves out."""

    segments_max: int = 0
    """So many segments are not merged; 0: `SEGMENTS_MAX`."""
    chunks_max: int = 0
    """No merged segment has more chunks; 0: `SEGMENT_CHUNKS_MAX`."""
    dead: str = "dead"
    """The table or view that lists the chunks that are left out."""
    dead_owner: str = "dead"
    """The table that they are removed from then."""


_RULES = MergeRules()


def merge_segments(connection: sqlite3.Connection, rules: MergeRules = _RULES) -> None:
    """Merge segments, so that there are never many small ones and few dead chunks.

    All of them are merged when many chunks are dead. When there are many segments after the last large one, the latest
    are merged, from the first that is smaller than all after it together. So every posting is merged a few times at
    most, and a small change costs little. The rules limit the size of a merged segment.
    """
    chunks_max = rules.chunks_max or SEGMENT_CHUNKS_MAX
    found = list_segment_sizes(connection)
    sizes = [size for _, size in found]
    [dead] = connection.execute(f"SELECT COUNT(*) FROM {rules.dead}").fetchone()
    if dead * _DEAD_SHARE >= sum(sizes) > 0:
        _merge_groups(connection, found, rules)
        return
    small = next((at for at in range(len(sizes), 0, -1) if sizes[at - 1] * 2 > chunks_max), 0)
    if len(sizes) - small > (rules.segments_max or SEGMENTS_MAX):
        last = len(sizes) - 2
        start = next(at for at in range(small, len(sizes)) if at == last or sizes[at] < sum(sizes[at + 1 :]))
        _merge_groups(connection, found[start:], rules)


def _merge_groups(connection: sqlite3.Connection, segments: Sequence[tuple[int, int]], rules: MergeRules) -> None:
    """Merge segments, given with their sizes, in groups that are not too large."""
    group: list[int] = []
    total = 0
    for id_, size in segments:
        if group and total + size > (rules.chunks_max or SEGMENT_CHUNKS_MAX):
            _merge(connection, read_segments(connection, group), rules)
            group, total = [], 0
        group.append(id_)
        total += size
    _merge(connection, read_segments(connection, group), rules)


def _merge(connection: sqlite3.Connection, segments: Sequence[IndexSegment], rules: MergeRules) -> None:
    """Replace segments by one that has those of their chunks that are alive."""
    chunks = np.concatenate([segment.chunks for segment in segments])
    lengths = np.stack([np.concatenate([segment[at] for segment in segments]) for at in (2, 3)], axis=1)
    alive = read_alive(connection, chunks, rules.dead)
    if len(segments) == 1 and alive.all():
        return
    if alive.any():
        merged = _create_segment(connection, chunks[alive], lengths[alive])
        found = read_together(connection, segments)
        for terms, columns in found if alive.all() else _drop_dead(found, alive):
            _insert_blocks(connection, merged, terms, columns)
    ids = [(segment.id,) for segment in segments]
    connection.executemany("DELETE FROM term_blocks WHERE segment = ?", ids)
    connection.executemany("DELETE FROM segments WHERE id = ?", ids)
    connection.executemany(
        f"DELETE FROM {rules.dead_owner} WHERE chunk = ?", ((int(chunk),) for chunk in chunks[~alive])
    )


def _drop_dead(
    found: Iterable[tuple[list[str], PostingColumns]], alive: npt.NDArray[np.bool_]
) -> Iterator[tuple[list[str], PostingColumns]]:
    """The postings of chunks that are alive, numbered without the others."""
    renumbered = np.cumsum(alive) - 1
    for terms, columns in found:
        kept = alive[columns.numbers]
        counts = np.add.reduceat(kept, columns.starts, dtype=np.int64)
        present = np.flatnonzero(counts)
        starts = (np.cumsum(counts) - counts)[present]
        numbers = renumbered[columns.numbers[kept]]
        remaining = PostingColumns(starts, numbers, columns.body[kept], columns.head[kept])
        yield [terms[at] for at in present.tolist()], remaining


def read_together(
    connection: sqlite3.Connection, segments: Sequence[IndexSegment]
) -> Iterator[tuple[list[str], PostingColumns]]:
    """The postings of all these segments, a limited number of terms at a time, with the chunks numbered together."""
    sizes = np.array([len(segment.chunks) for segment in segments], np.int64)
    query = "SELECT first, ?, data FROM term_blocks WHERE segment = ? ORDER BY first"
    queries = [connection.execute(query, (at, segment.id)) for at, segment in enumerate(segments)]
    blocks: list[_Block] = []
    start, total = "", 0
    for block in merge(*queries, key=itemgetter(0)):
        layout = read_layout(block[2])
        size = layout.postings + _TERM_POSTINGS * layout.terms
        if not blocks:
            start = block[0]
        if block[0] > start and total + size > _MERGED_POSTINGS:
            yield _join_blocks(blocks, sizes, start, block[0])
            start, total = block[0], 0
            blocks = [each for each in blocks if read_terms(each[2])[-1] >= start]
        blocks.append(block)
        total += size
    if blocks:
        yield _join_blocks(blocks, sizes, start, None)


def _join_blocks(
    blocks: Sequence[_Block], sizes: Numbers, start: str, end: str | None
) -> tuple[list[str], PostingColumns]:
    """The terms from `start` on and before `end` in these blocks, and their postings. `sizes` has those of the
    segments."""
    blocks = sorted(blocks, key=itemgetter(1, 0))
    terms = [read_terms(data, first) for first, _, data in blocks]
    segment = np.repeat([place for _, place, _ in blocks], [len(each) for each in terms])
    names = [name for each in terms for name in each]
    columns = decode_blocks([data for _, _, data in blocks])
    counts = np.diff(columns.starts, append=len(columns.numbers))
    highest = columns.numbers[columns.starts + counts - 1]
    if (highest >= sizes[segment]).any():
        raise DamagedIndexError("a term names a chunk that its segment does not have")
    chosen = [at for at, name in enumerate(names) if start <= name and (end is None or name < end)]
    chosen.sort(key=names.__getitem__)
    counts = counts[chosen]
    starts = np.cumsum(counts) - counts
    places = np.arange(int(counts.sum())) + np.repeat(columns.starts[chosen] - starts, counts)
    numbers = columns.numbers[places] + np.repeat((np.cumsum(sizes) - sizes)[segment[chosen]], counts)
    firsts = [at for at, name in enumerate(chosen) if not at or names[name] != names[chosen[at - 1]]]
    joined = PostingColumns(starts[firsts], numbers, columns.body[places], columns.head[places])
    return [names[chosen[at]] for at in firsts], joined
