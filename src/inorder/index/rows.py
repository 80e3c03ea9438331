"""Everything that one file owns in the index, as a worker sends it to the database."""

from hashlib import blake2b
from typing import Any

import msgspec

from inorder.code.model import CallSite, FileCalls

from .calls import PackedCalls, pack_calls
from .lexical.file_terms import FileTerms

DOCUMENT, CODE = "document", "code"
LANGUAGE_CHUNKS = 16
"""The language of a document is detected from its first chunks."""


class ChunkRow(msgspec.Struct, array_like=True, gc=False):
    """A searchable piece of text."""

    chunk_id: str
    kind: str
    name: str
    """Name of the definition; empty for a chunk of a document."""
    context: str
    """The words of the file's path; for a document, after the titles of the enclosing sections."""
    start: int
    end: int
    """Lines of source code, or characters of a document."""
    pages: str
    """The pages of a document that the chunk is on, separated by spaces."""
    text: str


class SymbolRow(msgspec.Struct, array_like=True, gc=False):
    """A definition."""

    name: str
    qualified: str
    kind: str
    start: int
    end: int
    signature: str


class ImportRow(msgspec.Struct, array_like=True, gc=False):
    """An import statement."""

    module: str
    names: str
    line: int


class FileRows(msgspec.Struct, kw_only=True):
    """A file and everything that it owns."""

    item_id: str
    kind: str
    path: str
    language: str
    """The programming language, or the ISO 639-1 code of the language of a document; empty if it is not known."""
    lines: int
    note: str
    sha256: str
    cfg_hash: str
    chunks: list[ChunkRow] = []
    terms: FileTerms | None = None
    """The terms of the chunks. They follow from the chunks, so they are not part of the digest."""
    digest: str = ""
    """The digest of all other fields but the path, the terms and the packed calls."""
    symbols: list[SymbolRow] = []
    imports: list[ImportRow] = []
    calls: list[CallSite] = []
    packed_calls: PackedCalls | None = None
    """The calls as they are stored. They take the place of the calls on the way from a worker to the database."""


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(FileRows)


def complete_rows(rows: FileRows, calls: FileCalls | None = None) -> FileRows:
    """Count the terms of the chunks of a file, and pack its calls, as a database takes them. `calls` are those of the
    file if they are not in its rows."""
    return msgspec.structs.replace(
        rows,
        terms=count_terms(rows),
        digest=hash_rows(rows, calls),
        packed_calls=PackedCalls(calls.groups, calls.callees) if calls else pack_calls(rows.calls),
        calls=[],
    )


def encode_rows(rows: FileRows, calls: FileCalls | None = None) -> bytes:
    """Complete and encode the rows of a file, for the transfer from a worker to the database."""
    return _ENCODER.encode(complete_rows(rows, calls))


def decode_rows(data: bytes) -> FileRows:
    """The inverse of `encode_rows`."""
    return _DECODER.decode(data)


def count_terms(rows: FileRows) -> FileTerms:
    """The terms of the chunks."""
    from .lexical.terms import count_file_terms  # which those who only read rows do not need

    language = rows.language if rows.kind == DOCUMENT else None
    return count_file_terms(((chunk.text, chunk.name, chunk.context) for chunk in rows.chunks), language)


def hash_rows(rows: FileRows, calls: FileCalls | None = None) -> str:
    """A digest of the file and of everything that it owns. The path on disk is not part of it. `calls` are those of the
    file if they are not in its rows."""
    fields: list[Any] = [rows.item_id, rows.kind, rows.language, rows.lines, rows.note, rows.sha256, rows.cfg_hash]
    fields += [rows.chunks, rows.symbols, rows.imports, msgspec.Raw(calls.rows) if calls else rows.calls]
    return blake2b(_ENCODER.encode(fields), digest_size=16).hexdigest()
