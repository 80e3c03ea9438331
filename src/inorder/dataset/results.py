"""Loads the results of one kind from DATA, whichever layout they are in, and checks that they are intact."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from inorder.documents.layout import (
    DOCTAGS_SUFFIX,
    RECORD_SUFFIX,
    Result,
    ResultKind,
    iterate_results,
)
from inorder.errors import IntegrityError
from inorder.host.paths import find_path_problem
from inorder.sinks.base import Position
from inorder.stage.data_layout import FINGERPRINT_SUFFIX
from inorder.stage.fingerprints import decode_fingerprint, hash_file
from inorder.stage.store.database import StoreReader, store_path

T = TypeVar("T")


class ListedResult(NamedTuple):
    """A result that is not loaded."""

    doc_id: str
    size: int
    sha256: str


class LoadedResult(NamedTuple):
    """The content of a result in a store, or the path of its file."""

    doc_id: str
    sha256: str
    """Of the content. Equal hashes mean equal results."""
    input_sha256: str
    cfg_hash: str
    content: bytes = b""
    path: str = ""
    """Empty: the result is in a store."""


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
        return iterate_results(self._data, self._kind, self._store, after)

    def list_results(self, after: str = "") -> Iterator[ListedResult]:
        """As `iterate`, with the hash of each result."""
        return (ListedResult(each.doc_id, each.size, hash_result(each)) for each in self.iterate(after))

    def read_version(self) -> Position:
        """Another one after every change of the store; always the same for results in files."""
        return Position() if self._store is None else self._store.read_position()

    def has(self, doc_id: str) -> bool:
        """Whether there is a result for a document."""
        if self._store is not None and self._store.get(f"{self._kind.id_prefix}{doc_id}") is not None:
            return True
        return any(os.path.exists(f"{self._data}/{self._kind.files}/{doc_id}{each}") for each in self._kind.suffixes)

    def load(self, doc_id: str) -> LoadedResult | None:
        """Load a result as it is now; None: there is none. Raises IntegrityError if it is damaged."""
        if find_path_problem(doc_id):
            return None
        found = None if self._store is None else self._store.read(f"{self._kind.id_prefix}{doc_id}")
        if found is None or not self._kind.has(found[0]):
            paths = (f"{self._data}/{self._kind.files}/{doc_id}{suffix}" for suffix in self._kind.suffixes)
            return next((loaded for path in paths if (loaded := _load_file(doc_id, path))), None)
        item, content = found
        return LoadedResult(doc_id, item.sha256, item.input_sha256, item.cfg_hash, content)


def hash_result(result: Result) -> str:
    """The hash of a result, without loading it from a store; empty: it was removed meanwhile."""
    if result.stored is not None:
        return result.stored.sha256
    loaded = _load_file(result.doc_id, os.fspath(result.source))
    return "" if loaded is None else loaded.sha256


def decode_result(loaded: LoadedResult, unpack: Callable[[bytes], T], read: Callable[[str], T]) -> T:
    """Decode a result: from a store with `unpack`, from a file with `read`. Raises IntegrityError if it is damaged."""
    try:
        return read(loaded.path) if loaded.path else unpack(loaded.content)
    except (msgspec.MsgspecError, ValueError, KeyError, TypeError) as error:
        where = loaded.path or f"the stored result {loaded.doc_id!r}"
        raise IntegrityError(f"{where} is damaged: {error}") from error


def _load_file(doc_id: str, path: str) -> LoadedResult | None:
    try:
        sha256 = hash_file(path)
    except FileNotFoundError:
        return None
    base = path
    if path.endswith(RECORD_SUFFIX):  # the fingerprint is beside the first output of the item
        base = f"{path.removesuffix(RECORD_SUFFIX)}{DOCTAGS_SUFFIX}"
    fingerprint = None
    with suppress(FileNotFoundError):
        fingerprint = decode_fingerprint(Path(f"{base}{FINGERPRINT_SUFFIX}").read_bytes())
    if fingerprint is None:
        return LoadedResult(doc_id, sha256, "", "", path=path)
    return LoadedResult(doc_id, sha256, fingerprint.input_sha256, fingerprint.cfg_hash, path=path)
