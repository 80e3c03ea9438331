"""Documents and chunks as Arrow tables, for targets that read them."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pyarrow as pa

from inorder.index.query import replace_surrogates

from .base import ExportedChunk, ExportedDocument, encode_document

_TEXT, _NUMBER = pa.string(), pa.int32()
_DOCUMENT_TYPES = {
    **dict.fromkeys(("doc_id", "hash", "kind", "language"), _TEXT),
    **dict.fromkeys(("lines", "chunks"), _NUMBER),
}
_CHUNK_TYPES = {
    "number": _NUMBER,
    **dict.fromkeys(("chunk_id", "kind", "name", "headings", "context"), _TEXT),
    **dict.fromkeys(("start_at", "end_at"), _NUMBER),
    "pages": pa.list_(_NUMBER),
    "text": _TEXT,
}
"""The columns of chunks after the id of their document."""
_ATTRIBUTES = {"start_at": "start", "end_at": "end"}
"""Attributes of chunks that have another name than their columns."""


def _make_fields(types: Mapping[str, Any]) -> list[Any]:
    return [pa.field(name, kind, nullable=False) for name, kind in types.items()]


DOCUMENTS = pa.schema(_make_fields(_DOCUMENT_TYPES))


def make_chunk_schema(dimensions: int) -> pa.Schema:
    """The columns of chunks; with vectors if they have dimensions."""
    vector = [pa.field("vector", pa.list_(pa.float32(), dimensions))] if dimensions else []
    return pa.schema([*_make_fields({"doc_id": _TEXT, **_CHUNK_TYPES}), *vector])


def encode_clean(document: ExportedDocument) -> bytes:
    """Encode a document for the transfer from a worker, without lone surrogates, which no database takes."""
    try:
        return encode_document(document)
    except UnicodeEncodeError:
        for chunk in document.chunks:
            for name in ("name", "context", "headings", "text"):
                setattr(chunk, name, replace_surrogates(getattr(chunk, name)))
        return encode_document(document)


def make_document_table(documents: Sequence[ExportedDocument]) -> pa.Table:
    """One row per document."""
    rows = [{**msgspec.structs.asdict(each), "chunks": len(each.chunks)} for each in documents]
    return pa.Table.from_pylist(rows, DOCUMENTS)


def make_chunk_table(documents: Sequence[ExportedDocument], dimensions: int) -> pa.Table:
    """One row per chunk, in the order of the documents."""
    chunks = [chunk for document in documents for chunk in document.chunks]
    arrays = [pa.array([document.doc_id for document in documents for _ in document.chunks], _TEXT)]
    for name, kind in _CHUNK_TYPES.items():
        arrays.append(pa.array([getattr(chunk, _ATTRIBUTES.get(name, name)) for chunk in chunks], kind))
    if dimensions:
        arrays.append(_make_vectors(chunks, dimensions))
    return pa.table(arrays, make_chunk_schema(dimensions))


def _make_vectors(chunks: Sequence[ExportedChunk], dimensions: int) -> pa.Array:
    """The vectors of chunks; null where there is none."""
    nothing = bytes(4 * dimensions)
    buffer = pa.py_buffer(b"".join([chunk.vector or nothing for chunk in chunks]))
    values = pa.Array.from_buffers(pa.float32(), len(chunks) * dimensions, [None, buffer])
    missing = pa.array([not chunk.vector for chunk in chunks], pa.bool_())
    return pa.FixedSizeListArray.from_arrays(values, dimensions, mask=missing)
