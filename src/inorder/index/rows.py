"""What a file owns in the index, as it travels from a worker to the database."""

from hashlib import blake2b
from typing import Any

import msgspec

DOCUMENT, CODE = "document", "code"


class ChunkRow(msgspec.Struct, array_like=True, gc=False):
    """Text that can be found."""

    chunk_id: str
    kind: str
    name: str
    """Of the definition; of a document's chunk empty."""
    context: str
    """What it lies in: enclosing definitions, or titles of sections; and the path, in words."""
    start: int
    end: int
    """Lines of source; characters of a document."""
    words: str
    """Parts of identifiers, so that `retryCount` is found by "retry"."""
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
    """What a file takes from elsewhere."""

    module: str
    names: str
    line: int


class CallRow(msgspec.Struct, array_like=True, gc=False):
    """Who calls what."""

    caller: str
    callee: str
    line: int
    column: int


class FileRows(msgspec.Struct, kw_only=True):
    """Everything that one file owns."""

    item_id: str
    kind: str
    path: str
    language: str
    lines: int
    note: str
    sha256: str
    cfg_hash: str
    chunks: list[ChunkRow] = []
    symbols: list[SymbolRow] = []
    imports: list[ImportRow] = []
    calls: list[CallRow] = []


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(FileRows)


def packed(rows: FileRows) -> bytes:
    """For the way to the database."""
    return _ENCODER.encode(rows)


def unpacked(data: bytes) -> FileRows:
    """On the other side."""
    return _DECODER.decode(data)


def digest_of_rows(rows: FileRows) -> str:
    """Of everything that the file owns, and of what is known of the file itself; where it lies on the disk is not part
    of it."""
    said: list[Any] = [rows.item_id, rows.kind, rows.language, rows.lines, rows.note, rows.sha256, rows.cfg_hash]
    said += [rows.chunks, rows.symbols, rows.imports, rows.calls]
    return blake2b(_ENCODER.encode(said), digest_size=16).hexdigest()
