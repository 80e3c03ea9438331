"""The manifest of a run in which only some items were checked.

Between the rows of these, the rows of all other items are repeated. If they are many, lines stand for them (see
`manifest/repeated`); otherwise they are written, block by block. Every row gets the place of its item in the plan as
its seq.
"""

from collections.abc import Callable, Iterator, Sequence, Set
from functools import partial

import msgspec

from inorder.errors import IntegrityError
from inorder.sinks.base import AppliedRun, Entry, Position, Sink
from inorder.sinks.manifest import ManifestSink
from inorder.stage.manifest.repeated import (
    RepeatedRows,
    RowRange,
    decode_repeated,
    has_repeated,
    is_repeated,
    read_piece,
)
from inorder.stage.manifest.rows import read_row_id, repeat_row

from .receipt import Receipt

REPEATED_MIN = 1000
"""If fewer rows are repeated, all of them are written: a program that reads the file itself sees every row."""
_PIECES_PER_LINE = 1000
_BLOCK_BYTES = 2**16
_CONFIG_BYTES = 4096
"""About as much as a run writes whatever the number of its items."""
SkipRows = Callable[[int, int], tuple[int, int]]
"""Skips a number of rows from an offset on. Returns the offset after them, and how many are left to skip."""
_NAMED_BYTES_MAX, _WRITTEN_BYTES_MIN = 32, 256
"""What a run has written per item, if lines stand for almost all of its rows, and if it has written them. In between,
they are in many pieces: the next run writes all of them, which then are one piece."""


def read_last_rows(manifest: ManifestSink, receipt: Receipt) -> Iterator[RowRange]:
    """Yield the places of the rows of the last run, without the `__config__` row, and without those of removed items,
    which are the last ones."""
    left, offset = receipt.kept_count, receipt.rows[0]
    for text in manifest.read_blocks(receipt.rows[0], receipt.rows[1]):
        start = _measure_rows(text, 1) if offset == receipt.rows[0] else 0
        for piece in _find_pieces(text[start:] if start else text, offset + start):
            if left >= piece.count:
                yield piece
            elif left > 0:
                size = _measure_first(piece, left, manifest.skip_rows, partial(_read_block, manifest))
                yield RowRange(piece.offset, size, left)
            left -= piece.count
        offset += len(text)


def _find_pieces(text: bytes, offset: int) -> Iterator[RowRange]:
    """The rows that these lines are, and that they stand for."""
    if not has_repeated(text):
        if text:
            yield RowRange(offset, len(text), text.count(b"\n"))
        return
    start, count = offset, 0
    for line in text[:-1].split(b"\n"):
        size = len(line) + 1
        if is_repeated(line):
            if count:
                yield RowRange(start, offset - start, count)
            found = decode_repeated(line)
            if found is None:
                raise IntegrityError(f"the line at byte {offset} of the manifest stands for no rows")
            yield from found.pieces
            start, count = offset + size, 0
        else:
            count += 1
        offset += size
    if count:
        yield RowRange(start, offset - start, count)


def _measure_rows(text: bytes, count: int) -> int:
    """The length of the first rows, with their newlines."""
    end = 0
    for _ in range(count):
        end = text.index(b"\n", end) + 1
    return end


def _measure_first(piece: RowRange, count: int, skip: SkipRows, read: Callable[[int, int], bytes]) -> int:
    """The length of the first rows of a piece, with their newlines. `skip` skips rows whose lengths are known, and
    `read` returns text from an offset on, no more than up to another one."""
    at, count = skip(piece.offset, count)
    if not count and at <= piece.end:
        return at - piece.offset
    while text := read(at, piece.end) if at < piece.end else b"":
        found = text.count(b"\n")
        if found >= count:
            return at + _measure_rows(text, count) - piece.offset
        at, count = at + len(text), count - found
    raise IntegrityError(f"there are no {piece.count} rows at byte {piece.offset} of the manifest")


def _read_block(manifest: ManifestSink, offset: int, end: int) -> bytes:
    return manifest.read_text(offset, min(_BLOCK_BYTES, end - offset))


def read_last_ids(manifest: ManifestSink, receipt: Receipt) -> Iterator[str]:
    """Yield the ids of these rows."""
    for piece in read_last_rows(manifest, receipt):
        for lines in read_piece(piece, manifest.read_text):
            yield from map(read_row_id, lines)


class _RowCursor:
    """Goes through the rows of the last run."""

    def __init__(self, manifest: ManifestSink, receipt: Receipt) -> None:
        self._pieces = read_last_rows(manifest, receipt)
        self._manifest = manifest
        self._rest: RowRange | None = None
        """The rows of a piece that were not taken yet."""
        self._block = (0, b"")
        """The text that was read last, and its offset."""

    def take(self, count: int) -> RowRange:
        """The next rows, at most this many, and at least one."""
        found = next(self._pieces) if self._rest is None else self._rest
        if found.count <= count:
            self._rest = None
            return found
        size = _measure_first(found, count, self._manifest.skip_rows, self._read)
        self._rest = RowRange(found.offset + size, found.size - size, found.count - count)
        return RowRange(found.offset, size, count)

    def _read(self, offset: int, end: int) -> bytes:
        start, block = self._block
        if not start <= offset < start + len(block):
            start, block = self._block = offset, _read_block(self._manifest, offset, end)
        return block[offset - start : end - start]


