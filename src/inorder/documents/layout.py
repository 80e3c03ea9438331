"""How the results of the documents stages are named in their stores, and how they are found there.

The doc id is the path of the source below its root, so the same document has the same name everywhere. Results have
names for messages and manifests: `documents/<doc id>`, `chunk/<doc id>`, `embed/<family>/<doc id>`. No files have these
names.
"""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence, Set
from functools import cached_property, partial
from heapq import merge
from typing import NamedTuple

from inorder.files.predicted import (
    Change,
    get_predicted_change,
    is_predicting,
    list_predicted,
    will_be_written,
)
from inorder.stage.store.database import StoreReader, open_store
from inorder.stage.store.inputs import StoredInput
from inorder.stage.store.lookup import IdRange
from inorder.stage.store.rows import StoredItem

DOCUMENTS = "documents"
CHUNK = "chunk"
EMBED = "embed"
"""How the names of results in the three stores begin."""
_RESULTS_KEPT = 1000
"""The results of more documents are not kept in memory."""


class Result(NamedTuple):
    """What an earlier stage has made of a document."""

    doc_id: str
    source: StoredInput
    size: int
    stored: StoredItem | None = None
    """Its row in the store; None: it will be written."""


class ResultKind(NamedTuple):
    """A kind of results: the stage that makes them, and how their names and item ids begin."""

    stage: str
    folder: str
    id_prefix: str

    @property
    def stored_folder(self) -> str:
        """The folder of these results in the store, where their ids begin with the prefix."""
        return f"{self.folder}/".removesuffix(f"/{self.id_prefix}").rstrip("/")

    def has(self, item: StoredItem) -> bool:
        """Whether a row of the store is of this kind: a store may have parts of documents, or statistics, too."""
        return item.folder == self.stored_folder and item.item_id.startswith(self.id_prefix)


DOCUMENT_RESULTS = ResultKind("doctags", DOCUMENTS, "")
CHUNK_RESULTS = ResultKind("chunk", CHUNK, "")


def get_vector_kind(family: str) -> ResultKind:
    """The kind of the vectors of a family."""
    return ResultKind("embed", f"{EMBED}/{family}", f"{family}/")


def estimate_count(data: str | os.PathLike[str], kind: ResultKind) -> int:
    """About how many results of a kind there are: a store may have parts of documents, too."""
    store = open_store(os.path.abspath(data), kind.stage)
    stored = 0 if store is None else store.count()
    folder = f"{os.path.abspath(data)}/{kind.folder}"
    return max(stored, len(list_predicted(folder)))


def list_documents(data: str | os.PathLike[str]) -> Iterator[Result]:
    """Every document that `doctags` has converted."""
    return _list_results(data, DOCUMENT_RESULTS)


def list_chunked(data: str | os.PathLike[str]) -> Iterator[Result]:
    """The chunks of every document that has some."""
    return _list_results(data, CHUNK_RESULTS)


def list_vectors(data: str | os.PathLike[str], family: str) -> Iterator[Result]:
    """The vectors of every document in one family."""
    return _list_results(data, get_vector_kind(family))


def list_current_vectors(data: str | os.PathLike[str], families: Sequence[str]) -> Iterator[tuple[str, Result]]:
    """The vectors in these families of every document that has chunks, each with its family. Vectors of removed
    documents are about to be removed."""
    root = os.fspath(data)
    lookups = {family: _Lookup(list_vectors(data, family), partial(find_vectors, root, family)) for family in families}
    for chunks in list_chunked(data):
        for family, lookup in lookups.items():
            if (vectors := lookup.find(chunks.doc_id)) is not None:
                yield family, vectors


def has_valid_ids(data: str) -> bool:
    """Whether the ids of all chunks and vectors are valid Unicode."""
    stores = [open_store(data, stage) for stage in (CHUNK_RESULTS.stage, EMBED)]
    return not any(store is not None and store.has_invalid_ids() for store in stores)


def list_vector_hashes(data: str, families: Sequence[str]) -> Iterator[list[tuple[str, str]]]:
    """The item ids of the vectors that `list_current_vectors` lists, and the hash of each, in blocks."""
    chunks, vectors = open_store(data, CHUNK_RESULTS.stage), open_store(data, EMBED)
    if chunks is None or vectors is None:
        return
    for doc_ids in chunks.iterate_ids():
        columns = []
        for family in families:
            wanted = [f"{family}/{doc_id}" for doc_id in doc_ids]
            found = vectors.list_hashes(wanted[0], wanted[-1])
            if [item_id for item_id, _ in found] != wanted:  # some have no vectors, or no chunks any more
                hashes = dict(found)
                found = [(item_id, hashes.get(item_id, "")) for item_id in wanted]
            columns.append(found)
        yield [each for document in zip(*columns, strict=True) for each in document if each[1]]


def list_chunked_with_vectors(data: str | os.PathLike[str], family: str) -> Iterator[tuple[Result, Result | None]]:
    """The chunks of every document that has some, with its vectors in one family."""
    vectors = _Lookup(list_vectors(data, family), partial(find_vectors, os.fspath(data), family))
    return ((chunks, vectors.find(chunks.doc_id)) for chunks in list_chunked(data))


