"""Rows in the binary format of COPY, made by workers: the server then parses no text, and the driver only passes them
on."""

import struct
from functools import lru_cache

import msgspec
import numpy as np

from inorder.index.lexical.file_terms import LENGTH_TYPE, NUMBER_TYPE
from inorder.index.lexical.terms import count_file_terms
from inorder.index.query import replace_surrogates
from inorder.index.rows import DOCUMENT
from inorder.targets.base import ExportedChunk, ExportedDocument

HEADER = b"PGCOPY\n\xff\r\n\0" + struct.pack(">ii", 0, 0)
TRAILER = struct.pack(">h", -1)
DOCUMENT_COLUMNS = ("doc_id", "hash", "kind", "language", "lines", "chunks", "body_terms", "head_terms")
CHUNK_COLUMNS = (
    "doc_id",
    "number",
    "chunk_id",
    "kind",
    "name",
    "headings",
    "context",
    "start_at",
    "end_at",
    "pages",
    "text",
    "metadata",
)
"""Followed by `embedding`, if the table has it."""
TERM_COLUMNS = ("doc_id", "number", "body_length", "head_length", "terms", "counts")
HEAD_UNIT = 256
"""A number in `counts` is how often a term is in the text, plus this many times how often it is in the headings."""
_TERMS_MAX = 2**16
"""Encoded terms that a worker keeps."""
_NULL = struct.pack(">i", -1)
_INTEGER, _TEXT = 23, 25
"""Object ids of the types `integer` and `text`."""
_LENGTHS = struct.Struct(">i")
_UUID_LENGTH = _LENGTHS.pack(16)
_pack_integer = struct.Struct(">ii").pack
_pack_bigint = struct.Struct(">iq").pack
_INTEGER_ELEMENT = np.dtype([("size", ">i4"), ("value", ">i4")])


class EncodedDocument(msgspec.Struct, array_like=True, gc=False):
    """The rows of a document in each table."""

    document: bytes
    chunks: bytes
    terms: bytes
    has_vectors: bool
    """Whether the rows of `chunks` have the column `embedding`, which may be NULL."""


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(EncodedDocument)


def encode_rows(document: ExportedDocument) -> bytes:
    """The rows of a document."""
    doc_id = _pack_text(document.doc_id)
    terms, body, head = _pack_terms(document, doc_id)
    row = [
        struct.pack(">h", len(DOCUMENT_COLUMNS)),
        doc_id,
        *map(_pack_text, (document.hash, document.kind, document.language)),
        _pack_integer(4, document.lines),
        _pack_integer(4, len(document.chunks)),
        _pack_bigint(8, body),
        _pack_bigint(8, head),
    ]
    has_vectors = any(chunk.vector for chunk in document.chunks)
    chunks = [_pack_chunk(document, doc_id, chunk, has_vectors) for chunk in document.chunks]
    return _ENCODER.encode(EncodedDocument(b"".join(row), b"".join(chunks), terms, has_vectors))


def decode_rows(data: bytes) -> EncodedDocument:
    """The inverse of `encode_rows`, up to the rows themselves."""
    return _DECODER.decode(data)


def _pack_chunk(document: ExportedDocument, doc_id: bytes, chunk: ExportedChunk, has_vectors: bool) -> bytes:
    metadata = {
        "doc_id": document.doc_id,
        "kind": chunk.kind,
        "language": document.language,
        "source": document.kind,
        "headings": chunk.headings,
        "symbol": chunk.name,
        "pages": chunk.pages,
        "start": chunk.start,
        "end": chunk.end,
    }
    parts = [
        struct.pack(">h", len(CHUNK_COLUMNS) + has_vectors),
        doc_id,
        _pack_integer(4, chunk.number),
        _UUID_LENGTH + bytes.fromhex(chunk.chunk_id.replace("-", "")),
        *map(_pack_text, (chunk.kind, chunk.name, chunk.headings, chunk.context)),
        _pack_integer(4, chunk.start),
        _pack_integer(4, chunk.end),
        _pack_array(_INTEGER, len(chunk.pages), b"".join([_pack_integer(4, page) for page in chunk.pages])),
        _pack_text(chunk.text),
        _pack_json(metadata),
    ]
    if has_vectors:
        parts.append(_pack_vector(chunk.vector))
    return b"".join(parts)


