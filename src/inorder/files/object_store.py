"""Objects below one address, through fsspec: small operations, each retried when the store is busy, with errors in one
line.

An object store has no rename and no directories. What it has: an object is replaced as a whole, and a put can be
*create-only* (`If-None-Match: *` on S3), which one of several writers wins.
"""

import errno
import os
import tempfile
import time
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from inorder.errors import InfrastructureError, InorderError, OperatorError

from .addresses import StoreAddress, open_filesystem

T = TypeVar("T")
_ATTEMPTS = 5
_FIRST_WAIT_S = 0.5
_FINAL_ERRNOS = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EINVAL, errno.ENOTDIR, errno.EISDIR}
"""Errors of the store that another attempt does not mend."""
_TRANSIENT_NAMES = ("Timeout", "Throttl", "SlowDown", "TooManyRequests", "ServerDisconnected", "Payload")
"""Parts of the names of exceptions of client libraries after which another attempt may succeed. A server that cannot be
reached is not among them: the libraries try that several times themselves."""
_MESSAGE_MAX = 300


class ObjectStore:
    """The objects below an address. Paths are relative to it."""

    def __init__(self, address: StoreAddress, *, by: str) -> None:
        self.address = str(address)
        self._needs = address.needs
        self._made: set[str] = set()
        self._filesystem, self._root = self._call(lambda: open_filesystem(address, by=by))

    def read(self, path: str) -> bytes | None:
        """The content of an object; None: there is none."""

        def read() -> bytes | None:
            try:
                content: bytes = self._filesystem.cat_file(self._key(path))
                return content
            except FileNotFoundError:
                return None

        return self._call(read)

    def list(self, prefix: str = "") -> dict[str, int]:
        """The paths below a prefix that ends at a slash, with their sizes."""

        def find() -> dict[str, Any]:
            self._filesystem.invalidate_cache()
            try:
                found: dict[str, Any] = self._filesystem.find(self._key(prefix.rstrip("/")), detail=True)
                return found
            except FileNotFoundError:
                return {}

        start = len(self._root) + 1
        found = self._call(find)
        return {name[start:]: int(info["size"] or 0) for name, info in found.items() if info["type"] == "file"}

    def write(self, path: str, content: bytes) -> None:
        """Create or replace an object."""
        self._call(lambda: self._filesystem.pipe_file(self._prepare(path), content))

    def create(self, path: str, content: bytes) -> bool:
        """Create an object; False: there is one already. The content must not be that of another writer: it tells
        whether an attempt whose answer was lost had succeeded."""

        def create() -> bool:
            try:
                self._filesystem.pipe_file(self._prepare(path), content, mode="create")
            except FileExistsError:
                return False
            return True

        return self._call(create) or self.read(path) == content

    def upload(self, local: str, path: str) -> None:
        """Create or replace an object with the content of a local file."""
        self._call(lambda: self._filesystem.put_file(local, self._prepare(path)))

    def copy(self, old: str, new: str) -> None:
        """Copy an object inside the store, where it can, else through this machine."""
        try:
            self._call(lambda: self._filesystem.cp_file(self._key(old), self._prepare(new)))
        except NotImplementedError:  # filesystems of fsspec need not have a copy
            with tempfile.TemporaryDirectory() as folder:
                local = os.path.join(folder, "object")
                self._call(lambda: self._filesystem.get_file(self._key(old), local))
                self.upload(local, new)

    def remove(self, paths: Iterable[str]) -> None:
        """Remove objects. One that is not there is not an error."""
        keys = [self._key(path) for path in paths]

        def remove() -> None:
            try:
                self._filesystem.rm(keys)
            except FileNotFoundError:
                for key in keys:
                    if self._filesystem.exists(key):
                        self._filesystem.rm_file(key)

        if keys:
            self._call(remove)

    def _key(self, path: str) -> str:
        return f"{self._root}/{path}" if path else self._root

    def _prepare(self, path: str) -> str:
        """The key of a path. Where there are directories, that of the key is created."""
        key = self._key(path)
        parent = key.rpartition("/")[0]
        if not self._needs.is_object_store and parent not in self._made:
            self._filesystem.makedirs(parent, exist_ok=True)
            self._made.add(parent)
        return key

    def _call(self, operation: Callable[[], T]) -> T:
        """Run an operation, again after an error that may pass."""
        attempt = 1
        while True:
            try:
                return operation()
            except (InorderError, NotImplementedError):
                raise
            except Exception as error:
                if attempt == _ATTEMPTS or not _is_transient(error):
                    raise self._translate(error) from error
                time.sleep(_FIRST_WAIT_S * 2 ** (attempt - 1))
                attempt += 1

    def _translate(self, error: Exception) -> InorderError:
        reason = _describe(error)
        if isinstance(error, PermissionError) or "Credentials" in type(error).__name__:
            return OperatorError(
                f"access to {self.address} was denied: {reason}; credentials come from the environment of the protocol"
            )
        if isinstance(error, FileNotFoundError):
            bucket = "the bucket or container" if self._needs.is_object_store else "the place"
            return OperatorError(f"{bucket} of {self.address} does not exist: {reason}")
        return InfrastructureError(f"{self.address} failed: {reason}")


def _is_transient(error: Exception) -> bool:
    if isinstance(error, OSError) and error.errno is not None:
        return not isinstance(error, (FileNotFoundError, PermissionError)) and error.errno not in _FINAL_ERRNOS
    names = " ".join(kind.__name__ for kind in type(error).__mro__)
    return isinstance(error, (ConnectionError, TimeoutError)) or any(part in names for part in _TRANSIENT_NAMES)


def _describe(error: Exception) -> str:
    """The message of an error in one line, shortened."""
    text = " ".join(str(error.strerror if isinstance(error, OSError) and error.strerror else error).split())
    return (text or type(error).__name__)[:_MESSAGE_MAX]
