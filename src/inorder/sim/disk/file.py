"""An open file of a simulated disk."""

from collections.abc import Callable
from errno import EBADF, EINVAL, ENOSPC

from .contents import Contents
from .operations import Operations, os_error


class DiskFile:
    """Implements `host.filesystem.AppendFile`. It stays open when the file is renamed or removed."""

    def __init__(
        self, path: str, contents: Contents, operations: Operations, free_bytes: Callable[[], int], *, syncs: bool
    ) -> None:
        self._path = path
        self._contents: Contents | None = contents
        self._operations = operations
        self._free_bytes = free_bytes
        self._syncs = syncs

    @property
    def size(self) -> int:
        """Number of bytes."""
        return len(self._require_open().visible)

    def read(self, offset: int, size: int) -> bytes:
        """Read up to `size` bytes from `offset`."""
        contents = self._require_open()
        if size <= 0:
            return b""
        if offset < 0:
            raise os_error(EINVAL, self._path)
        self._operations.begin_read(self._path)
        return bytes(contents.visible[offset : offset + size])

    def append(self, data: bytes) -> None:
        """Append all bytes."""
        contents = self._require_open()
        if not data:
            return
        number = self._operations.count
        try:
            self._operations.begin("append", self._path)
        except OSError:
            contents.append(bytes(data[: self._operations.faults.short_writes.get(number, 0)]))
            raise
        free_bytes = self._free_bytes()
        contents.append(bytes(data[:free_bytes]))
        if len(data) > free_bytes:
            raise os_error(ENOSPC, self._path)

    def truncate(self, size: int) -> None:
        """Remove the bytes from `size` on."""
        contents = self._require_open()
        if size < 0:
            raise os_error(EINVAL, self._path)
        if size < len(contents.visible):
            self._operations.begin("truncate", self._path)
            contents.truncate(size)

    def sync(self) -> None:
        """Make everything written so far durable. What was pending at a failed sync never becomes durable."""
        contents = self._require_open()
        try:
            self._operations.begin("sync", self._path)
        except OSError:
            contents.mark_sync_failed()
            raise
        if self._syncs:
            contents.sync()

    def close(self) -> None:
        """Close the file. Idempotent."""
        self._contents = None

    def _require_open(self) -> Contents:
        self._operations.require_power()
        if self._contents is None:
            raise os_error(EBADF, self._path)
        return self._contents
