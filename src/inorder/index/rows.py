"""Everything that one file owns in the index."""

from hashlib import blake2b
from typing import Any

import msgspec

from inorder.code.model import CallSite

from .lexical.file_terms import FileTerms
from .lexical.schema import ANALYSIS_VERSION

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
    language: str
    """The programming language, or the ISO 639-1 code of the language of a document; empty if it is not known."""
    lines: int
    note: str
    chunks: list[ChunkRow] = []
    symbols: list[SymbolRow] = []
    imports: list[ImportRow] = []
    calls: list[CallSite] = []


_ENCODER = msgspec.msgpack.Encoder()


def count_terms(rows: FileRows) -> FileTerms:
    """The terms of the chunks."""
    from .lexical.terms import count_file_terms  # which those who only read rows do not need

    language = rows.language if rows.kind == DOCUMENT else None
    return count_file_terms(((chunk.text, chunk.name, chunk.context) for chunk in rows.chunks), language)


def hash_rows(rows: FileRows) -> str:
    """A digest of the file and of everything that it owns. The terms are those that this version finds in its texts."""
    fields: list[Any] = [ANALYSIS_VERSION, rows.item_id, rows.kind, rows.language, rows.lines, rows.note]
    fields += [rows.chunks, rows.symbols, rows.imports, rows.calls]
    return blake2b(_ENCODER.encode(fields), digest_size=16).hexdigest()
