"""The tables of a dataset: documents, chunks, and vectors of each family. Each is read document by document, in the
order of doc ids, as records or as columns."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

import pyarrow as pa

from inorder.documents.chunk.chunks import Chunk
from inorder.documents.embed.stored import DenseVectors, SparseRows
from inorder.index.chunk_terms import IndexedTerms

from .columns import (
    ChunkColumns,
    Columns,
    DenseColumns,
    DocumentColumns,
    LexicalColumns,
    SparseColumns,
)
from .document import DatasetDocument
from .results import (
    CHUNK_FORMAT,
    DENSE_FORMAT,
    DOCUMENT_FORMAT,
    SPARSE_FORMAT,
    DataReader,
    LoadedResult,
    ResultFormat,
    TableReader,
    open_data,
)
from .terms import LoadedTerms, TermReader

FAMILIES = ("dense", "sparse", "lexical")
DOCUMENTS, CHUNKS, VECTORS = "documents", "chunks", "vectors"
D = TypeVar("D")
R = TypeVar("R")


class DenseVector(NamedTuple):
    """The dense vector of a chunk.

    >>> import inorder
    >>> def collect(rows: inorder.Rows[inorder.DenseVector]) -> dict[str, list[float]]:
    ...     return {row.chunk_id: row.vector.tolist() for row in rows}
    """

    doc_id: str
    chunk_id: str
    number: int
    """The number of the chunk in its document, from 0."""
    vector: Any
    """A read-only numpy array of float32."""


class SparseTerms(NamedTuple):
    """The sparse vector of a chunk: terms of a vocabulary and their weights, as numpy arrays.

    >>> import inorder
    >>> def to_dict(row: inorder.SparseTerms) -> dict[int, float]:
    ...     return dict(zip(row.indices.tolist(), row.weights.tolist(), strict=True))
    """

    doc_id: str
    chunk_id: str
    number: int
    indices: Any
    weights: Any


class LexicalTerms(NamedTuple):
    """The terms of a chunk of a document or of source code, and the weight of each in the ranking.

    >>> import inorder
    >>> inorder.LexicalTerms("docs/a.md", "0a1b", 0, {"tide": 1.5}).terms
    {'tide': 1.5}
    """

    doc_id: str
    chunk_id: str
    number: int
    terms: dict[str, float]
    """In the order of the terms."""


class DataTable(ABC, Generic[D, R]):
    """One table: which results it is made of, and what its rows are."""

    name: str
    format: ResultFormat
    made_by: str
    """The command that makes the results."""

    def open(self, reader: DataReader) -> TableReader:
        """The results in DATA, of which there may be none."""
        return reader.open(self.format)

    def read(self, data: str) -> Iterator[tuple[str, D]]:
        """Decode the results of all documents, one at a time."""
        with open_data(data) as reader:
            results = self.open(reader)
            for result in results.iterate():
                loaded = results.load(result.doc_id)
                if loaded is not None:  # None: a run has removed it
                    yield result.doc_id, self.decode(loaded)

    @abstractmethod
    def decode(self, loaded: Any) -> D:
        """Decode the result of a document."""

    @abstractmethod
    def list_rows(self, doc_id: str, decoded: D) -> Iterator[R]:
        """The rows of a document."""

    @abstractmethod
    def make_columns(self, first: D) -> Columns[D]:
        """Columns for this table. The document that comes first says what is the same in all of them."""


class DocumentTable(DataTable[DatasetDocument, DatasetDocument]):
    """The documents, one row each."""

    name, format, made_by = DOCUMENTS, DOCUMENT_FORMAT, "doctags SRC"

    def __init__(
        self,
        find_chunks: Callable[[str], list[Chunk]] = lambda doc_id: [],
        find_copies: Callable[[str], list[str]] = lambda doc_id: [],
    ) -> None:
        self._find_chunks = find_chunks
        self._find_copies = find_copies

    def decode(self, loaded: LoadedResult) -> DatasetDocument:
        return DatasetDocument(loaded, self._find_chunks, self._find_copies)

    def list_rows(self, doc_id: str, decoded: DatasetDocument) -> Iterator[DatasetDocument]:
        yield decoded

    def make_columns(self, first: DatasetDocument) -> DocumentColumns:
        return DocumentColumns()


class ChunkTable(DataTable[list[Chunk], Chunk]):
    """The chunks of all documents."""

    name, format, made_by = CHUNKS, CHUNK_FORMAT, "chunk"

    def decode(self, loaded: LoadedResult) -> list[Chunk]:
        chunks: list[Chunk] = loaded.value
        return chunks

    def list_rows(self, doc_id: str, decoded: list[Chunk]) -> Iterator[Chunk]:
        return iter(decoded)

    def make_columns(self, first: list[Chunk]) -> ChunkColumns:
        return ChunkColumns()


class DenseTable(DataTable[DenseVectors, DenseVector]):
    """The dense vectors of all chunks."""

    name, format, made_by = f"{VECTORS}/dense", DENSE_FORMAT, "embed"

    def decode(self, loaded: LoadedResult) -> DenseVectors:
        vectors: DenseVectors = loaded.value
        return vectors

    def list_rows(self, doc_id: str, decoded: DenseVectors) -> Iterator[DenseVector]:
        for number, (chunk_id, vector) in enumerate(zip(decoded.ids, decoded.matrix, strict=True)):
            yield DenseVector(doc_id, chunk_id, number, vector)

    def make_columns(self, first: DenseVectors) -> DenseColumns:
        return DenseColumns(first.matrix.shape[1], first.provider, first.spec)


class SparseTable(DataTable[SparseRows, SparseTerms]):
    """The sparse vectors of all chunks."""

    name, format, made_by = f"{VECTORS}/sparse", SPARSE_FORMAT, "embed --sparse PROVIDER"

    def decode(self, loaded: LoadedResult) -> SparseRows:
        vectors: SparseRows = loaded.value
        return vectors

    def list_rows(self, doc_id: str, decoded: SparseRows) -> Iterator[SparseTerms]:
        for number, (chunk_id, (indices, weights)) in enumerate(zip(decoded.ids, decoded.vectors, strict=True)):
            yield SparseTerms(doc_id, chunk_id, number, indices, weights)

    def make_columns(self, first: SparseRows) -> SparseColumns:
        return SparseColumns()


class LexicalTable(DataTable[IndexedTerms, LexicalTerms]):
    """The terms of all chunks of the index, those of source code among them."""

    name, made_by = f"{VECTORS}/lexical", "index SRC"

    def open(self, reader: DataReader) -> TermReader:
        return TermReader(reader.terms)

    def read(self, data: str) -> Iterator[tuple[str, IndexedTerms]]:
        with open_data(data) as reader:
            for terms in self.open(reader).read_all():
                yield terms.item_id, terms

    def decode(self, loaded: LoadedTerms) -> IndexedTerms:
        return loaded.terms

    def list_rows(self, doc_id: str, decoded: IndexedTerms) -> Iterator[LexicalTerms]:
        for number, (chunk_id, terms) in enumerate(zip(decoded.chunk_ids, decoded.terms, strict=True)):
            yield LexicalTerms(doc_id, chunk_id, number, terms)

    def make_columns(self, first: IndexedTerms) -> LexicalColumns:
        return LexicalColumns(first.facts)


VECTOR_TABLES: dict[str, DataTable[Any, Any]] = {
    "dense": DenseTable(),
    "sparse": SparseTable(),
    "lexical": LexicalTable(),
}
_TABLES: list[DataTable[Any, Any]] = [DocumentTable(), ChunkTable(), *VECTOR_TABLES.values()]
_PART_BYTES = 2**21
"""Rows that are collected before they are turned into Arrow's columns."""
TABLES = {table.name: table for table in _TABLES}
"""Every table by its name, which is also its folder in an export."""