class _Lookup:
    """Finds results by id. As long as ids are asked for in the order in which they are listed, nothing is searched."""

    def __init__(self, listed: Iterator[Result], find: Callable[[str], Result | None]) -> None:
        self._listed = listed
        self._find = find
        self._next = next(listed, None)

    def find(self, doc_id: str) -> Result | None:
        """The result of a document; None: it has none."""
        while self._next is not None and self._next.doc_id < doc_id:
            self._next = next(self._listed, None)
        if self._next is not None and self._next.doc_id == doc_id:
            return self._next
        return self._find(doc_id)


def find_stored(data: str | os.PathLike[str], kind: ResultKind, doc_ids: Iterable[str]) -> dict[str, Result]:
    """Those of these documents that have a result of a kind in the store, and the result of each."""
    root = os.path.abspath(data)
    store = open_store(root, kind.stage)
    item_ids = {doc_id: f"{kind.id_prefix}{doc_id}" for doc_id in doc_ids}
    items = {} if store is None else store.get_all(item_ids.values())
    return {
        doc_id: _make_result(root, kind, doc_id, items[item_id])
        for doc_id, item_id in item_ids.items()
        if item_id in items and kind.has(items[item_id])
    }


class StoredResults:
    """Those of some documents that have a result of a kind in the store. If they are many, a result is read again when
    it is asked for: each takes a kilobyte."""

    def __init__(self, data: str | os.PathLike[str], kind: ResultKind, doc_ids: Collection[str]) -> None:
        self._find = partial(find_stored, data, kind)
        self._asked = doc_ids
        self._is_kept = len(doc_ids) <= _RESULTS_KEPT
        self._kept = self._find(doc_ids) if self._is_kept else {}

    @cached_property
    def doc_ids(self) -> Set[str]:
        """The documents."""
        return self._kept.keys() if self._is_kept else {each for each in self._asked if self._find([each])}

    def __getitem__(self, doc_id: str) -> Result:
        return self._kept[doc_id] if self._is_kept else self._find([doc_id])[doc_id]

    def get(self, doc_id: str) -> Result | None:
        """The result of a document; None: it has none."""
        return (self._kept if self._is_kept else self._find([doc_id])).get(doc_id)


def bind_count_stored(
    data: str | os.PathLike[str], kind: ResultKind
) -> Callable[[Sequence[IdRange]], list[int]] | None:
    """A function that counts the documents with a result of a kind in the store, for each of some ranges of their ids;
    None: there is no store, or some ids are not valid Unicode."""
    store, prefix = open_store(os.path.abspath(data), kind.stage), kind.id_prefix
    if store is None or store.has_invalid_ids():
        return None
    return lambda ranges: store.count_in([IdRange(f"{prefix}{first}", f"{prefix}{end}") for first, end in ranges])


def find_chunks(data: str, doc_id: str) -> Result | None:
    """The chunks of a document that exist or will exist; None: there are none."""
    return _find_result(data, CHUNK_RESULTS, doc_id)


def find_vectors(data: str, family: str, doc_id: str) -> Result | None:
    """The vectors of a document that exist or will exist; None: there are none."""
    return _find_result(data, get_vector_kind(family), doc_id)


def _find_result(data: str, kind: ResultKind, doc_id: str) -> Result | None:
    store = open_store(data, kind.stage)
    found = None if store is None else store.get(f"{kind.id_prefix}{doc_id}")
    path = f"{data}/{kind.folder}/{doc_id}"
    if will_be_written(path) or (found is not None and get_predicted_change(path) is not Change.REMOVED):
        return _make_result(data, kind, doc_id, found)
    return None


def _list_results(data: str | os.PathLike[str], kind: ResultKind) -> Iterator[Result]:
    """The results of one kind, in the order of their ids."""
    root = os.path.abspath(data)
    store = open_store(root, kind.stage)
    stored = iter(()) if store is None else iterate_results(root, kind, store)
    return _predict(root, kind, stored) if is_predicting() else stored


def _predict(root: str, kind: ResultKind, stored: Iterator[Result]) -> Iterator[Result]:
    """Results in a store as they will be, in the order of their ids."""
    new = (_make_result(root, kind, doc_id, None) for doc_id in list_predicted(f"{root}/{kind.folder}"))
    previous = ""
    for result in merge(stored, new, key=lambda each: each.doc_id):
        is_removed = get_predicted_change(f"{root}/{kind.folder}/{result.doc_id}") is Change.REMOVED
        if result.doc_id != previous and not is_removed:
            yield result
        previous = result.doc_id


def iterate_results(data: str, kind: ResultKind, store: StoreReader, after: str = "") -> Iterator[Result]:
    """The results of one kind that `store` has now, in the order of their doc ids; those that follow the doc id
    `after`, if it is given. What a run commits meanwhile may be among them."""
    prefix, folder = kind.id_prefix, kind.stored_folder
    for item in store.iterate(prefix, f"{prefix}{after}" if after else ""):
        if item.folder == folder:
            yield _make_result(data, kind, item.item_id.removeprefix(prefix), item)


def _make_result(data: str, kind: ResultKind, doc_id: str, found: StoredItem | None) -> Result:
    size, sha256 = (0, "") if found is None else (found.size, found.sha256)
    path = f"{kind.folder}/{doc_id}"
    return Result(doc_id, StoredInput(data, kind.stage, f"{kind.id_prefix}{doc_id}", path, size, sha256), size, found)
