"""Loads the results of DATA from its library."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec

from inorder.documents.chunk.chunks import Chunk
from inorder.documents.convert.stored import StoredDocument, unpack_document
from inorder.documents.embed.providers.base import Matrix, SparseVector
from inorder.errors import IntegrityError
from inorder.library import values
from inorder.library.rows import CHUNK, DENSE, SPARSE, decode_dense
from inorder.library.snapshots import GenerationReader, ResultContent

_DECODE_ERRORS = (msgspec.MsgspecError, ValueError, KeyError, TypeError)


class ListedResult(NamedTuple):
    """A result that is not loaded."""

    doc_id: str
    size: int
    sha256: str


class LoadedResult(NamedTuple):
    """A result, decoded."""

    doc_id: str
    sha256: str
    """Of the content. Equal hashes mean equal results."""
    input_sha256: str
    cfg_hash: str
    value: Any
    """What the kind of result is decoded to."""


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


class ResultFormat(NamedTuple):
    """A kind of results."""

    step: str
    """The step that makes them."""
    decode: Callable[[GenerationReader, ResultContent], Any]
    """Decodes the content; None: it does not belong to what is there."""


class LibraryResults:
    """The results of one kind in a library, by their doc ids."""

    def __init__(self, generation: GenerationReader, format_: ResultFormat) -> None:
        self._generation = generation
        self._format = format_

    def iterate(self, after: str = "") -> Iterator[ListedResult]:
        """The results in the order of their doc ids, those that follow `after`."""
        for found in self._generation.list_results(self._format.step, after):
            yield ListedResult(found.item_id, found.size, found.output)

    def read_version(self) -> object:
        """The generation, and how many of its results are still there."""
        return self._generation.epoch, self._generation.count(self._format.step)

    def has(self, doc_id: str) -> bool:
        """Whether there is a result for a document."""
        return self._generation.has(self._format.step, doc_id)

    def load(self, doc_id: str) -> LoadedResult | None:
        """Load a result; None: there is none, or a later generation has replaced it. Raises IntegrityError if it is
        damaged."""
        found = self._generation.read(self._format.step, doc_id)
        if found is None:
            return None
        try:
            value = self._format.decode(self._generation, found)
        except _DECODE_ERRORS as error:
            raise IntegrityError(f"the result {doc_id!r} of {self._format.step} is damaged: {error}") from error
        if value is None:
            return None
        return LoadedResult(doc_id, found.output.hex(), found.sha256, found.settings, value)


def _decode_document(generation: GenerationReader, found: ResultContent) -> StoredDocument:
    return unpack_document(found.content)


def _decode_chunks(generation: GenerationReader, found: ResultContent) -> list[Chunk]:
    return values.unpack_chunk_rows(found.item_id, found.content, found.texts)


def _find_chunk_ids(generation: GenerationReader, vectors: ResultContent) -> list[str] | None:
    """The ids of the chunks that vectors were made of; None: these chunks are not there any more."""
    chunks = generation.read(CHUNK, vectors.item_id)
    if chunks is None or chunks.output != vectors.input:
        return None
    return values.unpack_chunk_ids(chunks.content)


def _decode_dense(generation: GenerationReader, found: ResultContent) -> DenseVectors | None:
    import numpy as np

    ids = _find_chunk_ids(generation, found)
    if ids is None:
        return None
    stored = decode_dense(found.content)
    matrix = np.frombuffer(stored.vectors, "<f4").reshape(len(ids), stored.width)
    return DenseVectors(ids, matrix, stored.provider, stored.spec)


def _decode_sparse(generation: GenerationReader, found: ResultContent) -> SparseRows | None:
    import numpy as np

    ids = _find_chunk_ids(generation, found)
    if ids is None:
        return None
    stored = values.unpack_sparse(found.content)
    indices, weights = np.frombuffer(stored.indices, "<i4"), np.frombuffer(stored.weights, "<f4")
    ends = np.cumsum([0, *stored.counts]).tolist()
    vectors = [(indices[start:end], weights[start:end]) for start, end in pairwise(ends)]
    if len(vectors) != len(ids):
        raise ValueError(f"it has {len(vectors)} vectors for {len(ids)} chunks")
    return SparseRows(ids, vectors, stored.provider, stored.vocabulary)


DOCUMENT_FORMAT = ResultFormat("doctags", _decode_document)
CHUNK_FORMAT = ResultFormat(CHUNK, _decode_chunks)
DENSE_FORMAT = ResultFormat(DENSE, _decode_dense)
SPARSE_FORMAT = ResultFormat(SPARSE, _decode_sparse)
