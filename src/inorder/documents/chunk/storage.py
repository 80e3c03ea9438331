"""Write and read chunk files, in Parquet or JSON lines."""

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from inorder.documents.layout import CHUNK_SUFFIXES
from inorder.stage.store.inputs import Input
from inorder.stage.store.reading import is_stored, read_content

from .chunks import SCHEMA_VERSION, Chunk, format_chunk_id, pack_chunk_id

_LINE = msgspec.json.Decoder(Chunk)


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


def write_chunks(path: Path | io.BytesIO, format_: str, chunks: Sequence[Chunk], cfg_hash: str) -> dict[str, Any]:
    """Write all chunks of a document, in order. Returns the format and the size of the file, for the manifest."""
    if format_ == "jsonl":
        head = {"schema": "inorder.chunks", "schema_version": SCHEMA_VERSION, "cfg_hash": cfg_hash}
        lines = msgspec.json.Encoder().encode_lines([head, *chunks])
        _ = path.write(lines) if isinstance(path, io.BytesIO) else path.write_bytes(lines)
        return {"chunks_format": format_, "row_group_count": None, "parquet_bytes": None}
    import pyarrow as pa

    from inorder.documents.parquet import make_schema, write_table

    fields = make_chunk_fields()
    footer = {"schema": "inorder.chunks", "schema_version": str(SCHEMA_VERSION), "cfg_hash": cfg_hash}
    columns = {name: [getattr(chunk, name) for chunk in chunks] for name, _ in fields}
    written = write_table(path, pa.table(columns, schema=make_schema(fields, footer)))
    return {"chunks_format": format_, **written._asdict()}


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
    """Read all chunks of a document, in order: from a file or from the store."""
    if is_stored(source):
        return unpack_chunks(read_content(source))
    path = Path(source)
    if path.name.endswith(CHUNK_SUFFIXES["jsonl"]):
        return list(_read_lines(path))
    from inorder.documents.parquet import read_table

    return [Chunk(**row) for row in read_table(path).to_pylist()]


def read_texts(source: Input) -> tuple[list[str], list[str]]:
    """Read only the ids and texts of the chunks."""
    if is_stored(source):
        rows = _UNPACK.decode(read_content(source)).chunks
        return [format_chunk_id(row.id) for row in rows], [row.text for row in rows]
    path = Path(source)
    if path.name.endswith(CHUNK_SUFFIXES["jsonl"]):
        chunks = list(_read_lines(path))
        return [chunk.chunk_id for chunk in chunks], [chunk.text for chunk in chunks]
    from inorder.documents.parquet import read_table

    table = read_table(path, "chunk_id", "text")
    return table["chunk_id"].to_pylist(), table["text"].to_pylist()


def _read_lines(path: Path) -> Iterator[Chunk]:
    with path.open("rb") as file:
        next(file, None)
        for line in file:
            yield _LINE.decode(line)
