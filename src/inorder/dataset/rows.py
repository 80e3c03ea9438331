"""The rows of one table: an iterator of records, and a stream of Arrow record batches."""

import itertools
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

from inorder.errors import OperatorError

from .reader import open_data
from .tables import VECTORS, DataTable, collect_batches

BATCH_BYTES = 8 * 2**20
R = TypeVar("R")


class Rows(Generic[R]):
    """The rows of one table, in the order of doc ids. Every iteration reads DATA again, and holds one document at a
    time. A run may write meanwhile: every document is read as it was committed, before the run or by it.

    As columns, it is a stream that other libraries read directly (the Arrow PyCapsule interface):
    `polars.DataFrame(rows)`, `pyarrow.table(rows)`, `duckdb.sql("select ... from rows")`.

    >>> import inorder
    >>> def count_tokens(chunks: inorder.dataset.Rows[inorder.dataset.Chunk]) -> int:
    ...     return sum(chunk.tokens for chunk in chunks)
    """

    def __init__(self, data: str, table: DataTable[Any, R]) -> None:
        self._data = data
        self._table = table
        with open_data(data) as reader:
            first = next(table.open(reader).iterate(), None)
        if first is None:
            kind, _, name = table.name.rpartition("/")
            noun = f"{name} vectors" if kind == VECTORS else f"fields of {name}" if kind else name
            raise OperatorError(f"no {noun} in {data}; run `inorder {table.made_by}` first")

    def __iter__(self) -> Iterator[R]:
        for doc_id, decoded in self._table.read(self._data):
            yield from self._table.list_rows(doc_id, decoded)

    @property
    def schema(self) -> Any:
        """The `pyarrow.Schema` of the columns."""
        return next(self.batches(1)).schema

    def batches(self, batch_bytes: int = BATCH_BYTES) -> Iterator[Any]:
        """Yield `pyarrow.RecordBatch`es of whole documents, each of about `batch_bytes` of memory, or of one document.
        There is at least one batch."""
        return collect_batches(self._table, self._table.read(self._data), batch_bytes)

    def to_reader(self, batch_bytes: int = BATCH_BYTES) -> Any:
        """Return a `pyarrow.RecordBatchReader` over the batches."""
        import pyarrow as pa

        batches = self.batches(batch_bytes)
        first = next(batches)
        return pa.RecordBatchReader.from_batches(first.schema, itertools.chain([first], batches))

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.to_reader().__arrow_c_stream__(requested_schema)
