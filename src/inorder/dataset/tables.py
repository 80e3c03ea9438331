"""The tables of a dataset: documents, chunks, vectors of each family, and the tables in documents. Each is read
document by document, in the order of doc ids, as records or as columns."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from inorder.documents.chunk.chunks import SCHEMA_VERSION as CHUNK_VERSION
from inorder.documents.chunk.chunks import Chunk
from inorder.documents.extract.settings import STEP
from inorder.documents.parquet import make_schema
from inorder.errors import InfrastructureError, OperatorError

from .content_tables import ContentTable
from .document import DatasetDocument
from .reader import DataReader, open_data
from .results import (
    CHUNK_FORMAT,
    DENSE_FORMAT,
    DOCUMENT_FORMAT,
    SPARSE_FORMAT,
    DenseVectors,
    LibraryResults,
    LoadedResult,
    ResultFormat,
    SparseRows,
)
from .terms import IndexChangedError, IndexedTerms, TermReader

FAMILIES = ("dense", "sparse", "lexical")
DOCUMENTS, CHUNKS, VECTORS, CONTENT_TABLES = "documents", "chunks", "vectors", "tables"
_DOCUMENT_FIELDS = [
    *((name, pa.string(), name) for name in ("doc_id", "name", "mimetype")),
    ("pages", pa.int32(), "page_count"),
    *((name, pa.string(), name) for name in ("input_sha256", "text", "markdown", "doctags", "json")),
]
"""The columns of documents: name, type, and the attribute of a document."""
_CHUNK_FIELDS = [
    *((name, pa.string()) for name in ("chunk_id", "doc_id")),
    ("number", pa.int32()),
    ("text", pa.string()),
    ("tokens", pa.int32()),
    *((name, pa.int64()) for name in ("start", "end")),
    ("section_path", pa.list_(pa.string())),
    ("pages", pa.list_(pa.int32())),
    ("refs", pa.list_(pa.string())),
    ("links", pa.list_(pa.struct([("text", pa.string()), ("target", pa.string()), ("start", pa.int64())]))),
    ("code", pa.list_(pa.struct([("language", pa.string()), ("start", pa.int64()), ("end", pa.int64())]))),
]
_ID_FIELDS = [("doc_id", pa.string()), ("chunk_id", pa.string()), ("number", pa.int32())]
_TABLE_FIELDS = [
    ("doc_id", pa.string()),
    *((name, pa.int32()) for name in ("number", "page")),
    ("caption", pa.string()),
    *((name, pa.list_(pa.string())) for name in ("section_path", "columns")),
    ("rows", pa.list_(pa.list_(pa.string()))),
]
_LEXICAL = {"schema_version": "2"}
"""Version 1 had counts instead of weights."""
ATTEMPTS = 5
"""How often DATA is read again because a run has replaced what was to be read."""
D = TypeVar("D")
R = TypeVar("R")


class DenseVector(NamedTuple):
    """The dense vector of a chunk.

    >>> import inorder
    >>> def collect(rows: inorder.dataset.Rows[inorder.dataset.DenseVector]) -> dict[str, list[float]]:
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
    >>> def to_dict(row: inorder.dataset.SparseTerms) -> dict[int, float]:
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
    >>> inorder.dataset.LexicalTerms("docs/a.md", "0a1b", 0, {"tide": 1.5}).terms
    {'tide': 1.5}
    """

    doc_id: str
    chunk_id: str
    number: int
    terms: dict[str, float]
    """In the order of the terms."""


class DataTable(ABC, Generic[D, R]):
    """One table: which results it is made of, and what its rows and columns are."""

    name: str
    format: ResultFormat
    made_by: str
    """The command that makes the results."""

    def open(self, reader: DataReader) -> LibraryResults:
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

    def decode(self, loaded: LoadedResult) -> D:
        """Decode the result of a document."""
        decoded: D = loaded.value
        return decoded

    @abstractmethod
    def list_rows(self, doc_id: str, decoded: D) -> Iterator[R]:
        """The rows of a document."""

    @abstractmethod
    def make_schema(self, first: D) -> Any:
        """The columns. The document that comes first says what is the same in all of them."""

    @abstractmethod
    def make_arrays(self, documents: Sequence[tuple[str, D]], schema: Any) -> list[Any]:
        """The columns of the rows of these documents."""

    @abstractmethod
    def measure(self, doc_id: str, decoded: D) -> int:
        """About the size of the rows of a document."""


def changes_meanwhile(data: str) -> InfrastructureError:
    """The error if runs change DATA again and again while it is read."""
    return InfrastructureError(f"{data} changes while it is exported; export it again when no run is active")


def _describe_table(name: str, **more: str) -> dict[str, str]:
    return {"schema": f"inorder.{name}", "schema_version": "1", **more}


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

    def make_schema(self, first: DatasetDocument) -> Any:
        return make_schema([(name, kind) for name, kind, _ in _DOCUMENT_FIELDS], _describe_table("documents"))

    def make_arrays(self, documents: Sequence[tuple[str, DatasetDocument]], schema: Any) -> list[Any]:
        return [
            pa.array([getattr(decoded, attribute) for _, decoded in documents], kind)
            for _, kind, attribute in _DOCUMENT_FIELDS
        ]

    def measure(self, doc_id: str, decoded: DatasetDocument) -> int:
        values = [getattr(decoded, attribute) for _, _, attribute in _DOCUMENT_FIELDS]
        return sum(len(value) for value in values if isinstance(value, str))


class ChunkTable(DataTable[list[Chunk], Chunk]):
    """The chunks of all documents."""

    name, format, made_by = CHUNKS, CHUNK_FORMAT, "chunk"

    def list_rows(self, doc_id: str, decoded: list[Chunk]) -> Iterator[Chunk]:
        return iter(decoded)

    def make_schema(self, first: list[Chunk]) -> Any:
        return make_schema(_CHUNK_FIELDS, _describe_table("chunks") | {"schema_version": str(CHUNK_VERSION)})

    def make_arrays(self, documents: Sequence[tuple[str, list[Chunk]]], schema: Any) -> list[Any]:
        chunks = [chunk for _, decoded in documents for chunk in decoded]
        return [pa.array([getattr(chunk, name) for chunk in chunks], kind) for name, kind in _CHUNK_FIELDS]

    def measure(self, doc_id: str, decoded: list[Chunk]) -> int:
        return sum(len(chunk.text) + 200 for chunk in decoded)


def _make_id_arrays(documents: Iterable[tuple[str, Sequence[str]]]) -> list[Any]:
    """Of which chunk of which document each row of a table of vectors is."""
    rows = [(doc_id, chunk_id, number) for doc_id, ids in documents for number, chunk_id in enumerate(ids)]
    return [pa.array([row[place] for row in rows], kind) for place, (_, kind) in enumerate(_ID_FIELDS)]


def _measure_ids(doc_id: str, ids: Sequence[str]) -> int:
    return len(ids) * (len(doc_id) + 40)


class DenseTable(DataTable[DenseVectors, DenseVector]):
    """The dense vectors of all chunks. Their numbers are not copied from the decompressed result, unless a batch joins
    several documents."""

    name, format, made_by = f"{VECTORS}/dense", DENSE_FORMAT, "embed"

    def list_rows(self, doc_id: str, decoded: DenseVectors) -> Iterator[DenseVector]:
        for number, (chunk_id, vector) in enumerate(zip(decoded.ids, decoded.matrix, strict=True)):
            yield DenseVector(doc_id, chunk_id, number, vector)

    def make_schema(self, first: DenseVectors) -> Any:
        width = first.matrix.shape[1]
        facts = {"provider": first.provider, "spec": first.spec, "dimensions": str(width), "normalised": "l2"}
        fields = [*_ID_FIELDS, ("vector", pa.list_(pa.float32(), width))]
        return make_schema(fields, _describe_table("dense", **facts))

    def make_arrays(self, documents: Sequence[tuple[str, DenseVectors]], schema: Any) -> list[Any]:
        width, provider = schema.field("vector").type.list_size, schema.metadata[b"inorder.provider"].decode()
        for doc_id, decoded in documents:
            if decoded.matrix.shape[1] != width or decoded.provider != provider:
                raise OperatorError(
                    f"the dense vectors of {doc_id!r} are of another provider ({decoded.provider},"
                    f" {decoded.matrix.shape[1]} dimensions) than those before them ({provider},"
                    f" {width}); run `inorder embed` to bring all of them up to date"
                )
        parts = [decoded.matrix for _, decoded in documents]
        values = parts[0] if len(parts) == 1 else np.concatenate(parts)
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(values.ravel(), pa.float32()), width)
        return [*_make_id_arrays((doc_id, decoded.ids) for doc_id, decoded in documents), vectors]

    def measure(self, doc_id: str, decoded: DenseVectors) -> int:
        return _measure_ids(doc_id, decoded.ids) + decoded.matrix.nbytes


class SparseTable(DataTable[SparseRows, SparseTerms]):
    """The sparse vectors of all chunks."""

    name, format, made_by = f"{VECTORS}/sparse", SPARSE_FORMAT, "embed --sparse PROVIDER"

    def list_rows(self, doc_id: str, decoded: SparseRows) -> Iterator[SparseTerms]:
        for number, (chunk_id, (indices, weights)) in enumerate(zip(decoded.ids, decoded.vectors, strict=True)):
            yield SparseTerms(doc_id, chunk_id, number, indices, weights)

    def make_schema(self, first: SparseRows) -> Any:
        lists = [("indices", pa.list_(pa.int32())), ("weights", pa.list_(pa.float32()))]
        facts = {"provider": first.provider, "vocabulary": str(first.vocabulary)}
        return make_schema([*_ID_FIELDS, *lists], _describe_table("sparse", **facts))

    def make_arrays(self, documents: Sequence[tuple[str, SparseRows]], schema: Any) -> list[Any]:
        parts = [vector for _, decoded in documents for vector in decoded.vectors]
        offsets = np.cumsum([0, *(len(indices) for indices, _ in parts)], dtype=np.int32)
        indices = np.concatenate([np.empty(0, "<i4"), *(each for each, _ in parts)])
        weights = np.concatenate([np.empty(0, "<f4"), *(each for _, each in parts)])
        return [
            *_make_id_arrays((doc_id, decoded.ids) for doc_id, decoded in documents),
            pa.ListArray.from_arrays(offsets, pa.array(indices, pa.int32())),
            pa.ListArray.from_arrays(offsets, pa.array(weights, pa.float32())),
        ]

    def measure(self, doc_id: str, decoded: SparseRows) -> int:
        sizes = sum(indices.nbytes + weights.nbytes for indices, weights in decoded.vectors)
        return _measure_ids(doc_id, decoded.ids) + sizes


class LexicalTable(DataTable[IndexedTerms, LexicalTerms]):
    """The terms of all chunks of the index, those of source code among them."""

    name, made_by = f"{VECTORS}/lexical", "index SRC"

    def open(self, reader: DataReader) -> TermReader:
        return reader.terms

    def read(self, data: str) -> Iterator[tuple[str, IndexedTerms]]:
        for _ in range(ATTEMPTS):
            with open_data(data) as reader, suppress(IndexChangedError):
                yield from ((found.doc_id, found.value) for found in reader.terms.read_all())
                return
        raise changes_meanwhile(data)

    def list_rows(self, doc_id: str, decoded: IndexedTerms) -> Iterator[LexicalTerms]:
        for number, (chunk_id, terms) in enumerate(zip(decoded.chunk_ids, decoded.terms, strict=True)):
            yield LexicalTerms(doc_id, chunk_id, number, terms)

    def make_schema(self, first: IndexedTerms) -> Any:
        lists = [("terms", pa.list_(pa.string())), ("weights", pa.list_(pa.float32()))]
        return make_schema([*_ID_FIELDS, *lists], _describe_table("lexical", **first.facts) | _LEXICAL)

    def make_arrays(self, documents: Sequence[tuple[str, IndexedTerms]], schema: Any) -> list[Any]:
        terms = [each for _, decoded in documents for each in decoded.terms]
        return [
            *_make_id_arrays((doc_id, decoded.chunk_ids) for doc_id, decoded in documents),
            pa.array([list(each) for each in terms], pa.list_(pa.string())),
            pa.array([list(each.values()) for each in terms], pa.list_(pa.float32())),
        ]

    def measure(self, doc_id: str, decoded: IndexedTerms) -> int:
        return _measure_ids(doc_id, decoded.chunk_ids) + sum(len(each) * 16 for each in decoded.terms)


class TableOfTables(DataTable[DatasetDocument, ContentTable]):
    """The tables in all documents, one row each."""

    name, format, made_by = CONTENT_TABLES, DOCUMENT_FORMAT, "doctags SRC"

    def decode(self, loaded: LoadedResult) -> DatasetDocument:
        return DatasetDocument(loaded, lambda doc_id: [])

    def list_rows(self, doc_id: str, decoded: DatasetDocument) -> Iterator[ContentTable]:
        return iter(decoded.tables)

    def make_schema(self, first: DatasetDocument) -> Any:
        return make_schema(_TABLE_FIELDS, _describe_table(self.name))

    def make_arrays(self, documents: Sequence[tuple[str, DatasetDocument]], schema: Any) -> list[Any]:
        tables = [table for _, decoded in documents for table in decoded.tables]
        return [pa.array([getattr(table, name) for table in tables], kind) for name, kind in _TABLE_FIELDS]

    def measure(self, doc_id: str, decoded: DatasetDocument) -> int:
        return sum(200 + sum(len(text) + 8 for row in table.rows for text in row) for table in decoded.tables)


VECTOR_TABLES: dict[str, DataTable[Any, Any]] = {
    "dense": DenseTable(),
    "sparse": SparseTable(),
    "lexical": LexicalTable(),
}
_TABLES: list[DataTable[Any, Any]] = [DocumentTable(), ChunkTable(), *VECTOR_TABLES.values(), TableOfTables()]
_PART_BYTES = 2**21
"""Rows that are collected before they are turned into Arrow's columns."""
TABLES = {table.name: table for table in _TABLES}
"""Every table by its name, which is also its folder in an export."""


