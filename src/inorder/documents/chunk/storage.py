"""How the chunks of a document are encoded in the store, and written as a Parquet file."""

import io
from collections.abc import Sequence
from typing import Any

import msgspec

from inorder.stage.store.inputs import Input
from inorder.stage.store.reading import read_content

from .chunks import SCHEMA_VERSION, Chunk, format_chunk_id, pack_chunk_id


class _StoredChunk(msgspec.Struct, array_like=True, gc=False):
    """A chunk in the store."""

    id: bytes
    text: str
    tokens: int
    start: int
    end: int
    section_path: list[str]
    pages: list[int]
    refs: list[str]


class _StoredChunks(msgspec.Struct, array_like=True):
    """All chunks of a document in the store, in order."""

    doc_id: str
    chunks: list[_StoredChunk]


_PACK = msgspec.msgpack.Encoder()
_UNPACK = msgspec.msgpack.Decoder(_StoredChunks)


def pack_chunks(doc_id: str, chunks: Sequence[Chunk]) -> bytes:
    """Encode all chunks of a document for the store."""
    rows = [
        _StoredChunk(
            pack_chunk_id(chunk.chunk_id),
            chunk.text,
            chunk.tokens,
            chunk.start,
            chunk.end,
            chunk.section_path,
            chunk.pages,
            chunk.refs,
        )
        for chunk in chunks
    ]
    return _PACK.encode(_StoredChunks(doc_id, rows))


def unpack_chunks(content: bytes) -> list[Chunk]:
    """The inverse of `pack_chunks`."""
    stored = _UNPACK.decode(content)
    return [
        Chunk(
            chunk_id=format_chunk_id(row.id),
            doc_id=stored.doc_id,
            number=number,
            text=row.text,
            tokens=row.tokens,
            start=row.start,
            end=row.end,
            section_path=row.section_path,
            pages=row.pages,
            refs=row.refs,
        )
        for number, row in enumerate(stored.chunks)
    ]


def write_chunks(file: io.BytesIO, chunks: Sequence[Chunk], cfg_hash: str) -> None:
    """Write all chunks of a document, in order, as a Parquet file."""
    import pyarrow as pa

    from inorder.documents.parquet import make_schema, write_table

    fields = make_chunk_fields()
    footer = {"schema": "inorder.chunks", "schema_version": str(SCHEMA_VERSION), "cfg_hash": cfg_hash}
    columns = {name: [getattr(chunk, name) for chunk in chunks] for name, _ in fields}
    write_table(file, pa.table(columns, schema=make_schema(fields, footer)))


def make_chunk_fields() -> list[tuple[str, Any]]:
    """The columns of a table of chunks."""
    import pyarrow as pa

    text, numbers = pa.string(), pa.int64()
    return [
        ("chunk_id", text),
        ("doc_id", text),
        ("number", pa.int32()),
        ("text", text),
        ("tokens", pa.int32()),
        ("start", numbers),
        ("end", numbers),
        ("section_path", pa.list_(text)),
        ("pages", pa.list_(pa.int32())),
        ("refs", pa.list_(text)),
    ]


def read_chunks(source: Input) -> list[Chunk]:
    """Read all chunks of a document from the store, in order."""
    return unpack_chunks(read_content(source))


def read_texts(source: Input) -> tuple[list[str], list[str]]:
    """Read only the ids and texts of the chunks."""
    rows = _UNPACK.decode(read_content(source)).chunks
    return [format_chunk_id(row.id) for row in rows], [row.text for row in rows]
