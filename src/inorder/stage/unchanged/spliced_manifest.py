"""The manifest of a run in which only some items were checked.

Between the rows of these, the rows of all other items are repeated. Where they are those of items that were up to date
in the last run, too, one line stands for many of them (see `manifest/repeated`); otherwise they are written, block by
block. Every row gets the place of its item in the plan as its seq.
"""

from collections.abc import Iterator, Sequence, Set

import msgspec

from inorder.errors import IntegrityError
from inorder.sinks.base import AppliedRun, Entry, Position, Sink
from inorder.sinks.manifest import ManifestSink
from inorder.stage.manifest.repeated import RepeatedRows, RowRange, decode_repeated, is_repeated, read_piece
from inorder.stage.manifest.rows import is_skipped_row, read_row_id, repeat_row

from .receipt import Receipt

REPEATED_MIN = 1000
"""If fewer rows are repeated, all of them are written: a program that reads the file itself sees every row."""
_PIECES_PER_LINE = 1000
_CONFIG_BYTES = 4096
"""About as much as a run writes whatever the number of its items."""
_NAMED_BYTES_MAX, _WRITTEN_BYTES_MIN = 32, 256
"""What a run has written per item, if lines stand for almost all of its rows, and if it has written them. In between,
they are in many pieces: the next run writes all of them, which then are one piece."""

WrittenRows = tuple[int, list[bytes]]
"""Rows, without their newlines, and the offset of the first one."""


def read_last_rows(manifest: ManifestSink, receipt: Receipt) -> Iterator[WrittenRows | RowRange]:
    """Yield the rows of the last run, without the `__config__` row, and without those of removed items: rows that it
    has written, with the offset of the first one, and pieces of earlier runs."""
    left, offset = receipt.kept_count, receipt.rows[0]
    is_first = True
    for lines in manifest.read_lines(receipt.rows[0], receipt.rows[1]):
        if not lines:
            continue
        start = 1 if is_first else 0
        offset += len(lines[0]) + 1 if is_first else 0
        is_first = False
        while start < len(lines) and left > 0:
            end = next((at for at in range(start, len(lines)) if is_repeated(lines[at])), len(lines))
            if end > start:
                written = lines[start:end]
                yield offset, written[:left]
                left -= len(written)
                offset += sum(map(len, written)) + len(written)
            else:
                found = decode_repeated(lines[start])
                if found is None:
                    raise IntegrityError(f"the line at byte {offset} of the manifest stands for no rows")
                yield from found.pieces
                left -= found.count
                offset += len(lines[start]) + 1
                end += 1
            start = end


def read_last_ids(manifest: ManifestSink, receipt: Receipt) -> Iterator[str]:
    """Yield the ids of these rows."""
    for found in read_last_rows(manifest, receipt):
        yield from map(read_row_id, read_piece(found, manifest.read_text) if isinstance(found, RowRange) else found[1])


class _RowCursor:
    """Goes through the rows of the last run."""

    def __init__(self, manifest: ManifestSink, receipt: Receipt) -> None:
        self._found = read_last_rows(manifest, receipt)
        self._read_at = manifest.read_text
        self._offset = 0
        self._lines: list[bytes] = []
        self._at = 0
        """Where the next row is in the lines."""

    def take(self, count: int) -> WrittenRows | RowRange:
        """The next rows, at most this many, and at least one."""
        if self._at == len(self._lines):
            found = next(self._found)
            if isinstance(found, RowRange):
                if found.count <= count:
                    return found
                found = found.offset, read_piece(found, self._read_at)
            (self._offset, self._lines), self._at = found, 0
        offset, taken = self._offset, self._lines[self._at : self._at + count]
        self._at += len(taken)
        self._offset += sum(map(len, taken)) + len(taken)
        return offset, taken


class SplicedManifest:
    """A manifest that gets the entries of some items, and repeats the rows of all others: before each entry those of
    the items before it, and the rest with the entries that have no item. Implements `Sink`; its positions count the
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
        """Append the row of each entry, after those of the items before it. Entries without an item stand for all that
        are repeated after the last one."""
        if not entries:
            return self.position()
        blocks = self._repeat_until(self._count) if entries[0].item is None else self._splice(entries)
        return self._inner.append_rows(blocks, entries[-1].seq + 1)

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
            found = self._cursor.take(min(number, dropped) - self._number)
            if isinstance(found, RowRange) and not self._names_rows:
                found = found.offset, read_piece(found, self._inner.read_text)
            if isinstance(found, RowRange):
                yield from self._name_piece(found)
                self._number += found.count
            else:
                yield from self._repeat_written(*found)
                self._number += len(found[1])
        yield from self._flush_pieces()

    def _repeat_written(self, offset: int, lines: Sequence[bytes]) -> Iterator[bytes]:
        rows: list[bytes] = []
        for line in lines:
            size = len(line) + 1
            if self._names_rows and is_skipped_row(line):
                yield from _join_rows(rows)
                rows = []
                yield from self._name_piece(RowRange(offset, size, 1))
            else:
                yield from self._flush_pieces()
                rows.append(repeat_row(line, self._seq, keeps_result=self._keeps_results))
                self._seq += 1
                self.repeated_count += 1
            offset += size
        yield from _join_rows(rows)

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
        self.repeated_count += piece.count

    def _flush_pieces(self) -> Iterator[bytes]:
        if self._pieces:
            count = sum(piece.count for piece in self._pieces)
            found = RepeatedRows(stage=self._stage, seq=self._seq - count, count=count, pieces=self._pieces)
            self._pieces = []
            yield msgspec.json.encode(found) + b"\n"


def _is_scattered(receipt: Receipt) -> bool:
    """Whether the rows of the last run are in many pieces."""
    size = receipt.rows[1] - receipt.rows[0] - _CONFIG_BYTES
    return _NAMED_BYTES_MAX * receipt.count < size < _WRITTEN_BYTES_MIN * receipt.count


def _join_rows(rows: Sequence[bytes]) -> Iterator[bytes]:
    if rows:
        yield b"\n".join((*rows, b""))


def splice_manifest(
    sinks: Sequence[Sink], receipt: Receipt, dropped: Set[int] = frozenset(), *, stage: str, keeps_results: bool
) -> tuple[list[Sink], SplicedManifest]:
    """The sinks of a run, with a manifest that repeats rows, and this manifest."""
    [manifest] = [sink for sink in sinks if isinstance(sink, ManifestSink)]
    spliced = SplicedManifest(manifest, receipt, dropped, stage=stage, keeps_results=keeps_results)
    return [spliced if sink is manifest else sink for sink in sinks], spliced
