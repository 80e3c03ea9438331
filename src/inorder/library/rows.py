"""What a visit of a file hands to the library: one struct, from the worker that made it to the rows.

A worker makes a `FileResult`, with everything compressed and counted, so that the process that writes the library only
stores it. `encode_result` and `decode_result` are its form in a result log, and on the way to another process.
"""

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec

from inorder.files.surrogates import escape_fields, restore_fields
from inorder.index.calls import PackedCalls, pack_calls
from inorder.index.lexical.file_terms import FileTerms
from inorder.index.rows import DOCUMENT, ChunkRow, FileRows, ImportRow, SymbolRow, count_terms, hash_rows

from .codec import Content, TextBlock, pack_content, pack_texts, unpack_content, unpack_texts
from .totals import FamilySummary, count_norms

CHUNK, INDEX, DENSE, SPARSE = "chunk", "index", "embed:dense", "embed:sparse"
"""The steps that the library knows: that whose texts are those of the chunks, that whose result is rows, and those
whose results belong to chunks. Dense vectors are searched."""
HASH_BYTES = 16


WARNINGS = "warnings"
"""The name of a list in the extras of a step: what a user should know about how a file was read."""


class LibrarySource(NamedTuple):
    """A folder, file or address that files come from."""

    name: str
    path: str
    kind: str = "folder"
    state: str = ""
    added_at: float = 0.0
    walked_at: float = 0.0


class FileIdentity(msgspec.Struct, array_like=True):
    """What is known of a file itself."""

    item_id: str
    """The name of its source and the path below it. It never changes."""
    kind: str = ""
    """`document`, `code`, `archive` and so on; empty: it is of no kind that is read."""
    path: str = ""
    """Where it lies; empty: it follows from its source and its id."""
    signature: bytes = b""
    """Of its stat; empty: it cannot be trusted to notice a change."""
    sha256: bytes = b""
    """Of its content, 32 bytes; empty: it was not read."""
    size: int = 0
    reason: str = ""
    """Why it is not read; empty: it is."""
    copy_of: str = ""
    """The id of the file that it is a copy of; empty: it is none."""
    parent: str = ""
    """The id of the file that it is a member or a part of; empty: it is a file of its own."""
    pages_without_text: int = 0
    """Pages of the document in which no text was found."""

    @property
    def has_results(self) -> bool:
        """Whether it is a file that steps work on."""
        return not self.reason and not self.copy_of


class StepResult(msgspec.Struct, array_like=True):
    """What one step made of the file."""

    step: str
    settings: str
    """The hash of its settings: see `LibrarySink.add_settings`."""
    input: bytes
    """The hash of what it was made of."""
    output: bytes
    """The hash of what it is. If it is that of the present result, the present result stays."""
    content: Content | None = None
    """What it is; None: the library keeps nothing of it, or rows."""
    texts: list[TextBlock] = []
    """The texts of the chunks, for the step `chunk`: they are not part of its content."""
    summary: FamilySummary | None = None
    """What it contributes to the statistics of its family."""
    duration_ms: float = 0.0
    extras: dict[str, Any] = {}
    """For the manifest."""


class StepFailure(msgspec.Struct, array_like=True):
    """Why a step made nothing."""

    step: str
    settings: str
    input: bytes
    category: str
    message: str
    detail: str = ""
    """The traceback, bounded."""
    attempts: int = 1
    is_outside: bool = False
    """Whether a server or the machine has failed: the file is not to blame, and keeps what it has."""
    removes: list[str] = []
    """The steps after it, which have nothing to work on. They lose their results, unless `is_outside`."""
    duration_ms: float = 0.0


class SearchRows(msgspec.Struct, array_like=True):
    """What a file owns in the index, as the library stores it: the result of the step `index`. The texts of its chunks
    are those of the step `chunk`, or its own."""

    kind: str
    language: str
    lines: int
    note: str
    digest: str
    chunks: list[ChunkRow]
    """Without their texts."""
    terms: FileTerms
    texts: list[TextBlock] = []
    """Of a file that has no step `chunk`."""
    symbols: list[SymbolRow] = []
    imports: list[ImportRow] = []
    calls: PackedCalls | None = None


class FileResult(msgspec.Struct, array_like=True):
    """What a visit made of a file, and what is known of the file.

    A file that is not read, or is a copy, has no results, and loses those that it had.
    """

    file: FileIdentity
    steps: list[StepResult] = []
    """Those that ran and have made something, in the order in which they ran."""
    rows: SearchRows | None = None
    """If the step `index` ran."""
    failure: StepFailure | None = None
    """If a step failed. The steps before it are in `steps`."""
    is_removed: bool = False
    """Whether the file is gone. It loses everything."""
    is_held: bool = False
    """Whether it becomes visible only when the pass is complete: its settings have changed, and it is visible now."""
    drops: list[str] = []
    """Steps whose results it loses, because no run makes them any more."""


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(FileResult)


