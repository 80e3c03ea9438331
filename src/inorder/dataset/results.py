"""Loads the results of DATA: from its library, or from the stores of the stages."""

import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import msgspec

from inorder.documents import copies
from inorder.documents.chunk.chunks import Chunk
from inorder.documents.chunk.storage import unpack_chunks
from inorder.documents.convert.stored import StoredDocument, unpack_document
from inorder.documents.embed.stored import DenseVectors, SparseRows, unpack_dense, unpack_sparse
from inorder.documents.layout import (
    CHUNK_RESULTS,
    DOCUMENT_RESULTS,
    Result,
    ResultKind,
    get_vector_kind,
    iterate_results,
)
from inorder.errors import IntegrityError
from inorder.host.paths import find_path_problem
from inorder.index.chunk_terms import IndexTerms
from inorder.library import values
from inorder.library.opening import find_index, has_library
from inorder.library.rows import CHUNK, DENSE, SPARSE, decode_dense
from inorder.library.snapshots import GenerationReader, ResultContent
from inorder.stage.store.database import StoreReader, store_path

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


class TableReader(Protocol):
    """The results that a table is made of, by their doc ids."""

    def iterate(self, after: str = "") -> Iterator[Any]:
        """What there is, in the order of doc ids; what follows `after`."""

    def list_results(self, after: str = "") -> Iterator[ListedResult]:
        """As `iterate`, with the hash of each result."""

    def read_version(self) -> object:
        """Another one after every change of what this reader shows."""

    def has(self, doc_id: str) -> bool:
        """Whether there is a result for a document."""

    def load(self, doc_id: str) -> Any:
        """Load a result as it is now; None: there is none. Raises IntegrityError if it is damaged."""


class ResultFormat(NamedTuple):
    """A kind of results, and how each form of them is decoded."""

    step: str
    """The step that makes them, in a library."""
    kind: ResultKind
    """Where they are without a library."""
    unpack: Callable[[bytes], Any]
    """Decodes the content of a store."""
    decode: Callable[[GenerationReader, ResultContent], Any]
    """Decodes the content of a library; None: it does not belong to what is there."""


class DataReader(Protocol):
    """DATA, for as long as one reader needs it."""

    @property
    def data(self) -> str:
        """The absolute path of DATA."""

    @property
    def terms(self) -> IndexTerms | None:
        """The terms of the index; None: there is no index."""

    def open(self, format_: ResultFormat) -> TableReader:
        """The results of one kind, of which there may be none."""

    def list_copies(self, originals: list[str] | None = None) -> list[tuple[str, str]]:
        """The id of each copy of these documents, or of all, and that of the document, in order."""

    def find_original(self, item_id: str) -> str | None:
        """The document that a file is a copy of; None: it is none."""

    def close(self) -> None:
        """Close everything. Idempotent."""


@contextmanager
def open_data(data: str) -> Iterator[DataReader]:
    """Open DATA: its library as it is now, or the stores as they change. Between two reads nothing is locked, so a run
    can write at any time."""
    with closing(LibraryData(data) if has_library(data) else StageData(data)) as reader:
        yield reader


class _IndexedData:
    """DATA and its index."""

    def __init__(self, data: str) -> None:
        self.data = data
        self._terms: IndexTerms | None = None

    @property
    def terms(self) -> IndexTerms | None:
        """The terms of the index; None: there is no index."""
        place = find_index(self.data)
        if self._terms is None and place.exists():
            self._terms = IndexTerms(place)
        return self._terms

    def close(self) -> None:
        """Close everything. Idempotent."""
        if self._terms is not None:
            self._terms.close()


class LibraryData(_IndexedData):
    """The results of a library, all of one generation."""

    def __init__(self, data: str) -> None:
        super().__init__(data)
        self._generation = GenerationReader(data)
        self.list_copies = self._generation.list_copies
        self.find_original = self._generation.find_original

    def close(self) -> None:
        """Close everything. Idempotent."""
        super().close()
        self._generation.close()

    def open(self, format_: ResultFormat) -> TableReader:
        """The results of one kind."""
        return LibraryResults(self._generation, format_)