class SplicedManifest:
    """A manifest that gets the entries of some items, and repeats the rows of all others: before each entry those of
    the items before it, and the rest for the entries that have no item. Implements `Sink`; its positions count the
    entries."""

    def __init__(
        self, inner: ManifestSink, receipt: Receipt, dropped: Set[int] = frozenset(), *, stage: str, keeps_results: bool
    ) -> None:
        self.name = inner.name
        self.places: list[int] = []
        """For each entry, the number of the row of the last run before which it comes."""
        self.repeated_count = 0
        self._inner = inner
        self._stage = stage
        self._keeps_results = keeps_results
        self._count = receipt.kept_count
        self._dropped = sorted(dropped, reverse=True)
        """The numbers of rows that are not repeated; the next one is the last."""
        self._cursor = _RowCursor(inner, receipt)
        self._number = 0
        """The number of the next row of the last run."""
        self._seq = 0
        self._names_rows = self._count - len(dropped) >= REPEATED_MIN and not _is_scattered(receipt)
        self._pieces: list[RowRange] = []
        """Those that the next line stands for."""

    def apply(self, entries: Sequence[Entry]) -> Position:
        """Append the row of each entry, after those of the items before it."""
        if not entries:
            return self.position()
        return self._inner.append_rows(self._splice(entries), entries[-1].seq + 1)

    def apply_skipped(self, start: int, count: int) -> Position:
        """Append all rows that are repeated after the last entry."""
        return self._inner.append_rows(self._repeat_until(self._count), start + count)

    def position(self) -> Position:
        """Return how far it has come."""
        return self._inner.position()

    def sync(self) -> None:
        """Make the rows durable."""
        self._inner.sync()

    def holds(self, position: Position, since: Sequence[AppliedRun]) -> bool:
        """Whether the file begins with the bytes it had at this position."""
        return self._inner.holds(position, since)

    def roll_back(self, position: Position, undone: Sequence[AppliedRun]) -> None:
        """Truncate the file to its length at this position."""
        self._inner.roll_back(position, undone)

    def close(self) -> None:
        """Close the file."""
        self._inner.close()

    def _splice(self, entries: Sequence[Entry]) -> Iterator[bytes]:
        for entry in entries:
            yield from self._repeat_until(self.places[entry.seq])
            yield self._inner.encode_entry(msgspec.structs.replace(entry, seq=self._seq))
            self._seq += 1

    def _repeat_until(self, number: int) -> Iterator[bytes]:
        """Yield the rows of the last run below a number, except the dropped ones, or lines that stand for them."""
        while self._number < number:
            dropped = self._dropped[-1] if self._dropped else number
            if dropped == self._number:
                self._dropped.pop()
                self._cursor.take(1)
                self._number += 1
                continue
            piece = self._cursor.take(min(number, dropped) - self._number)
            yield from self._name_piece(piece) if self._names_rows else self._repeat_piece(piece)
            self._number += piece.count
            self.repeated_count += piece.count
        yield from self._flush_pieces()

    def _repeat_piece(self, piece: RowRange) -> Iterator[bytes]:
        """Yield the rows of a piece as rows of this run."""
        for lines in read_piece(piece, self._inner.read_text):
            rows = [
                repeat_row(line, seq, keeps_result=self._keeps_results) for seq, line in enumerate(lines, self._seq)
            ]
            self._seq += len(rows)
            yield b"\n".join((*rows, b""))

    def _name_piece(self, piece: RowRange) -> Iterator[bytes]:
        """Add a piece to those that the next line stands for."""
        last = self._pieces[-1] if self._pieces else None
        if last is not None and last.end == piece.offset:
            self._pieces[-1] = RowRange(last.offset, last.size + piece.size, last.count + piece.count)
        else:
            if len(self._pieces) >= _PIECES_PER_LINE:
                yield from self._flush_pieces()
            self._pieces.append(piece)
        self._seq += piece.count

    def _flush_pieces(self) -> Iterator[bytes]:
        if self._pieces:
            count = sum(piece.count for piece in self._pieces)
            found = RepeatedRows(
                stage=self._stage,
                seq=self._seq - count,
                count=count,
                pieces=self._pieces,
                keeps_results=self._keeps_results,
            )
            self._pieces = []
            yield msgspec.json.encode(found) + b"\n"


def _is_scattered(receipt: Receipt) -> bool:
    """Whether the rows of the last run are in many pieces."""
    size = receipt.rows[1] - receipt.rows[0] - _CONFIG_BYTES
    return _NAMED_BYTES_MAX * receipt.count < size < _WRITTEN_BYTES_MIN * receipt.count


def splice_manifest(
    sinks: Sequence[Sink], receipt: Receipt, dropped: Set[int] = frozenset(), *, stage: str, keeps_results: bool
) -> tuple[list[Sink], SplicedManifest]:
    """The sinks of a run, with a manifest that repeats rows, and this manifest."""
    [manifest] = [sink for sink in sinks if isinstance(sink, ManifestSink)]
    spliced = SplicedManifest(manifest, receipt, dropped, stage=stage, keeps_results=keeps_results)
    return [spliced if sink is manifest else sink for sink in sinks], spliced