def _pack_terms(document: ExportedDocument, doc_id: bytes) -> tuple[bytes, int, int]:
    """The rows of `terms`, and the sums of the lengths of texts and headings. The terms of a chunk are sorted, so that
    the same document has the same rows."""
    language = document.language if document.kind == DOCUMENT else None
    found = count_file_terms(((chunk.text, chunk.name, chunk.context) for chunk in document.chunks), language)
    names = found.vocabulary.split(" ")
    order = sorted(range(len(names)), key=names.__getitem__)
    vocabulary = [_pack_term(names[number]) for number in order]
    ranks = np.empty(len(names), np.int64)
    ranks[order] = np.arange(len(names))
    sizes, terms = np.frombuffer(found.sizes, NUMBER_TYPE), ranks[np.frombuffer(found.terms, NUMBER_TYPE)]
    sorting = np.argsort(np.repeat(np.arange(len(sizes)), sizes) * len(names) + terms)
    counts = np.frombuffer(found.body, np.uint8) + HEAD_UNIT * np.frombuffer(found.head, np.uint8).astype(np.int64)
    body, head = (np.frombuffer(each, LENGTH_TYPE) for each in (found.body_lengths, found.head_lengths))
    ends = np.cumsum(sizes).tolist()
    numbers, elements = terms[sorting].tolist(), _pack_elements(counts[sorting])
    size = _INTEGER_ELEMENT.itemsize
    rows, start = [], 0
    for chunk, end, body_length, head_length in zip(document.chunks, ends, body.tolist(), head.tolist(), strict=True):
        rows += [
            struct.pack(">h", len(TERM_COLUMNS)),
            doc_id,
            _pack_integer(4, chunk.number),
            _pack_integer(4, body_length),
            _pack_integer(4, head_length),
            _pack_array(_TEXT, end - start, b"".join([vocabulary[number] for number in numbers[start:end]])),
            _pack_array(_INTEGER, end - start, elements[size * start : size * end]),
        ]
        start = end
    return b"".join(rows), int(body.sum()), int(head.sum())


def _pack_text(text: str) -> bytes:
    """A value of type text, which has neither the character 0 nor a lone surrogate."""
    try:
        content = text.encode()
    except UnicodeEncodeError:
        content = replace_surrogates(text).encode()
    if b"\0" in content:
        content = content.replace(b"\0", "\ufffd".encode())
    return _LENGTHS.pack(len(content)) + content


_pack_term = lru_cache(_TERMS_MAX)(_pack_text)


def _pack_json(value: dict[str, object]) -> bytes:
    try:
        content = msgspec.json.encode(value)
    except UnicodeEncodeError:
        content = msgspec.json.encode(
            {name: replace_surrogates(each) if isinstance(each, str) else each for name, each in value.items()}
        )
    content = content.replace(b"\\u0000", b"\\ufffd")
    return _LENGTHS.pack(len(content) + 1) + b"\1" + content


def _pack_vector(vector: bytes) -> bytes:
    if not vector:
        return _NULL
    content = np.frombuffer(vector, "<f4").astype(">f4").tobytes()
    return _LENGTHS.pack(4 + len(content)) + struct.pack(">HH", len(content) // 4, 0) + content


def _pack_elements(values: "np.typing.NDArray[np.int64]") -> bytes:
    """Values as the elements of an array of integers."""
    elements = np.empty(len(values), _INTEGER_ELEMENT)
    elements["size"] = 4
    elements["value"] = values
    return elements.tobytes()


def _pack_array(type_id: int, count: int, elements: bytes) -> bytes:
    if not count:
        return _LENGTHS.pack(12) + struct.pack(">iii", 0, 0, type_id)
    return _LENGTHS.pack(20 + len(elements)) + struct.pack(">iiiii", 1, 0, type_id, count, 1) + elements