class LibraryResults:
    """The results of one kind in a library."""

    def __init__(self, generation: GenerationReader, format_: ResultFormat) -> None:
        self._generation = generation
        self._format = format_

    def iterate(self, after: str = "") -> Iterator[ListedResult]:
        """The results in the order of their doc ids, those that follow `after`."""
        for found in self._generation.list_results(self._format.step, after):
            yield ListedResult(found.item_id, found.size, found.output)

    list_results = iterate

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


class StageData(_IndexedData):
    """The results of stages, in their stores."""

    def __init__(self, data: str) -> None:
        super().__init__(data)
        self._stores: dict[str, StoreReader] = {}

    def open(self, format_: ResultFormat) -> TableReader:
        """The results of one kind. The connection to their store is its own: a run in this process closes those that
        are shared."""
        path = store_path(self.data, format_.kind.stage)
        if path not in self._stores and os.path.exists(path):
            self._stores[path] = StoreReader(path)
        return StageResults(self.data, format_, self._stores.get(path))

    def list_copies(self, originals: list[str] | None = None) -> list[tuple[str, str]]:
        """The id of each copy of these documents, or of all, and that of the document, in order."""
        return copies.list_copies(self.data, originals)

    def find_original(self, item_id: str) -> str | None:
        """The document that a file is a copy of; None: it is none."""
        return copies.find_original(self.data, item_id)

    def close(self) -> None:
        """Close everything. Idempotent."""
        super().close()
        while self._stores:
            self._stores.popitem()[1].close()


class StageResults:
    """The results of one kind in a store."""

    def __init__(self, data: str, format_: ResultFormat, store: StoreReader | None) -> None:
        self._data = data
        self._format = format_
        self._kind = format_.kind
        self._store = store

    def iterate(self, after: str = "") -> Iterator[Result]:
        """The results in the order of their doc ids, those that follow `after`."""
        return iter(()) if self._store is None else iterate_results(self._data, self._kind, self._store, after)

    def list_results(self, after: str = "") -> Iterator[ListedResult]:
        """As `iterate`, with the hash of each result."""
        return (ListedResult(each.doc_id, each.size, each.source.sha256) for each in self.iterate(after))

    def read_version(self) -> object:
        """Another one after every change of the store."""
        return None if self._store is None else self._store.read_position()

    def has(self, doc_id: str) -> bool:
        """Whether there is a result for a document."""
        return self._store is not None and self._store.get(f"{self._kind.id_prefix}{doc_id}") is not None

    def load(self, doc_id: str) -> LoadedResult | None:
        """Load a result as it is now; None: there is none. Raises IntegrityError if it is damaged."""
        if find_path_problem(doc_id):
            return None
        found = None if self._store is None else self._store.read(f"{self._kind.id_prefix}{doc_id}")
        if found is None or not self._kind.has(found[0]):
            return None
        item, content = found
        try:
            value = self._format.unpack(content)
        except _DECODE_ERRORS as error:
            raise IntegrityError(f"the stored result {doc_id!r} is damaged: {error}") from error
        return LoadedResult(doc_id, item.sha256, item.input_sha256, item.cfg_hash, value)


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


DOCUMENT_FORMAT = ResultFormat("doctags", DOCUMENT_RESULTS, unpack_document, _decode_document)
CHUNK_FORMAT = ResultFormat(CHUNK, CHUNK_RESULTS, unpack_chunks, _decode_chunks)
DENSE_FORMAT = ResultFormat(DENSE, get_vector_kind("dense"), unpack_dense, _decode_dense)
SPARSE_FORMAT = ResultFormat(SPARSE, get_vector_kind("sparse"), unpack_sparse, _decode_sparse)
