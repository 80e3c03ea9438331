"""Loads the results of one kind from DATA, and checks that they are intact."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

import msgspec

from inorder.documents.layout import Result, ResultKind, iterate_results
from inorder.errors import IntegrityError
from inorder.host.paths import find_path_problem
from inorder.sinks.base import Position
from inorder.stage.store.database import StoreReader, store_path

T = TypeVar("T")


class ListedResult(NamedTuple):
    """A result that is not loaded."""

    doc_id: str
    size: int
    sha256: str


class LoadedResult(NamedTuple):
    """The content of a result."""

    doc_id: str
    sha256: str
    """Of the content. Equal hashes mean equal results."""
    input_sha256: str
    cfg_hash: str
    content: bytes


@contextmanager
def open_results(data: str, kind: ResultKind) -> Iterator["ResultReader"]:
    """The results of one kind. Between two reads nothing is locked, so a run can write at any time."""
    path = store_path(data, kind.stage)
    store = StoreReader(path) if os.path.exists(path) else None
    try:
        yield ResultReader(data, kind, store)
    finally:
        if store is not None:
            store.close()


class ResultReader:
    """The results of one kind, with a connection to their store of its own: a run in this process closes those that
    are shared."""

    def __init__(self, data: str, kind: ResultKind, store: StoreReader | None) -> None:
        self._data = data
        self._kind = kind
        self._store = store

    def iterate(self, after: str = "") -> Iterator[Result]:
        """The results in the order of their doc ids, those that follow `after`."""
        return iter(()) if self._store is None else iterate_results(self._data, self._kind, self._store, after)

    def list_results(self, after: str = "") -> Iterator[ListedResult]:
        """As `iterate`, with the hash of each result."""
        return (ListedResult(each.doc_id, each.size, each.source.sha256) for each in self.iterate(after))

    def read_version(self) -> Position:
        """Another one after every change of the store."""
        return Position() if self._store is None else self._store.read_position()

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
        return LoadedResult(doc_id, item.sha256, item.input_sha256, item.cfg_hash, content)


def decode_result(loaded: LoadedResult, unpack: Callable[[bytes], T]) -> T:
    """Decode a result. Raises IntegrityError if it is damaged."""
    try:
        return unpack(loaded.content)
    except (msgspec.MsgspecError, ValueError, KeyError, TypeError) as error:
        raise IntegrityError(f"the stored result {loaded.doc_id!r} is damaged: {error}") from error
