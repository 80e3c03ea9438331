"""Columns of Arrow that collect documents until a batch is large enough.

The numbers of dense vectors are not copied from the decompressed result, unless a batch joins several documents.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np
import pyarrow as pa

from inorder.documents.chunk.chunks import SCHEMA_VERSION as CHUNK_VERSION
from inorder.documents.chunk.chunks import Chunk
from inorder.documents.chunk.storage import make_chunk_fields
from inorder.documents.embed.providers.base import Matrix, SparseVector
from inorder.documents.embed.stored import DenseVectors, SparseRows
from inorder.documents.parquet import make_schema
from inorder.errors import OperatorError
from inorder.index.chunk_terms import IndexedTerms

from .document import DatasetDocument

_VERSION = "1"
_LEXICAL_VERSION = "2"
"""Version 1 had counts instead of weights."""
D = TypeVar("D", contravariant=True)


class Columns(Protocol[D]):
    """Collects the rows of documents into a batch."""

    bytes: int
    """About the size of what was collected."""

    def add(self, doc_id: str, decoded: D) -> None:
        """Add the rows of one document."""

    def finish(self) -> Any:
        """Return the rows as a record batch, and begin another one."""


def _make_table_schema(name: str, fields: Sequence[tuple[str, Any]], **more: str) -> Any:
    return make_schema(fields, {"schema": f"inorder.{name}", "schema_version": _VERSION, **more})


class DocumentColumns:
    def __init__(self) -> None:
        text = pa.string()
        numbers = {"pages": pa.int32()}
        names = ("doc_id", "name", "mimetype", "pages", "input_sha256", "text", "markdown", "doctags", "json")
        self.schema = _make_table_schema("documents", [(name, numbers.get(name, text)) for name in names])
        self._rows: list[dict[str, Any]] = []
        self.bytes = 0

    def add(self, doc_id: str, decoded: DatasetDocument) -> None:
        row = {
            "doc_id": doc_id,
            "name": decoded.name,
            "mimetype": decoded.mimetype,
            "pages": decoded.page_count,
            "input_sha256": decoded.input_sha256,
            "text": decoded.text,
            "markdown": decoded.markdown,
            "doctags": decoded.doctags,
            "json": decoded.json,
        }
        self._rows.append(row)
        self.bytes += sum(len(value) for value in row.values() if isinstance(value, str))

    def finish(self) -> Any:
        rows, self._rows, self.bytes = self._rows, [], 0
        return pa.RecordBatch.from_pylist(rows, schema=self.schema)


class ChunkColumns:
    def __init__(self) -> None:
        self._fields = make_chunk_fields()
        self.schema = make_schema(self._fields, {"schema": "inorder.chunks", "schema_version": str(CHUNK_VERSION)})
        self._chunks: list[Chunk] = []
        self.bytes = 0

    def add(self, doc_id: str, decoded: list[Chunk]) -> None:
        self._chunks += decoded
        self.bytes += sum(len(chunk.text) + 200 for chunk in decoded)

    def finish(self) -> Any:
        chunks, self._chunks, self.bytes = self._chunks, [], 0
        columns = [pa.array([getattr(chunk, name) for chunk in chunks], kind) for name, kind in self._fields]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)


class _VectorColumns:
    """The columns that the tables of vectors share: of which chunk of which document a row is."""

    def __init__(self) -> None:
        self._doc_ids: list[str] = []
        self._ids: list[str] = []
        self._numbers: list[int] = []
        self.bytes = 0

    def _add_ids(self, doc_id: str, ids: Sequence[str]) -> None:
        self._doc_ids += [doc_id] * len(ids)
        self._ids += ids
        self._numbers += range(len(ids))
        self.bytes += len(ids) * (len(doc_id) + 40)

    def _take_ids(self) -> list[Any]:
        columns = [
            pa.array(self._doc_ids, pa.string()),
            pa.array(self._ids, pa.string()),
            pa.array(self._numbers, pa.int32()),
        ]
        self._doc_ids, self._ids, self._numbers, self.bytes = [], [], [], 0
        return columns


_ID_FIELDS = [("doc_id", pa.string()), ("chunk_id", pa.string()), ("number", pa.int32())]


class DenseColumns(_VectorColumns):
    def __init__(self, width: int, provider: str, spec: str) -> None:
        super().__init__()
        self._width = width
        self._parts: list[Matrix] = []
        self.schema = _make_table_schema(
            "dense",
            [*_ID_FIELDS, ("vector", pa.list_(pa.float32(), width))],
            provider=provider,
            spec=spec,
            dimensions=str(width),
            normalised="l2",
        )
        self._provider = provider

    def add(self, doc_id: str, decoded: DenseVectors) -> None:
        if decoded.matrix.shape[1] != self._width or decoded.provider != self._provider:
            raise OperatorError(
                f"the dense vectors of {doc_id!r} are of another provider ({decoded.provider},"
                f" {decoded.matrix.shape[1]} dimensions) than those before them ({self._provider},"
                f" {self._width}); run `inorder embed` to bring all of them up to date"
            )
        self._add_ids(doc_id, decoded.ids)
        self._parts.append(decoded.matrix)
        self.bytes += decoded.matrix.nbytes

    def finish(self) -> Any:
        parts, self._parts = self._parts, []
        values = parts[0] if len(parts) == 1 else np.concatenate([np.empty((0, self._width), "<f4"), *parts])
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(values.ravel(), pa.float32()), self._width)
        return pa.RecordBatch.from_arrays([*self._take_ids(), vectors], schema=self.schema)


class SparseColumns(_VectorColumns):
    def __init__(self) -> None:
        super().__init__()
        self._parts: list[SparseVector] = []
        lists = [("indices", pa.list_(pa.int32())), ("weights", pa.list_(pa.float32()))]
        self.schema = _make_table_schema("sparse", [*_ID_FIELDS, *lists])

    def add(self, doc_id: str, decoded: SparseRows) -> None:
        self._add_ids(doc_id, decoded.ids)
        self._parts += decoded.vectors
        self.bytes += sum(indices.nbytes + weights.nbytes for indices, weights in decoded.vectors)

    def finish(self) -> Any:
        parts, self._parts = self._parts, []
        offsets = np.cumsum([0, *(len(indices) for indices, _ in parts)], dtype=np.int32)
        indices = np.concatenate([np.empty(0, "<i4"), *(each for each, _ in parts)])
        weights = np.concatenate([np.empty(0, "<f4"), *(each for _, each in parts)])
        lists = [
            pa.ListArray.from_arrays(offsets, pa.array(indices, pa.int32())),
            pa.ListArray.from_arrays(offsets, pa.array(weights, pa.float32())),
        ]
        return pa.RecordBatch.from_arrays([*self._take_ids(), *lists], schema=self.schema)


class LexicalColumns(_VectorColumns):
    def __init__(self, facts: Mapping[str, str]) -> None:
        super().__init__()
        self._terms: list[dict[str, float]] = []
        lists = [("terms", pa.list_(pa.string())), ("weights", pa.list_(pa.float32()))]
        fields = {"schema": "inorder.lexical", "schema_version": _LEXICAL_VERSION}
        self.schema = make_schema([*_ID_FIELDS, *lists], {**fields, **facts})

    def add(self, doc_id: str, decoded: IndexedTerms) -> None:
        self._add_ids(doc_id, decoded.chunk_ids)
        self._terms += decoded.terms
        self.bytes += sum(len(each) * 16 for each in decoded.terms)

    def finish(self) -> Any:
        terms, self._terms = self._terms, []
        columns = [
            pa.array([list(each) for each in terms], pa.list_(pa.string())),
            pa.array([list(each.values()) for each in terms], pa.list_(pa.float32())),
        ]
        return pa.RecordBatch.from_arrays([*self._take_ids(), *columns], schema=self.schema)
