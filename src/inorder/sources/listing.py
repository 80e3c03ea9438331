"""The objects of a remote source: a listing that is complete, in a fixed order, and the same until it is taken again.

A listing is written to a temporary database while the store sends it, so that it takes no memory, and is then read in
the byte order of the keys, whatever the order of the store. If it fails half-way there is no listing: what is not in it
would look deleted.
"""

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from itertools import islice
from typing import NamedTuple

from inorder.errors import InfrastructureError, OperatorError
from inorder.stage.contracts import StageError

from .address import parse_address
from .fetching import HASHED, Fetcher
from .limits import FetchLimits
from .problems import RemoteProblem
from .remote_input import RemoteInput
from .stores import ObjectInfo, Store, open_store

_BATCH = 1000
Row = tuple[str, int, str, str]
"""Key, size, fingerprint and problem of an object."""
HASHED_BYTES_MAX = 2**30
"""Most bytes of an object that are hashed, where the store has nothing that identifies its version."""


class RemoteObject(NamedTuple):
    """An object of a source."""

    key: str
    """Its path below the source; empty: the source is this object."""
    source: RemoteInput
    problem: str
    """Why it cannot be read; empty if no reason is known."""


class RemoteListing:
    """All objects of a remote source. Can be iterated repeatedly."""

    def __init__(self, text: str, limits: FetchLimits | None = None) -> None:
        """List a source, within limits. Raises OperatorError if it does not exist, is empty, or refuses access, and
        InfrastructureError if the listing fails."""
        self._address = parse_address(text)
        self._limits = limits or FetchLimits()
        self._database = sqlite3.connect("", check_same_thread=False)
        self._database.execute(
            "CREATE TABLE objects (key BLOB PRIMARY KEY, size INTEGER, fingerprint TEXT, problem TEXT) WITHOUT ROWID"
        )
        try:
            with closing(Fetcher(self._limits)) as fetcher:
                self.count = self._fill(fetcher, text)
        except RemoteProblem as problem:
            raise problem.to_listing_error() from None
        if not self.count:
            raise OperatorError(
                f"no objects below {text}; a source must have at least one, so that a wrong address never looks as if "
                "everything was deleted"
            )

    def __iter__(self) -> Iterator[RemoteObject]:
        return map(self._make_object, self._select(""))

    def find_named(self, name: str) -> list[str]:
        """The keys of all objects with this name, in whatever folder."""
        bytes_ = name.encode()
        rows = self._select("WHERE key = ? OR substr(key, -?) = ?", bytes_, len(bytes_) + 1, b"/" + bytes_)
        return [row[0] for row in rows]

    def read_text(self, key: str) -> str:
        """The text of an object. Raises InfrastructureError or OperatorError if it cannot be read."""
        [row] = self._select("WHERE key = ?", key.encode("utf-8", "surrogateescape"))
        source = self._make_object(row).source
        try:
            with closing(Fetcher(self._limits)) as fetcher:
                return source.fetch(fetcher).decode("utf-8", "surrogateescape")
        except StageError as error:
            raise InfrastructureError(f"cannot read {error.message}") from None

    @property
    def identity(self) -> str:
        """A hash of all keys and fingerprints: it changes whenever an object is added, changed or removed."""
        digest = hashlib.blake2b(digest_size=16)
        for row in self._select(""):
            digest.update(repr(row).encode("utf-8", "surrogateescape"))
        return digest.hexdigest()

    def _select(self, condition: str, *values: bytes | int) -> Iterator[Row]:
        query = f"SELECT key, size, fingerprint, problem FROM objects {condition} ORDER BY key"
        for key, *others in self._database.execute(query, values):
            yield key.decode("utf-8", "surrogateescape"), *others

    def _make_object(self, row: Row) -> RemoteObject:
        key, size, fingerprint, problem = row
        address = self._address
        path = f"{address.base}{key}" if key else address.path
        source = RemoteInput(
            address=address.format(path),
            sha256=hashlib.sha256(fingerprint.encode("utf-8", "surrogateescape")).hexdigest(),
            size=size,
            protocol=address.protocol,
            location=address.location,
            path=path,
            fingerprint=fingerprint,
        )
        return RemoteObject(key, source, problem)

    def _fill(self, fetcher: Fetcher, text: str) -> int:
        store = fetcher.call(text, open_store, self._address, fetcher.limits)
        found = (
            self._complete(each, store, fetcher)
            for each in store.list_objects(self._address.path, partial(fetcher.call, text))
            if not _is_folder_marker(each)
        )
        count = 0
        while batch := list(islice(found, _BATCH)):
            count += len(batch)
            rows = [(self._get_key(each.path), each.size, each.fingerprint, each.problem) for each in batch]
            self._database.executemany("INSERT OR REPLACE INTO objects VALUES (?, ?, ?, ?)", rows)
        return count

    def _complete(self, found: ObjectInfo, store: Store, fetcher: Fetcher) -> ObjectInfo:
        """The same with a fingerprint, and the size, if the store has none."""
        if found.problem or (found.fingerprint and found.size >= 0):
            return found
        address = self._address.format(found.path)
        size, digest = fetcher.call(address, store.hash_content, found, HASHED_BYTES_MAX + 1)
        return found._replace(size=size, fingerprint=f"{HASHED}{digest}")

    def _get_key(self, path: str) -> bytes:
        address = self._address
        key = "" if path == address.path else path.removeprefix(address.base)
        return key.encode("utf-8", "surrogateescape")


def identify_listing(text: str) -> str:
    """List a source now, and return a hash of all keys and fingerprints. Raises as `RemoteListing` does."""
    return RemoteListing(text).identity


def _is_folder_marker(found: ObjectInfo) -> bool:
    """Whether an object only stands for a folder, as consoles create them."""
    return found.path.endswith("/") and found.size == 0
