"""How the vectors of one document in one family are encoded in the store."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import msgspec
import numpy as np

from inorder.documents.chunk.chunks import format_chunk_id, pack_chunk_id
from inorder.stage.store.inputs import Input
from inorder.stage.store.reading import read_content, read_many

from .providers.base import Matrix, SparseVector

_ID_BYTES = 16


class _Dense(msgspec.Struct, array_like=True):
    provider: str
    spec: str
    width: int
    ids: bytes
    vectors: bytes


class _Sparse(msgspec.Struct, array_like=True):
    provider: str
    vocabulary: int
    ids: bytes
    counts: list[int]
    indices: bytes
    weights: bytes


class DenseVectors(NamedTuple):
    """The dense vectors of a document."""

    ids: list[str]
    matrix: Matrix
    provider: str
    spec: str


class SparseRows(NamedTuple):
    """The sparse vectors of a document."""

    ids: list[str]
    vectors: list[SparseVector]
    provider: str
    vocabulary: int
    """The size of the vocabulary of the provider."""


class SparseSizes(NamedTuple):
    """For each chunk, the number of its terms and the length of its vector."""

    counts: list[int]
    norms: list[float]
    provider: str


_PACK = msgspec.msgpack.Encoder()
_UNPACK_DENSE = msgspec.msgpack.Decoder(_Dense)
_UNPACK_SPARSE = msgspec.msgpack.Decoder(_Sparse)


def pack_dense(ids: Sequence[str], vectors: Matrix, provider: str, spec: str) -> bytes:
    """Encode one vector per chunk. `spec` is how to open the provider again, to embed queries."""
    content = np.ascontiguousarray(vectors, dtype="<f4").tobytes()
    return _PACK.encode(_Dense(provider, spec, vectors.shape[1], _pack_ids(ids), content))


def pack_sparse(ids: Sequence[str], vectors: Sequence[SparseVector], provider: str, vocabulary: int) -> bytes:
    """Encode the terms with a weight above 0 of each chunk, and their weights."""
    indices = b"".join(np.asarray(each, "<i4").tobytes() for each, _ in vectors)
    weights = b"".join(np.asarray(each, "<f4").tobytes() for _, each in vectors)
    counts = [len(each) for each, _ in vectors]
    return _PACK.encode(_Sparse(provider, vocabulary, _pack_ids(ids), counts, indices, weights))


def load_dense(source: Input) -> DenseVectors:
    """The dense vectors of a document."""
    return unpack_dense(read_content(source))


def load_dense_tables(sources: Sequence[Input]) -> Iterator[DenseVectors]:
    """The dense vectors of documents. They are read at once: they should not be too many."""
    return map(unpack_dense, read_many(sources))


def unpack_dense(content: bytes) -> DenseVectors:
    """The inverse of `pack_dense`. The matrix shares the memory of the content."""
    found = _UNPACK_DENSE.decode(content)
    matrix: Matrix = np.frombuffer(found.vectors, "<f4").reshape(-1, found.width)
    return DenseVectors(_unpack_ids(found.ids), matrix, found.provider, found.spec)


def unpack_sparse(content: bytes) -> SparseRows:
    """The inverse of `pack_sparse`."""
    found = _UNPACK_SPARSE.decode(content)
    indices, weights = np.frombuffer(found.indices, "<i4"), np.frombuffer(found.weights, "<f4")
    ends = np.cumsum([0, *found.counts]).tolist()
    vectors = [(indices[start:end], weights[start:end]) for start, end in pairwise(ends)]
    return SparseRows(_unpack_ids(found.ids), vectors, found.provider, found.vocabulary)


def load_sparse_sizes(source: Input) -> SparseSizes:
    """How large the sparse vectors of a document are."""
    _, vectors, provider, _ = unpack_sparse(read_content(source))
    norms = [float(np.linalg.norm(weights.astype(np.float64))) for _, weights in vectors]
    return SparseSizes([len(indices) for indices, _ in vectors], norms, provider)


def _pack_ids(ids: Sequence[str]) -> bytes:
    return b"".join(map(pack_chunk_id, ids))


def _unpack_ids(packed: bytes) -> list[str]:
    return [format_chunk_id(packed[at : at + _ID_BYTES]) for at in range(0, len(packed), _ID_BYTES)]