def collect_batches(table: DataTable[D, Any], documents: Iterable[tuple[str, D]], batch_bytes: int) -> Iterator[Any]:
    """Record batches of whole documents, each of about `batch_bytes` of memory, or of one document. There is a batch
    if there is a document."""
    columns = None
    parts: list[Any] = []
    """Rows of the next batch as Arrow has them, which takes a tenth of the memory of Python's objects."""
    size = 0
    is_empty = True
    for doc_id, decoded in documents:
        if columns is None:
            columns = table.make_columns(decoded)
        columns.add(doc_id, decoded)
        is_complete = size + columns.bytes >= batch_bytes
        if is_complete or columns.bytes >= _PART_BYTES:
            size += columns.bytes
            parts.append(columns.finish())
        if is_complete:
            yield _join_parts(parts)
            parts, size, is_empty = [], 0, False
    if columns is not None and (columns.bytes or (is_empty and not parts)):
        parts.append(columns.finish())
    if parts:
        yield _join_parts(parts)


def _join_parts(parts: list[Any]) -> Any:
    """One batch with the rows of all parts, which are released."""
    if len(parts) == 1:
        return parts[0]
    joined = pa.Table.from_batches(parts)
    parts.clear()
    [batch] = joined.combine_chunks().to_batches()
    return batch
