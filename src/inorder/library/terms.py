"""The terms of chunks that are not inverted yet, and which chunks are not to be found.

The terms of new chunks wait in memory until they are inverted, all of them at once, as a segment of the inverted index.
They are not stored: after a crash they are counted again from the chunks that no segment has.

A segment may have chunks that are not visible. The table `hidden` says from when to when they are: those that are
visible from a later epoch on, and those that were retired and not yet merged away.
"""

import sqlite3
from collections.abc import Iterable

from inorder.index.lexical.file_terms import FileTerms
from inorder.index.rows import count_terms

from .contents import read_rows
from .schema import FOREVER

_CHUNK_BYTES = 1024
"""What the terms of a chunk take in a segment, until one was written."""


class TermQueue:
    """The terms of chunks that are not inverted yet."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        from inorder.index.lexical import inversion  # with NumPy, which is slow to import

        self._connection = connection
        self._inversion = inversion
        self.chunk_bytes = _CHUNK_BYTES
        """What the terms of a chunk take in a segment, in the mean of the latest one."""
        [last, inverted] = connection.execute(
            "SELECT COALESCE((SELECT MAX(id) FROM chunk_rows), 0), COALESCE((SELECT MAX(last) FROM segments), 0)"
        ).fetchone()
        self.next_chunk: int = max(last, inverted) + 1
        """The id of the next chunk, above that of every other."""
        self._inverted_end: int = inverted + 1
        self._buffer = self._inversion.TermBuffer()
        self._ranges: list[tuple[int, int, int]] = []
        """First chunk, number of chunks and epoch of each file in the buffer."""
        self._has_unknown = last > inverted
        """Whether there are chunks that no segment has, and whose terms are not in the buffer."""

    @property
    def size_bytes(self) -> int:
        """The size of the terms that wait."""
        return self._buffer.size_bytes

    def add(self, terms: FileTerms, count: int, epoch: int) -> int:
        """Add the terms of a file, which is visible from an epoch on. Returns the id of its first chunk."""
        first = self.next_chunk
        self.next_chunk += count
        self._buffer.add(first, terms)
        if count:
            self._ranges.append((first, count, epoch))
        return first

    def retire(self, file: int, epoch: int) -> None:
        """Hide the chunks of a searchable file from an epoch on; 0: they were never visible."""
        query = "SELECT first_chunk, chunks FROM searchable WHERE id = ?"
        first, count = self._connection.execute(query, (file,)).fetchone()
        if not count:
            return
        if first + count > self._inverted_end:
            self.invert(0)
        self._connection.executemany(
            "INSERT INTO hidden VALUES (?, 0, ?) ON CONFLICT (chunk) DO UPDATE SET until = excluded.until",
            ((chunk, epoch) for chunk in range(first, first + count)),
        )

    def invert(self, visible: int) -> None:
        """Invert all terms that wait. Chunks that are visible only after the epoch `visible` are hidden until then."""
        if self._has_unknown:
            self._count_unknown()
            self._has_unknown = False
        self._invert_buffer()
        self._connection.executemany(
            f"INSERT INTO hidden VALUES (?, ?, {FOREVER})",
            (
                (chunk, epoch)
                for first, count, epoch in self._ranges
                if epoch > visible
                for chunk in range(first, first + count)
            ),
        )
        self._ranges = []
        self._inverted_end = self.next_chunk

    def _invert_buffer(self) -> None:
        before = self._find_last_segment()
        self._buffer.invert(self._connection)
        if (last := self._find_last_segment()) != before:
            [size, chunks] = self._connection.execute(
                "SELECT (SELECT SUM(length(data)) FROM term_blocks WHERE segment = ?1), "
                "(SELECT length(chunks) / 8 FROM segments WHERE id = ?1)",
                (last,),
            ).fetchone()
            self.chunk_bytes = max(1, (size or 0) // chunks)

    def _find_last_segment(self) -> int:
        [last] = self._connection.execute("SELECT COALESCE(MAX(id), 0) FROM segments").fetchone()
        return int(last)

    def reveal(self, epoch: int) -> None:
        """Forget from when on chunks are visible that are visible now."""
        query = f"DELETE FROM hidden WHERE since > 0 AND since <= ? AND until = {FOREVER}"
        self._connection.execute(query, (epoch,))

    def _count_unknown(self) -> None:
        """Count the terms of chunks that an interrupted run has written. They belong before those in the buffer."""
        known = self._buffer.first or self.next_chunk
        counted = self._inversion.TermBuffer()
        ranges: list[tuple[int, int, int]] = []
        for file, first, count, since in self._list_unknown(known):
            counted.add(first, count_terms(read_rows(self._connection, file)))
            ranges.append((first, count, since))
        counted.extend(self._buffer)
        self._buffer = counted
        self._ranges = [*ranges, *self._ranges]

    def _list_unknown(self, known: int) -> Iterable[tuple[int, int, int, int]]:
        found = self._connection.execute(
            "SELECT searchable.id, first_chunk, chunks, since FROM searchable WHERE id IN "
            "(SELECT DISTINCT file FROM chunk_rows WHERE id >= ? AND id < ?) ORDER BY first_chunk",
            (self._inverted_end, known),
        )
        return found.fetchall()
