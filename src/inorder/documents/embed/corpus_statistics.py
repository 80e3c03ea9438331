"""The statistics of all terms of a corpus as the store keeps them, and how they follow a change.

Neither NumPy nor PyArrow is imported: they take longer to load than a small change of a large corpus takes to process.
PyArrow is needed to count all documents (see `term_statistics`), and to write the statistics as a file (see `storage`).
"""

import sys
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import msgspec

from .stored_terms import StoredTerms, read_integers

VERSION = 1
_WIDE, _NARROW = "q", "I"
_NARROW_END = 2**32
_END = b"\n"
_PARQUET = b"PAR1"


class PackedStatistics(msgspec.Struct, array_like=True):
    """The statistics of a corpus. They have the same bytes for the same documents."""

    version: int
    chunks: int
    """The number of chunks, with terms or without."""
    length: int
    """The number of words."""
    text: bytes
    """The terms in UTF-8, in the order of their bytes, each followed by a line feed."""
    chunk_counts: bytes
    """In how many chunks each term occurs: four bytes each, or eight if one of them needs them, little-endian."""
    frequencies: bytes
    """How often it occurs, likewise."""

    @property
    def terms(self) -> int:
        """The number of terms."""
        return self.text.count(_END)


_PACK = msgspec.msgpack.Encoder()
_UNPACK_STATISTICS = msgspec.msgpack.Decoder(PackedStatistics)


def pack_statistics(
    chunks: int, text: bytes, chunk_counts: "array[int]", frequencies: "array[int]"
) -> PackedStatistics:
    """The statistics of these terms, which are encoded and sorted."""
    length = sum(frequencies)
    return PackedStatistics(VERSION, chunks, length, text, _write_integers(chunk_counts), _write_integers(frequencies))


def encode_statistics(statistics: PackedStatistics) -> bytes:
    """The statistics as the store keeps them."""
    return _PACK.encode(statistics)


def decode_statistics(content: bytes) -> PackedStatistics | None:
    """The inverse of `encode_statistics`; None: an older version has written a Parquet file."""
    if content.startswith(_PARQUET):
        return None
    return _UNPACK_STATISTICS.decode(content)


def unpack_integers(packed: bytes, count: int) -> "array[int]":
    """The numbers of `chunk_counts` or `frequencies`, of so many terms."""
    narrow = len(packed) == 4 * count
    return array(_WIDE, read_integers(packed, _NARROW)) if narrow else read_integers(packed, _WIDE)


class TermSum(NamedTuple):
    """What documents contribute to the statistics of a term."""

    chunks: int
    frequency: int


class TermChange:
    """Adds up the terms of documents that are added and removed."""

    def __init__(self) -> None:
        self._sums: dict[str, tuple[int, int]] = {}

    def add(self, document: StoredTerms, *, times: int = 1) -> None:
        """Add the terms of a document; with `times=-1`, remove them."""
        if not document.counts:
            return
        sums = self._sums
        for term, count in zip(document.text.split("\n"), document.list_counts(), strict=True):
            chunks, frequency = sums.get(term, (0, 0))
            sums[term] = (chunks + times, frequency + times * count)

    def list_sums(self) -> list[tuple[bytes, TermSum]]:
        """The terms whose statistics change, in the order of their bytes."""
        changed = ((term.encode(), TermSum(*sums)) for term, sums in self._sums.items() if sums != (0, 0))
        return sorted(changed)


def change_statistics(known: PackedStatistics, chunks: int, change: TermChange) -> PackedStatistics | None:
    """The statistics after a change, of a corpus that now has this number of chunks; None: they are not those of the
    documents that were removed."""
    terms = known.text.split(_END)[:-1]
    columns = [unpack_integers(each, len(terms)) for each in (known.chunk_counts, known.frequencies)]
    edits = _place(terms, columns, change.list_sums())
    if any(min(sums) < 0 or bool(sums.chunks) != bool(sums.frequency) for _, _, _, sums in edits):
        return None
    text = bytearray()
    made = array(_WIDE), array(_WIDE)
    ends = [(0, 0), *((place + is_known, place) for place, is_known, _, _ in edits), (len(terms), len(terms))]
    for number, ((start, _), (_, end)) in enumerate(pairwise(ends)):
        if start < end:
            text += _END.join(terms[start:end]) + _END
            for column, kept in zip(made, columns, strict=True):
                column.extend(kept[start:end])
        if number < len(edits) and edits[number][3].chunks:
            text += edits[number][2] + _END
            for column, value in zip(made, edits[number][3], strict=True):
                column.append(value)
    return pack_statistics(chunks, bytes(text), *made)


def _place(
    terms: Sequence[bytes], columns: Sequence["array[int]"], changed: Iterable[tuple[bytes, TermSum]]
) -> list[tuple[int, bool, bytes, TermSum]]:
    """For each term that changes: its place among those that are known, whether it is one of them, and its new sums."""
    found = []
    place = 0
    for term, (chunks, frequency) in changed:
        place = bisect_left(terms, term, place)
        is_known = place < len(terms) and terms[place] == term
        if is_known:
            chunks, frequency = chunks + columns[0][place], frequency + columns[1][place]
        found.append((place, is_known, term, TermSum(chunks, frequency)))
    return found


def _write_integers(values: "array[int]") -> bytes:
    packed = array(_NARROW, values) if max(values, default=0) < _NARROW_END else array(_WIDE, values)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()
