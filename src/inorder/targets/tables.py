"""Documents and chunks as Arrow tables, for targets that read them."""

from collections.abc import Sequence

import pyarrow as pa

from inorder.index.query import replace_surrogates

from .base import ExportedChunk, ExportedDocument, encode_document

DOCUMENTS = pa.schema(
    [
        pa.field("doc_id", pa.string(), nullable=False),
        pa.field("hash", pa.string(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("language", pa.string(), nullable=False),
        pa.field("lines", pa.int32(), nullable=False),
        pa.field("chunks", pa.int32(), nullable=False),
    ]
)
_CHUNKS = [
    pa.field("doc_id", pa.string(), nullable=False),
    pa.field("number", pa.int32(), nullable=False),
    pa.field("chunk_id", pa.string(), nullable=False),
    pa.field("kind", pa.string(), nullable=False),
    pa.field("name", pa.string(), nullable=False),
    pa.field("headings", pa.string(), nullable=False),
    pa.field("context", pa.string(), nullable=False),
    pa.field("start_at", pa.int32(), nullable=False),
    pa.field("end_at", pa.int32(), nullable=False),
    pa.field("pages", pa.list_(pa.int32()), nullable=False),
    pa.field("text", pa.string(), nullable=False),
]


def make_chunk_schema(dimensions: int) -> pa.Schema:
    """The columns of chunks; with vectors if they have dimensions."""
    vector = [pa.field("vector", pa.list_(pa.float32(), dimensions))] if dimensions else []
    return pa.schema([*_CHUNKS, *vector])


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
    columns = [
        [each.doc_id for each in documents],
        [each.hash for each in documents],
        [each.kind for each in documents],
        [each.language for each in documents],
        [each.lines for each in documents],
        [len(each.chunks) for each in documents],
    ]
    return pa.table([pa.array(column, field.type) for column, field in zip(columns, DOCUMENTS, strict=True)], DOCUMENTS)


def make_chunk_table(documents: Sequence[ExportedDocument], dimensions: int) -> pa.Table:
    """One row per chunk, in the order of the documents."""
    rows = [(document.doc_id, chunk) for document in documents for chunk in document.chunks]
    columns = [
        [doc_id for doc_id, _ in rows],
        [chunk.number for _, chunk in rows],
        [chunk.chunk_id for _, chunk in rows],
        [chunk.kind for _, chunk in rows],
        [chunk.name for _, chunk in rows],
        [chunk.headings for _, chunk in rows],
        [chunk.context for _, chunk in rows],
        [chunk.start for _, chunk in rows],
        [chunk.end for _, chunk in rows],
        [chunk.pages for _, chunk in rows],
        [chunk.text for _, chunk in rows],
    ]
    schema = make_chunk_schema(dimensions)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, _CHUNKS, strict=True)]
    if dimensions:
        arrays.append(_make_vectors([chunk for _, chunk in rows], dimensions))
    return pa.table(arrays, schema)


def _make_vectors(chunks: Sequence[ExportedChunk], dimensions: int) -> pa.Array:
    """The vectors of chunks; null where there is none."""
    nothing = bytes(4 * dimensions)
    buffer = pa.py_buffer(b"".join([chunk.vector or nothing for chunk in chunks]))
    values = pa.Array.from_buffers(pa.float32(), len(chunks) * dimensions, [None, buffer])
    missing = pa.array([not chunk.vector for chunk in chunks], pa.bool_())
    return pa.FixedSizeListArray.from_arrays(values, dimensions, mask=missing)
