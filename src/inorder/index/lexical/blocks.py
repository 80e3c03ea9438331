"""Blocks of postings: those of consecutive terms in one row.

Most terms are rare. A row costs more than the postings of such a term, so a row has a *block*: some dozens of terms in
ascending order, and their postings. A term with many postings has a block of its own.

The postings of a block are in columns, term after term: the numbers of the chunks as gaps, the counts in the text, and
the counts in the headings. The gaps of a term have the narrowest of three types that holds them all, and a term that is
in no heading has no counts there. So many blocks are encoded with a few operations on arrays, and a search reads one
term without the others.

The parts of a block, with all numbers in little-endian order:

* the header: the number of terms, the size of their names, the number of gaps of each type, of postings, and of counts
  in headings
* for each term, where it begins in the counts of the text, in the gaps (in bytes), and in the counts of the headings:
  three columns of 16-bit numbers
* the names of the terms in UTF-8, each between spaces
* the gaps of each type, the counts in the text, and the counts in the headings
"""

import struct
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise
from operator import lt
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .schema import DamagedIndexError

BLOCK_BYTES = 1900
"""About the size of a block: four fit into a page of the database."""
_LONG_BYTES = BLOCK_BYTES // 2
"""A term with larger postings has a block of its own, so that no other one is read with it."""
_GAP_TYPES = tuple(map(np.dtype, ("<u1", "<u2", "<u4")))
_COUNT_TYPE = np.dtype("u1")
_NUMBER_TYPE = np.dtype("i8")
_GAP_ENDS = (1 << 8, 1 << 16)
_HEADER = struct.Struct("<HH5I")
_START = struct.Struct("<H")
_TERM_BYTES = 3 * _START.size + 1
"""What a term takes beside its name and its postings."""
AFTER_ALL = "\U0010ffff"
"""After every other character: what begins with a prefix is before the prefix and this."""

Numbers = npt.NDArray[np.int64]
Integers = npt.NDArray[np.integer[Any]]
Counts = npt.NDArray[np.uint8]


class Postings(NamedTuple):
    """The chunks of a segment that have a term, by number, and how often they have it in the text and headings."""

    numbers: Numbers
    body: Counts
    head: Counts


class PostingColumns(NamedTuple):
    """The postings of many terms, term after term."""

    starts: Numbers
    """Where the postings of each term begin."""
    numbers: Integers
    body: Counts
    head: Counts


class BlockLayout(NamedTuple):
    """How many entries the parts of a block have, and where they begin."""

    terms: int
    gaps: tuple[int, int, int]
    """The number of gaps of each type."""
    postings: int
    heads: int
    names_at: int
    gaps_at: int
    body_at: int
    heads_at: int


