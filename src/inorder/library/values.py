"""How the values between steps are stored: chunks and vectors. A document is stored as `convert` returns it."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec

from inorder.documents.chunk.chunks import Chunk, ChunkCode, ChunkLink, format_chunk_id, pack_chunk_id
from inorder.documents.embed.step import measure, summarize

from .rows import SPARSE, StepResult, StoredVectors, make_dense_result, make_step_result
from .totals import FamilySummary, count_norms


class _ChunkRow(msgspec.Struct, array_like=True, gc=False):
    """A chunk without its text."""

    id: bytes
    tokens: int
    start: int
    end: int
    section_path: list[str]
    pages: list[int]
    refs: list[str]
    links: list[ChunkLink] = []
    code: list[ChunkCode] = []


class SparseVectors(msgspec.Struct, array_like=True):
    """The sparse vectors of the chunks of a file, in their order."""

    provider: str
    vocabulary: int
    counts: list[int]
    """The number of terms of each."""
    indices: bytes
    """32-bit integers in little-endian order."""
    weights: bytes
    """32-bit floats in little-endian order."""


_PACK = msgspec.msgpack.Encoder()
_UNPACK = msgspec.msgpack.Decoder(list[_ChunkRow])
_UNPACK_SPARSE = msgspec.msgpack.Decoder(SparseVectors)


def pack_chunk_rows(chunks: Sequence[Chunk]) -> tuple[bytes, list[str]]:
    """Return chunks without their texts, and the texts."""
    rows = [
        _ChunkRow(
            pack_chunk_id(each.chunk_id),
            each.tokens,
            each.start,
            each.end,
            each.section_path,
            each.pages,
            each.refs,
            each.links,
            each.code,
        )
        for each in chunks
    ]
    return _PACK.encode(rows), [each.text for each in chunks]


def unpack_chunk_rows(doc_id: str, rows: bytes, texts: Sequence[str]) -> list[Chunk]:
    """Return the chunks of a document. The inverse of `pack_chunk_rows`."""
    return [
        Chunk(
            chunk_id=format_chunk_id(row.id),
            doc_id=doc_id,
            number=number,
            text=text,
            tokens=row.tokens,
            start=row.start,
            end=row.end,
            section_path=row.section_path,
            pages=row.pages,
            refs=row.refs,
            links=row.links,
            code=row.code,
        )
        for number, (row, text) in enumerate(zip(_UNPACK.decode(rows), texts, strict=True))
    ]


def unpack_chunk_ids(rows: bytes) -> list[str]:
    """Return the ids of the chunks of a document."""
    return [format_chunk_id(row.id) for row in _UNPACK.decode(rows)]


def unpack_sparse(content: bytes) -> SparseVectors:
    """Return the sparse vectors of a file, as `pack_vectors` has stored them."""
    return _UNPACK_SPARSE.decode(content)


def pack_vectors(family: str, settings: str, input_hash: bytes, vectors: Any, provider: Any, spec: str) -> StepResult:
    """Return the vectors of a file in one family as the library stores them."""
    import numpy as np

    norms = measure(family, vectors)
    extras = summarize(family, vectors, provider, norms)
    if family == "dense":
        content = np.ascontiguousarray(vectors, dtype="<f4").tobytes()
        return make_dense_result(
            settings,
            input_hash,
            StoredVectors(provider.name, spec, vectors.shape[1], content),
            norms,
            extras=extras,
        )
    counts = [len(indices) for indices, _ in vectors]
    stored = SparseVectors(
        provider.name,
        provider.vocabulary_size,
        counts,
        b"".join(np.asarray(indices, "<i4").tobytes() for indices, _ in vectors),
        b"".join(np.asarray(weights, "<f4").tobytes() for _, weights in vectors),
    )
    return make_step_result(
        SPARSE,
        settings,
        input_hash,
        _PACK.encode(stored),
        summary=FamilySummary(len(counts), 0, provider.name, count_norms(norms), dict(Counter(counts))),
        extras=extras,
    )
