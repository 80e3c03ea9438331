"""Writes the rows of a shard to a file, through the durable filesystem."""

import hashlib
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from inorder.dataset.tables import DataTable, collect_batches
from inorder.documents.parquet import ROW_GROUP_BYTES
from inorder.host.filesystem import AppendFile, Filesystem

from .manifest import ColumnEntry, ShardEntry

_BUFFER_BYTES = 2**20


class HashedFile:
    """A file that is written once, from start to end, and hashed on the way. It has what pyarrow needs of a file."""

    def __init__(self, file: AppendFile) -> None:
        self._file = file
        self._digest = hashlib.sha256()
        self._buffer = bytearray()
        self._is_broken = False
        self.size = 0
        self.closed = False

    def write(self, data: Any) -> int:
        """Append data. After an error nothing more is written: pyarrow writes a footer when it cleans up."""
        view = memoryview(data)
        if not self._is_broken:
            self._digest.update(view)
            self._buffer += view
            self.size += view.nbytes
            if len(self._buffer) >= _BUFFER_BYTES:
                self._flush()
        return view.nbytes

    def tell(self) -> int:
        """The number of bytes so far."""
        return self.size

    def flush(self) -> None:
        """Nothing: `finish` makes everything durable."""

    def finish(self) -> str:
        """Make everything durable. Returns the hash of the content."""
        self._flush()
        self._file.sync()
        return self._digest.hexdigest()

    def abandon(self) -> None:
        """Write nothing more."""
        self._is_broken = True

    def _flush(self) -> None:
        data, self._buffer = bytes(self._buffer), bytearray()
        try:
            self._file.append(data)
        except BaseException:
            self._is_broken = True
            raise


def write_shard(
    filesystem: Filesystem,
    path: str,
    format_: str,
    table: DataTable[Any, Any],
    documents: Iterable[tuple[str, Any]],
) -> ShardEntry:
    """Write documents to a new file, durably. The name of the file is not durable yet. Returns its entry, without its
    path and what it was made of."""
    opened = filesystem.open(path)
    file = HashedFile(opened)
    try:
        write = _write_parquet if format_ == "parquet" else _write_lines
        rows, schema = write(file, collect_batches(table, documents, ROW_GROUP_BYTES))
        columns, metadata = describe_schema(schema)
        size, sha256 = file.size, file.finish()
        return ShardEntry(
            path="", documents=0, key="", rows=rows, bytes=size, sha256=sha256, columns=columns, metadata=metadata
        )
    finally:
        file.abandon()
        opened.close()


def describe_schema(schema: Any) -> tuple[list[ColumnEntry], dict[str, str]]:
    """The columns of a schema, and its metadata."""
    columns = [ColumnEntry(field.name, str(field.type)) for field in schema]
    metadata = {name.decode().removeprefix("inorder."): value.decode() for name, value in schema.metadata.items()}
    return columns, metadata


def _write_parquet(file: HashedFile, batches: Iterator[Any]) -> tuple[int, Any]:
    first = next(batches)
    writer = pq.ParquetWriter(
        pa.PythonFile(file, mode="w"), first.schema, compression="zstd", use_dictionary=["doc_id"], version="2.6"
    )
    rows = 0
    for batch in chain([first], batches):
        writer.write_batch(batch, row_group_size=max(1, batch.num_rows))
        rows += batch.num_rows
    writer.close()
    return rows, first.schema


def _write_lines(file: HashedFile, batches: Iterator[Any]) -> tuple[int, Any]:
    first = next(batches)
    encoder = msgspec.json.Encoder()
    rows = 0
    for batch in chain([first], batches):
        file.write(encoder.encode_lines(batch.to_pylist()))
        rows += batch.num_rows
    return rows, first.schema
