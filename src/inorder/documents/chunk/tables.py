"""The chunks of a document as a Parquet file, and the columns of a table of chunks."""

import io
from collections.abc import Sequence
from typing import Any

from .chunks import SCHEMA_VERSION, Chunk


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
