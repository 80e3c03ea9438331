"""The files with dense vectors beside the library: which rows of them are searched.

The vectors themselves are results, which commit with everything else. The files hold the visible ones in a form that
can be mapped into memory. They never change, and are named after their content (see `inorder.index.vectors`). Each
publication writes the new vectors to a further file. A file that is lost is written again from the results.
"""

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import msgspec
import numpy as np

from inorder.index.schema import read_meta
from inorder.index.vector_files import MatrixFile
from inorder.index.vectors.row_chunks import ChunkIds, mark_dead
from inorder.index.vectors.table import count_vectors, describe_vectors, list_matrix_files, remove_file, remove_files
from inorder.index.vectors.writing import MatrixRows, NewMatrixFile, read_alive_rows

from .codec import Content
from .rows import DENSE, unpack_dense
from .schema import STEPS_MAX

_FILES_PER_LEVEL = 6
"""Files of about the same size before they are merged: a vector is copied once for every power of this."""
_SHARE = 4
"""All vectors are written again when 1/4 of the rows are dead."""
_PAGE = 256
_BLOCK_BYTES = 2**20
_RESULT = "results.codec, results.size, results.checksum, results.data, results.input"


_EPOCH = "(SELECT epoch FROM generation)"
_VISIBLE = f"searchable.since <= {_EPOCH} AND searchable.until > {_EPOCH}"


_CHANGED = "SELECT DISTINCT item FROM pending WHERE epoch > :before AND epoch <= :after ORDER BY item"


class VectorChanges:
    """The chunks whose vectors were visible before a publication, and the items that may have others after it. These
    are read from the library when they are needed: a publication may have any number of them."""

    def __init__(self, connection: sqlite3.Connection, before: int, after: int) -> None:
        self._connection = connection
        self._epochs = {"before": before, "after": after}
        self.step = find_dense_step(connection)
        visible = (
            f"SELECT first_chunk, chunks FROM ({_CHANGED}) AS changed CROSS JOIN results "
            f"ON results.key = changed.item * {STEPS_MAX} + :step "
            "AND results.since <= :before AND results.until > :before "
            "CROSS JOIN searchable ON searchable.item = changed.item "
            "AND searchable.since <= :before AND searchable.until > :before"
        )
        removed: list[ChunkIds] = [
            np.arange(first, first + count, dtype=np.int64)
            for first, count in connection.execute(visible, {**self._epochs, "step": self.step})
        ]
        self.removed: ChunkIds = np.sort(np.concatenate([np.zeros(0, np.int64), *removed]))
        """In ascending order."""

    def list_items(self) -> Iterator[list[int]]:
        """Yield the items that may have other vectors, some hundred at a time."""
        found = self._connection.execute(_CHANGED, self._epochs)
        while items := found.fetchmany(_PAGE):
            yield [item for (item,) in items]

    def count_chunks(self) -> int:
        """Return how many visible chunks these items have."""
        query = f"SELECT COALESCE(SUM(chunks), 0) FROM ({_CHANGED}) AS changed CROSS JOIN searchable USING (item)"
        return int(self._connection.execute(f"{query} WHERE {_VISIBLE}", self._epochs).fetchone()[0])


def find_dense_step(connection: sqlite3.Connection) -> int | None:
    """Return the number of the step that makes dense vectors; None: it never ran."""
    row = connection.execute("SELECT id FROM steps WHERE name = ?", (DENSE,)).fetchone()
    return None if row is None else int(row[0])


def update_vectors(connection: sqlite3.Connection, data: str, changes: VectorChanges, spec: str) -> None:
    """Make the files those of the vectors that are visible now and were made by the provider `spec`."""
    if changes.step is None:
        return
    files = list_matrix_files(connection, data)
    if spec != read_meta(connection, "vectors_provider") or any(file.find_problem() for file in files):
        rewrite_vectors(connection, data, spec)
        return
    if mark_dead(connection, files, changes.removed):
        count_vectors(connection)
        files = list_matrix_files(connection, data)
    rows, dead = sum(file.shape[0] for file in files), sum(file.dead for file in files)
    if dead * _SHARE > rows:
        rewrite_vectors(connection, data, spec)
    else:
        _append(connection, data, files, changes, spec)


def compact_vectors(connection: sqlite3.Connection, data: str, files_max: int) -> None:
    """Merge the latest files if there are more than `files_max`. Write all vectors again if a file is lost."""
    files = list_matrix_files(connection, data)
    is_whole = not any(file.find_problem() for file in files)
    merged = choose_compacted([file.shape[0] for file in files], files_max)
    if is_whole and not merged:
        return
    if not is_whole or not _merge_files(connection, data, files[len(files) - merged :]):
        rewrite_vectors(connection, data, read_meta(connection, "vectors_provider"))


