"""The manifest of a run in which only some items were checked.

Between the rows of these, the rows of all other items are repeated, from those of the last run, block by block. Every
row gets the place of its item in the plan as its seq.
"""

from collections.abc import Iterator, Sequence, Set

import msgspec

from inorder.sinks.base import AppliedRun, Entry, Position, Sink
from inorder.sinks.manifest import ManifestSink
from inorder.stage.manifest.rows import read_row_id, repeat_row

from .receipt import Receipt


def read_last_rows(manifest: ManifestSink, receipt: Receipt) -> Iterator[list[bytes]]:
    """Yield the rows of the last run in blocks, without the `__config__` row, and without those of removed items."""
    left = receipt.kept_count
    is_first = True
    for lines in manifest.read_lines(receipt.rows[0], receipt.rows[1]):
        block = lines[1:] if is_first and lines else lines
        is_first = is_first and not lines
        yield block[:left]
        left -= len(block)
        if left <= 0:
            return


def read_last_ids(manifest: ManifestSink, receipt: Receipt) -> Iterator[str]:
    """Yield the ids of these rows."""
    for lines in read_last_rows(manifest, receipt):
        yield from map(read_row_id, lines)


class SplicedManifest:
    """A manifest that gets the entries of some items, and repeats the rows of all others: before each entry those of
    the items before it, and the rest with the entries that have no item. Implements `Sink`; its positions count the
    entries."""

    def __init__(
        self, inner: ManifestSink, receipt: Receipt, dropped: Set[int] = frozenset(), *, keeps_results: bool
    ) -> None:
        self.name = inner.name
        self.places: list[int] = []
        """For each entry, the number of the row of the last run before which it comes."""
        self.repeated_count = 0
        self._inner = inner
        self._dropped = dropped
        self._keeps_results = keeps_results
        self._count = receipt.kept_count
        self._blocks = read_last_rows(inner, receipt)
        self._block: list[bytes] = []
        self._at = 0
        """Where the next row is in the block."""
        self._number = 0
        """The number of the next row."""
        self._seq = 0

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
        """Yield the rows of the last run below a number, except the dropped ones."""
        while self._number < number:
            if self._at == len(self._block):
                self._block, self._at = next(self._blocks), 0
            count = min(number - self._number, len(self._block) - self._at)
            rows = []
            for offset in range(count):
                if self._number + offset not in self._dropped:
                    row = repeat_row(self._block[self._at + offset], self._seq, keeps_result=self._keeps_results)
                    rows.append(row)
                    self._seq += 1
            self._number += count
            self._at += count
            self.repeated_count += len(rows)
            if rows:
                rows.append(b"")
                yield b"\n".join(rows)


def splice_manifest(
    sinks: Sequence[Sink], receipt: Receipt, dropped: Set[int] = frozenset(), *, keeps_results: bool
) -> tuple[list[Sink], SplicedManifest]:
    """The sinks of a run, with a manifest that repeats rows, and this manifest."""
    [manifest] = [sink for sink in sinks if isinstance(sink, ManifestSink)]
    spliced = SplicedManifest(manifest, receipt, dropped, keeps_results=keeps_results)
    return [spliced if sink is manifest else sink for sink in sinks], spliced