def encode_blocks(terms: Sequence[str], columns: PostingColumns) -> Iterator[tuple[str, bytes]]:
    """The blocks of these terms, which are in ascending order, each with its first term. All are encoded at once,
    because an operation on an array costs more than it does on the few postings of a block."""
    starts, numbers, body, head = columns
    counts = np.diff(starts, append=len(numbers))
    gaps = np.diff(numbers, prepend=numbers[:1])
    gaps[starts] = numbers[starts]
    types = np.digitize(np.maximum.reduceat(gaps, starts), _GAP_ENDS)
    has_head = np.maximum.reduceat(head, starts) > 0
    head_counts = np.where(has_head, counts, 0)
    edges = _divide(terms, (counts << types) + counts + head_counts)
    gap_starts, gap_counts = _find_gap_starts(types, counts, edges)
    heads_before = _sum_before(head_counts)
    firsts = np.repeat(edges[:-1], np.diff(edges))
    within = starts - starts[firsts], gap_starts, heads_before[:-1] - heads_before[firsts]
    gap_columns = (gaps[np.repeat(types == at, counts)].astype(type_) for at, type_ in enumerate(_GAP_TYPES))
    parts_of_blocks = zip(
        *(_slice(each.astype("<u2"), edges) for each in within),
        _join_names(terms, edges.tolist()),
        *(_slice(each, _sum_before(count)) for each, count in zip(gap_columns, gap_counts, strict=True)),
        _slice(body, np.append(starts, len(numbers))[edges]),
        _slice(head[np.repeat(has_head, counts)], heads_before[edges]),
        strict=True,
    )
    for first, parts in zip(edges.tolist(), parts_of_blocks, strict=False):
        starts_size, _, _, names_size, *gap_sizes, postings, heads = map(len, parts)
        sizes = (size >> at for at, size in enumerate(gap_sizes))
        header = _HEADER.pack(starts_size // _START.size, names_size, *sizes, postings, heads)
        yield terms[first], b"".join((header, *parts))


def _divide(terms: Sequence[str], sizes: Numbers) -> Numbers:
    """Divide terms with postings of these sizes into blocks: the first term of each, and the number of terms."""
    lengths = np.fromiter(map(len, terms), np.int64, len(terms))
    place = _sum_before(sizes + lengths + _TERM_BYTES)[:-1] // BLOCK_BYTES
    is_long = sizes > _LONG_BYTES
    is_first = np.ones(len(terms) + 1, np.bool_)
    is_first[1:-1] = (place[1:] != place[:-1]) | is_long[1:] | is_long[:-1]
    return np.flatnonzero(is_first)


def _find_gap_starts(types: Numbers, counts: Numbers, edges: Numbers) -> tuple[Numbers, list[Numbers]]:
    """Where the gaps of each term begin in its block, in bytes; and for each type, the number of its gaps in each
    block. `edges` has the first term of each block, and the number of terms."""
    lengths = np.diff(edges)
    starts = np.zeros(len(types), np.int64)
    offsets = np.zeros(len(lengths), np.int64)
    gap_counts = []
    for type_ in range(len(_GAP_TYPES)):
        is_here = types == type_
        before = _sum_before(np.where(is_here, counts, 0))
        gap_counts.append(np.diff(before[edges]))
        found = np.repeat(offsets - (before[edges[:-1]] << type_), lengths) + (before[:-1] << type_)
        starts[is_here] = found[is_here]
        offsets += gap_counts[-1] << type_
    return starts, gap_counts


def _sum_before(values: Numbers) -> Numbers:
    """The sum of the values before each, and at last that of all."""
    sums = np.zeros(len(values) + 1, np.int64)
    np.cumsum(values, out=sums[1:])
    return sums


def _slice(column: npt.NDArray[Any], edges: Numbers) -> Iterator[bytes]:
    """The bytes of a column between each two edges."""
    data = column.tobytes()
    return (data[start:end] for start, end in pairwise((edges * column.itemsize).tolist()))


def _join_names(terms: Sequence[str], edges: Sequence[int]) -> Iterator[bytes]:
    return (f" {' '.join(terms[first:last])} ".encode() for first, last in pairwise(edges))


def read_layout(block: bytes) -> BlockLayout:
    """The layout of a block. Raises DamagedIndexError if the block does not have the size that it tells."""
    if not isinstance(block, bytes) or len(block) < _HEADER.size:
        raise DamagedIndexError("a block of postings has no header")
    terms, names_size, bytes_, shorts, longs, postings, heads = _HEADER.unpack_from(block)
    names_at = _HEADER.size + 3 * _START.size * terms
    gaps_at = names_at + names_size
    body_at = gaps_at + bytes_ + 2 * shorts + 4 * longs
    heads_at = body_at + postings
    if terms < 1 or bytes_ + shorts + longs != postings or heads_at + heads != len(block):
        raise DamagedIndexError(f"a block of {terms} terms with {postings} postings has {len(block)} bytes")
    return BlockLayout(terms, (bytes_, shorts, longs), postings, heads, names_at, gaps_at, body_at, heads_at)


def find_postings(block: bytes, term: str) -> Postings | None:
    """The postings of a term; None if the block does not have it. Raises DamagedIndexError for a damaged block."""
    layout = read_layout(block)
    name = term.encode()
    at = block.find(b" %b " % name, layout.names_at, layout.gaps_at)
    if at < 0 or b" " in name:
        return None
    return _read_postings(block, layout, block.count(b" ", layout.names_at, at))


def find_postings_by_prefix(block: bytes, prefix: str) -> list[Postings]:
    """The postings of all terms that begin with `prefix`. Raises DamagedIndexError for a damaged block."""
    layout = read_layout(block)
    terms = read_terms(block)
    first, last = bisect_left(terms, prefix), bisect_left(terms, f"{prefix}{AFTER_ALL}")
    return [_read_postings(block, layout, at) for at in range(first, last)]


def read_terms(block: bytes, first: str | None = None) -> list[str]:
    """The terms of a block. Raises DamagedIndexError for a damaged block, and if its first term is not `first`."""
    layout = read_layout(block)
    try:
        terms = block[layout.names_at : layout.gaps_at].decode().split()
    except UnicodeDecodeError:
        terms = []
    is_ascending = all(map(lt, terms, terms[1:]))
    if len(terms) != layout.terms or not is_ascending or terms[0] != (terms[0] if first is None else first):
        raise DamagedIndexError(f"the names of {layout.terms} terms are damaged")
    return terms


def _read_postings(block: bytes, layout: BlockLayout, at: int) -> Postings:
    """The postings of one term of a block."""
    terms, end, head_end = layout.terms, layout.postings, layout.heads
    place, size = _HEADER.size + _START.size * at, _START.size * terms
    [start], [gap_start], [head_start] = (_START.unpack_from(block, place + part * size) for part in range(3))
    if at + 1 < terms:
        [end], [head_end] = (_START.unpack_from(block, place + _START.size + part * size) for part in (0, 2))
    count, head_count = end - start, head_end - head_start
    wide, widest = layout.gaps[0], layout.gaps[0] + 2 * layout.gaps[1]
    type_ = 0 if gap_start < wide else 1 if gap_start < widest else 2
    gap_end = (wide, widest, layout.body_at - layout.gaps_at)[type_]
    is_inside = start < end <= layout.postings and head_end <= layout.heads
    if not is_inside or gap_start + (count << type_) > gap_end or head_count not in (0, count):
        raise DamagedIndexError(f"term {at} of a block of {terms} terms is damaged")
    gaps = np.frombuffer(block, _GAP_TYPES[type_], count, layout.gaps_at + gap_start)
    body = np.frombuffer(block, _COUNT_TYPE, count, layout.body_at + start)
    head = np.frombuffer(block, _COUNT_TYPE, head_count, layout.heads_at + head_start)
    return Postings(gaps.astype(_NUMBER_TYPE).cumsum(), body, head if head_count else np.zeros(count, _COUNT_TYPE))


def decode_blocks(blocks: Sequence[bytes]) -> PostingColumns:
    """The postings of all terms of these blocks, block after block. Raises DamagedIndexError for a damaged block."""
    layouts = [read_layout(block) for block in blocks]
    both = [*zip(blocks, layouts, strict=True)]
    edges = _sum_before(np.array([each.terms for each in layouts], np.int64))
    starts, gap_starts, head_starts = np.concatenate([_read_starts(block, each.terms) for block, each in both], axis=1)
    starts, counts = _join_starts(starts, edges, [each.postings for each in layouts])
    _, head_counts = _join_starts(head_starts, edges, [each.heads for each in layouts])
    sizes = np.array([each.gaps for each in layouts], np.int64)
    ends = (np.repeat(each, np.diff(edges)) for each in (sizes[:, 0], sizes[:, 0] + 2 * sizes[:, 1]))
    types = np.sum([gap_starts >= end for end in ends], axis=0)
    expected, gap_counts = _find_gap_starts(types, counts, edges)
    is_whole = (expected == gap_starts).all() and (np.stack(gap_counts, axis=1) == sizes).all()
    if not is_whole or (counts < 1).any() or ((head_counts != 0) & (head_counts != counts)).any():
        raise DamagedIndexError(f"the postings of {len(starts)} terms are damaged")
    gaps = np.empty(int(counts.sum()), np.int64)
    for type_, name in enumerate(_GAP_TYPES):
        places = (each.gaps_at + sum(each.gaps[at] << at for at in range(type_)) for each in layouts)
        parts = [block[at : at + (each.gaps[type_] << type_)] for at, (block, each) in zip(places, both, strict=True)]
        gaps[np.repeat(types == type_, counts)] = np.frombuffer(b"".join(parts), name)
    body = np.frombuffer(b"".join([block[each.body_at : each.heads_at] for block, each in both]), np.uint8)
    head = np.zeros_like(body)
    heads = b"".join([block[each.heads_at :] for block, each in both])
    head[np.repeat(head_counts > 0, counts)] = np.frombuffer(heads, np.uint8)
    sums = np.cumsum(gaps)
    return PostingColumns(starts, sums - np.repeat(sums[starts] - gaps[starts], counts), body, head)


def _read_starts(block: bytes, terms: int) -> Numbers:
    """The three columns of starts."""
    return np.frombuffer(block, "<u2", 3 * terms, _HEADER.size).reshape(3, terms).astype(np.int64)


def _join_starts(within: Numbers, edges: Numbers, sizes: Sequence[int]) -> tuple[Numbers, Numbers]:
    """Where each term begins, if the columns of all blocks are joined, and its size. `within` is where it begins in the
    column of its block; `sizes` are those of the columns."""
    before = _sum_before(np.array(sizes, np.int64))
    starts = within + np.repeat(before[:-1], np.diff(edges))
    return starts, np.diff(starts, append=before[-1])