def list_table_names(what: str) -> list[str]:
    """The names of the tables that are exported as `what`. All leaves out tables in documents, which documents have."""
    if what == "all":
        return [name for name in TABLES if name != CONTENT_TABLES]
    if what.startswith(f"{STEP}:"):
        return [what.replace(":", "/", 1)]
    return [name for name in TABLES if name.partition("/")[0] == what]


def collect_batches(table: DataTable[D, Any], documents: Iterable[tuple[str, D]], batch_bytes: int) -> Iterator[Any]:
    """Record batches of whole documents, each of about `batch_bytes` of memory, or of one document. There is a batch
    if there is a document."""
    schema = None
    pending: list[tuple[str, D]] = []
    parts: list[Any] = []
    """Rows of the next batch as Arrow has them, which takes a tenth of the memory of Python's objects."""
    size = pending_bytes = 0
    is_empty = True
    for doc_id, decoded in documents:
        if schema is None:
            schema = table.make_schema(decoded)
        pending.append((doc_id, decoded))
        pending_bytes += table.measure(doc_id, decoded)
        is_complete = size + pending_bytes >= batch_bytes
        if is_complete or pending_bytes >= _PART_BYTES:
            size += pending_bytes
            parts.append(make_batch(table, pending, schema))
            pending, pending_bytes = [], 0
        if is_complete:
            yield _join_parts(parts)
            parts, size, is_empty = [], 0, False
    if pending and (pending_bytes or (is_empty and not parts)):
        parts.append(make_batch(table, pending, schema))
    if parts:
        yield _join_parts(parts)


def make_batch(table: DataTable[D, Any], documents: Sequence[tuple[str, D]], schema: Any) -> Any:
    """The rows of documents as one record batch."""
    return pa.RecordBatch.from_arrays(table.make_arrays(documents, schema), schema=schema)


def _join_parts(parts: list[Any]) -> Any:
    """One batch with the rows of all parts, which are released."""
    if len(parts) == 1:
        return parts[0]
    joined = pa.Table.from_batches(parts)
    parts.clear()
    [batch] = joined.combine_chunks().to_batches()
    return batch
