"""An open file of a simulated disk."""

from collections.abc import Callable
from errno import EBADF, EINVAL, ENOSPC

from .contents import Contents
from .operations import Operations, trouble


class DiskFile:
    """Implements `host.filesystem.AppendFile`. It holds the file open, whatever becomes of the name it had."""

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
        """Bytes in it."""
        return len(self._opened().seen)

    def read(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes from there."""
        contents = self._opened()
        if size <= 0:
            return b""
        if offset < 0:
            raise trouble(EINVAL, self._path)
        self._operations.begin_read(self._path)
        return bytes(contents.seen[offset : offset + size])

    def append(self, data: bytes) -> None:
        """Put all of it at the end."""
        contents = self._opened()
        if not data:
            return
        number = self._operations.count
        try:
            self._operations.begin("append", self._path)
        except OSError:
            contents.append(bytes(data[: self._operations.faults.short_writes.get(number, 0)]))
            raise
        room = self._free_bytes()
        contents.append(bytes(data[:room]))
        if len(data) > room:
            raise trouble(ENOSPC, self._path)

    def truncate(self, size: int) -> None:
        """Cut it there."""
        contents = self._opened()
        if size < 0:
            raise trouble(EINVAL, self._path)
        if size < len(contents.seen):
            self._operations.begin("truncate", self._path)
            contents.truncate(size)

    def sync(self) -> None:
        """Make safe what was written since the last time. What was there when one failed is never made safe."""
        contents = self._opened()
        try:
            self._operations.begin("sync", self._path)
        except OSError:
            contents.fail_to_sync()
            raise
        if self._syncs:
            contents.sync()

    def close(self) -> None:
        """Let it go."""
        self._contents = None

    def _opened(self) -> Contents:
        self._operations.demand_power()
        if self._contents is None:
            raise trouble(EBADF, self._path)
        return self._contents
