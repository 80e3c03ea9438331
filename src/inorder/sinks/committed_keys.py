"""The sink of an iteration with keys: which items were delivered."""

import zlib
from collections import Counter
from collections.abc import Sequence

from inorder.errors import InfrastructureError, SyncError
from inorder.host.filesystem import Filesystem
from inorder.host.os_errors import translate_os_errors

from .base import AppliedRun, Entry, Position

KEY_BYTES = 16
"""Size of the hash of a key."""


class CommittedKeys:
    """A file with a hash of 16 bytes for each committed item. It keeps those of earlier runs. Implements `Sink`."""

    name = "keys"

    def __init__(self, filesystem: Filesystem, path: str) -> None:
        with translate_os_errors(f"the keys {path} cannot be read"):
            self._data = b"" if filesystem.stat(path) is None else filesystem.read(path)
            self._file = filesystem.open(path)
        size = len(self._data) // KEY_BYTES * KEY_BYTES
        self._path = path
        self._position = Position(0, size, zlib.crc32(self._data[:size]))

    def count_hashes(self) -> Counter[bytes]:
        """Return how often each hash is there, of what earlier runs have left."""
        data, size = self._data, self._position.offset
        return Counter(data[start : start + KEY_BYTES] for start in range(0, size, KEY_BYTES))

    def add(self, identity: bytes) -> Position:
        """Add the hash of the next item."""
        with translate_os_errors(f"the keys {self._path} cannot be written"):
            self._file.append(identity)
        end, offset, checksum = self._position.end, self._position.offset, self._position.checksum
        self._position = Position(end + 1, offset + KEY_BYTES, zlib.crc32(identity, checksum))
        return self._position

    def apply(self, entries: Sequence[Entry]) -> Position:
        """Add the hashes that these entries have as payload."""
        for entry in entries:
            self.add(entry.payload)
        return self._position

    def position(self) -> Position:
        """Return how far it has come."""
        return self._position

    def origin(self) -> Position:
        """Return the position at which a new run begins, behind all hashes."""
        return Position(0, self._position.offset, self._position.checksum)

    def sync(self) -> None:
        """Make the hashes durable."""
        try:
            with translate_os_errors(f"the keys {self._path} cannot be written"):
                self._file.sync()
        except InfrastructureError as error:
            raise SyncError(str(error)) from error

    def holds(self, position: Position, since: Sequence[AppliedRun]) -> bool:
        """Whether the file has what it had at this position."""
        held = self._data[: position.offset]
        return len(held) == position.offset and zlib.crc32(held) == position.checksum

    def roll_back(self, position: Position, undone: Sequence[AppliedRun]) -> None:
        """Cut the file at this position."""
        with translate_os_errors(f"the keys {self._path} cannot be written"):
            self._file.truncate(position.offset)
        self._data = self._data[: position.offset]
        self._position = position

    def close(self) -> None:
        """Close the file."""
        self._file.close()
