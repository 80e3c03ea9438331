"""Make the files with vectors those of the documents in the database."""

import contextlib
import sqlite3
from collections.abc import Iterator, Sequence
from itertools import chain

from inorder.index.schema import read_meta

from .copying import StoredRows
from .documents import MatrixRows, count_chunks, count_new_chunks, read_chunks, read_documents, read_new_documents
from .files import PREFIX, MatrixFile, MatrixWriter
from .row_chunks import ChunkIds, RowList, list_dead, mark_dead
from .table import count_vectors, describe_vectors, has_all_vectors, list_matrix_files, remove_file, remove_files

FILES_MAX = 3
"""Files beside the first one. The latest are merged when there would be more."""
_SHARE = 4
"""All vectors are written again when 1/4 of the rows are dead, or were added after the first file."""


def update_vectors(connection: sqlite3.Connection, data: str, first: int) -> None:
    """Write the vectors that are new to a file, or all vectors if that is due, and describe all files in the database.

    `first` is the id of the first chunk that is new since the last update. The chunks that were removed since then must
    still be in the table `dead`. A new file is durable when this returns.
    """
    files = list_matrix_files(connection, data)
    if not has_all_vectors(connection) or any(file.find_problem() for file in files):
        _rewrite(connection, data, files)
        return
    has_dead = bool(files) and mark_dead(connection, files, list_dead(connection))
    if has_dead:
        count_vectors(connection)
        files = list_matrix_files(connection, data)
        if not files:
            describe_vectors(connection, 0, "", 0)
    count = count_new_chunks(connection, first)
    if not has_dead and not count:
        return
    if _is_rewrite_due(files, count) or not _append(connection, data, files, first, count):
        _rewrite(connection, data, files)


def _is_rewrite_due(files: Sequence[MatrixFile], new: int) -> bool:
    """Whether too many rows are dead, or not in the first file, with up to `new` further ones."""
    if not files:
        return False
    rows, dead = sum(file.shape[0] for file in files), sum(file.dead for file in files)
    added = sum(file.alive for file in files[1:])
    return dead * _SHARE > rows + new or (added + new) * _SHARE > files[0].shape[0]


def choose_merged(files: Sequence[MatrixFile]) -> Sequence[MatrixFile]:
    """The latest files, which are merged with a new one; none while there are few files.

    After n updates, the latest file has the vectors of up to n^(1/3) of them, and the one before it those of up to
    n^(2/3). So a vector is copied about 3n^(1/3) times at most.
    """
    further = [file.changes for file in files[1:]]
    if len(further) < FILES_MAX:
        return ()
    updates = sum(further) + 1
    for count in range(1, len(further)):
        if (sum(further[-count:]) + 1) ** FILES_MAX <= updates**count:
            return files[-count:]
    return files[1:]


def _append(connection: sqlite3.Connection, data: str, files: Sequence[MatrixFile], first: int, count: int) -> bool:
    """Write the vectors of the chunks from `first` on, up to `count` of them, to a further file. Returns False if that
    cannot be: they were made by another provider, or a file to merge with them was altered."""
    new = read_new_documents(connection, data, first)
    head = next(new, None)
    if head is None:
        return True  # none has vectors
    width, provider = files[0].shape[1] if files else 0, read_meta(connection, "vectors_provider")
    merged = choose_merged(files)
    with contextlib.closing(StoredRows(connection, merged)) as stored:
        if not stored.is_whole:
            return False
        count += sum(file.alive for file in merged)
        with contextlib.closing(NewMatrixFile(connection, data, count)) as written:
            for rows in chain(stored.read(stored.list_alive()), [head], new):
                if (rows.width, rows.provider) != (width, provider):
                    written.discard()
                    return False
                written.add(rows)
            written.finish(1 + sum(file.changes for file in merged))
    for file in merged:
        remove_file(connection, file)
    count_vectors(connection)
    return True


def _rewrite(connection: sqlite3.Connection, data: str, files: Sequence[MatrixFile]) -> None:
    """Write the vectors of all documents to one file, in the order of the item ids. Those of `files` are copied."""
    width, provider, left_out = 0, "", 0
    with contextlib.closing(StoredRows(connection, files)) as stored:
        remove_files(connection)
        with contextlib.closing(NewMatrixFile(connection, data, count_chunks(connection))) as written:
            for rows in _read_all(connection, data, stored):
                if written.count and (rows.width, rows.provider) != (width, provider):
                    left_out += len(rows.chunks)  # made by another provider, and not yet replaced
                    continue
                width, provider = rows.width, rows.provider
                written.add(rows)
            if written.count:
                written.finish()
            else:
                written.discard()
    describe_vectors(connection, width, provider, left_out)


class NewMatrixFile:
    """A new file, and the chunks of its rows."""

    def __init__(self, connection: sqlite3.Connection, data: str, count_max: int, prefix: str = PREFIX) -> None:
        self._data = data
        self._prefix = prefix
        self._writer = MatrixWriter(f"{data}/{prefix}new")
        self._chunks = RowList(connection, count_max)

    @property
    def count(self) -> int:
        """The number of its rows."""
        return self._chunks.count

    def add(self, rows: MatrixRows) -> None:
        """Write further rows."""
        self._writer.append(rows.raw)
        self._chunks.add(rows.chunks)

    def finish(self, changes: int = 1) -> None:
        """Make the file durable, and name it in the database, as that of so many updates."""
        self._chunks.finish(self._writer.finish(self._data, self._prefix), changes)

    def discard(self) -> None:
        """Remove the file."""
        self._chunks.discard()
        self._writer.discard()

    def close(self) -> None:
        """Close the file. Idempotent."""
        self._chunks.close()
        self._writer.close()


def _read_all(connection: sqlite3.Connection, data: str, stored: StoredRows) -> Iterator[MatrixRows]:
    """The vectors of all documents that have vectors, in the order of their item ids."""
    for block in read_chunks(connection):
        rows = stored.find_rows(block.chunks)
        before, new = 0, list[int]()
        for file, start in block.list_new(rows):
            known = _keep_known(rows[before:start])
            if len(known):
                yield from read_documents(connection, data, new)
                yield from stored.read(known)
                new = []
            new.append(file)
            before = start
        yield from read_documents(connection, data, new)
        yield from stored.read(_keep_known(rows[before:]))


def _keep_known(rows: ChunkIds) -> ChunkIds:
    return rows[rows >= 0]