def _append(
    connection: sqlite3.Connection, data: str, files: Sequence[MatrixFile], changes: VectorChanges, spec: str
) -> None:
    """Write new vectors to a further file, together with those of files that are merged with it."""
    new = chain.from_iterable(_read_items(connection, changes.step or 0, items, spec) for items in changes.list_items())
    head = next(new, None)
    if head is None:
        return
    merged = choose_merged([file.shape[0] for file in files])
    new_count = changes.count_chunks()
    if _merge_files(connection, data, files[len(files) - merged :], chain([head], new), new_count):
        describe_vectors(connection, head.width, spec)
    else:
        rewrite_vectors(connection, data, spec)


def _merge_files(
    connection: sqlite3.Connection,
    data: str,
    files: Sequence[MatrixFile],
    new: Iterable[MatrixRows] = (),
    new_count: int = 0,
) -> bool:
    """Write the vectors of files, and new ones, to one file in their place. Returns False if one of them is damaged:
    then nothing is written."""
    if any(file.find_problem() or file.is_altered() for file in files):
        return False
    count = new_count + sum(file.alive for file in files)
    with contextlib.closing(NewMatrixFile(connection, data, count)) as written:
        for rows in chain(*(read_alive_rows(connection, file) for file in files), new):
            written.add(rows)
        written.finish()
    for file in files:
        remove_file(connection, file)
    return True


def choose_merged(sizes: Sequence[int]) -> int:
    """Return how many of the latest files are merged with a new one: as many as are of about its size, when there are
    enough of them."""
    count = 0
    while True:
        level = sizes[len(sizes) - count - _FILES_PER_LEVEL : len(sizes) - count]
        if len(level) < _FILES_PER_LEVEL or max(level) > _FILES_PER_LEVEL * min(level):
            return count
        count += _FILES_PER_LEVEL


def choose_compacted(sizes: Sequence[int], files_max: int) -> int:
    """Return how many of the latest files are merged so that `files_max` are left: so many, and those before them that
    are no larger than what is merged already. So a large file is not copied for each small one."""
    if len(sizes) <= files_max:
        return 0
    count = len(sizes) - files_max + 1
    while count < len(sizes) and sizes[-count - 1] <= sum(sizes[-count:]):
        count += 1
    return count


def rewrite_vectors(connection: sqlite3.Connection, data: str, spec: str) -> None:
    """Write all visible vectors of a provider to one file, in the order of the items."""
    remove_files(connection)
    width = 0
    [count] = connection.execute(f"SELECT COALESCE(SUM(chunks), 0) FROM searchable WHERE {_VISIBLE}").fetchone()
    step = find_dense_step(connection)
    if step is not None and spec:
        with contextlib.closing(NewMatrixFile(connection, data, count)) as written:
            for rows in _read_all(connection, step, spec):
                written.add(rows)
                width = rows.width
            if written.count:
                written.finish()
            else:
                written.discard()
    describe_vectors(connection, width, spec if width else "")


def _read_all(connection: sqlite3.Connection, step: int, spec: str) -> Iterator[MatrixRows]:
    last = 0
    query = f"SELECT id FROM items WHERE id > ? ORDER BY id LIMIT {_PAGE}"
    while found := [item for (item,) in connection.execute(query, (last,)).fetchall()]:
        yield from _read_items(connection, step, found, spec)
        last = found[-1]


def _read_items(connection: sqlite3.Connection, step: int, items: Sequence[int], spec: str) -> Iterator[MatrixRows]:
    """Yield the visible vectors of items that were made by a provider, of the chunks that are visible, in blocks of
    about a megabyte."""
    query = (
        f"SELECT first_chunk, chunks, searchable.input, {_RESULT} FROM json_each(?) "
        f"CROSS JOIN searchable ON item = value CROSS JOIN results ON results.key = value * {STEPS_MAX} + ? "
        f"WHERE {_VISIBLE} AND results.since <= {_EPOCH} AND results.until > {_EPOCH}"
    )
    block: list[MatrixRows] = []
    size = 0
    for first, count, made_of, *content, input_ in connection.execute(
        query, (msgspec.json.encode(items).decode(), step)
    ):
        if made_of != input_ or not count:
            continue
        vectors = unpack_dense(Content(*content))
        if vectors.spec == spec and vectors.count == count:
            block.append(MatrixRows(vectors.vectors, vectors.width, np.arange(first, first + count, dtype=np.int64)))
            size += len(vectors.vectors)
            if size >= _BLOCK_BYTES:
                yield _join(block)
                block, size = [], 0
    if block:
        yield _join(block)


def _join(block: Sequence[MatrixRows]) -> MatrixRows:
    chunks = np.concatenate([rows.chunks for rows in block])
    return MatrixRows(b"".join([rows.raw for rows in block]), block[0].width, chunks)