def encode_result(result: FileResult) -> bytes:
    """Encode a result."""
    try:
        return _ENCODER.encode(result)
    except UnicodeEncodeError:
        return _ENCODER.encode(escape_path(result))


def decode_result(data: bytes) -> FileResult:
    """Decode a result. Raises msgspec.DecodeError for other data."""
    return restore_path(_DECODER.decode(data))


def escape_path(result: FileResult) -> FileResult:
    """Return a result that can be encoded, although the path of its file is not valid Unicode."""
    return msgspec.structs.replace(result, file=escape_fields(result.file))


def restore_path(result: FileResult) -> FileResult:
    """Return the result that `escape_path` was called with, or one that was not escaped as it is."""
    result.file = restore_fields(result.file, result.file.path)
    return result


def hash_content(content: bytes) -> bytes:
    """Return the hash of the output of a step."""
    return blake2b(content, digest_size=HASH_BYTES).digest()


def hash_step(content: bytes, texts: Sequence[str] = ()) -> bytes:
    """Return the hash of the output of a step whose chunks have these texts."""
    return hash_content(_ENCODER.encode((content, texts)) if texts else content)


def make_step_result(
    step: str,
    settings: str,
    input_hash: bytes,
    content: bytes,
    *,
    texts: Sequence[str] = (),
    summary: FamilySummary | None = None,
    duration_ms: float = 0.0,
    extras: Mapping[str, Any] | None = None,
) -> StepResult:
    """Return what a step made, ready to be stored. Its output hash covers the content and the texts."""
    output = hash_step(content, texts)
    packed, blocks = pack_content(content), pack_texts(texts)
    return StepResult(step, settings, input_hash, output, packed, blocks, summary, duration_ms, dict(extras or {}))


def read_step_content(made: StepResult) -> bytes:
    """Return the content of a result. Raises IntegrityError if it is not what was stored."""
    return b"" if made.content is None else unpack_content(made.content)


def read_step_texts(made: StepResult) -> list[str]:
    """Return the texts of the chunks of a result. Raises IntegrityError if they are not what was stored."""
    return [text for block in made.texts for text in unpack_texts(block.data, block.checksum)]


def pack_rows(rows: FileRows) -> SearchRows:
    """Return the rows of a file as the library stores them, with their terms counted and their digest computed.
    The texts of a document come with the step `chunk`."""
    packed = pack_calls(rows.calls)
    return SearchRows(
        kind=rows.kind,
        language=rows.language,
        lines=rows.lines,
        note=rows.note,
        digest=hash_rows(rows),
        chunks=[msgspec.structs.replace(chunk, text="") for chunk in rows.chunks],
        terms=count_terms(rows),
        texts=pack_texts([chunk.text for chunk in rows.chunks]) if rows.kind != DOCUMENT else [],
        symbols=rows.symbols,
        imports=rows.imports,
        calls=packed if packed.data else None,
    )


class StoredVectors(msgspec.Struct, array_like=True):
    """The dense vectors of the chunks of a file, one for each, in their order."""

    provider: str
    spec: str
    """How to open the provider again, to embed a question."""
    width: int
    vectors: bytes
    """32-bit floats in little-endian order."""

    @property
    def count(self) -> int:
        """The number of vectors."""
        return len(self.vectors) // (4 * self.width) if self.width else 0


_DENSE_DECODER = msgspec.msgpack.Decoder(StoredVectors)


def make_dense_result(
    settings: str,
    input_hash: bytes,
    vectors: StoredVectors,
    norms: Sequence[float],
    *,
    duration_ms: float = 0.0,
    extras: Mapping[str, Any] | None = None,
) -> StepResult:
    """Return the dense vectors of a file, ready to be stored, and their lengths. Floats are not compressed: it gains
    nothing."""
    content = _ENCODER.encode(vectors)
    packed = pack_content(content, is_compressible=False)
    output = hash_content(content)
    summary = summarize_dense(vectors, norms)
    return StepResult(DENSE, settings, input_hash, output, packed, [], summary, duration_ms, dict(extras or {}))


def summarize_dense(vectors: StoredVectors, norms: Sequence[float]) -> FamilySummary:
    """Return what dense vectors contribute to the statistics of their family. `norms` are their lengths."""
    return FamilySummary(vectors.count, vectors.width, vectors.spec, count_norms(norms))


def unpack_dense(stored: Content) -> StoredVectors:
    """Return dense vectors as they were stored. Raises IntegrityError if they are not what was stored."""
    return decode_dense(unpack_content(stored))


def decode_dense(content: bytes) -> StoredVectors:
    """Decode dense vectors. Raises msgspec.DecodeError for other content."""
    return _DENSE_DECODER.decode(content)
