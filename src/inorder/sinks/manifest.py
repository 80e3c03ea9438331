"""A row of JSON for every item, whatever became of it, in seq order.

A whole run goes out in one append, so the file always ends with whole rows but for the moment in which an append is
under way, or after a crash in it: *a reader must ignore a last line without a newline* (`whole_lines` does). Nothing
before it ever changes while a run goes on.

The position is the length of the file and the CRC-32 of all of it, carried along from append to append; the file is
read only by recovery and by `verify`. The head, one or more rows that say what the others are about, goes out with the
first run. So position 0 is the empty file, and a file that was healed has the bytes of one that never broke. A manifest
that `appends` keeps the rows of earlier runs before its own.

Fields stand in the order in which the row names them, and everything inside them in sorted order: the same entries give
the same bytes. A row that cannot be written stops the run before anything of it is.
"""

import contextlib
import os
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from inorder.errors import IntegrityError, OperatorError
from inorder.host.filesystem import AppendFile, Filesystem, SystemFilesystem
from inorder.host.lock import Lock
from inorder.host.os_errors import translate_os_errors

from .base import Entry, Position, Trace, check_run
from .checksums import Prefixes

Row = Mapping[str, Any]
_PIECE_BYTES = 2**16

_encode = msgspec.json.Encoder(order="deterministic").encode


class ManifestSink:
    """JSON lines in one file. Its folder must exist, and nobody else may write it: see `open_manifest`."""

    def __init__(
        self,
        filesystem: Filesystem,
        path: str,
        row: Callable[[Entry], Row],
        *,
        head: Sequence[Row] = (),
        name: str = "manifest",
        lock: Lock | None = None,
        appends: bool = False,
    ) -> None:
        self.name = name
        self._filesystem = filesystem
        self._path = path
        self._row = row
        self._head = b"".join(_line(fields, f"head of {path}") for fields in head)
        self._lock = lock
        self._appends = appends
        with translate_os_errors(f"{path} cannot be opened"):
            self._file = filesystem.open(path)
            self._position = Position() if self._file.size == 0 else None
        self._prefixes: Prefixes | None = None
        """Until the file changes."""
        self._name_is_safe = False
        """From a loss of power."""

    def apply(self, entries: Sequence[Entry]) -> Position:
        """Append a row for each, all in one act."""
        position = check_run(self.name, self._position, entries)
        if not entries:
            return position
        data = b"".join([b"" if position.end else self._head, *map(self._line_of, entries)])
        self._changing()
        with translate_os_errors(f"{self._path}: seqs {entries[0].seq} to {entries[-1].seq} cannot be appended"):
            self._file.append(data)
        end, offset = entries[-1].seq + 1, position.offset + len(data)
        self._position = Position(end, offset, zlib.crc32(data, position.checksum))
        return self._position

    def position(self) -> Position:
        """How far it has come."""
        return check_run(self.name, self._position, ())

    def origin(self) -> Position:
        """Where a new run begins: an empty file, or where `appends` was asked for the end of the rows of earlier
        runs."""
        if not self._appends:
            return Position()
        with translate_os_errors(f"{self._path} cannot be read"):
            size = _whole_bytes(self._file)
            return Position(0, size, Prefixes(self._file).checksum(size))

    def sync(self) -> None:
        """Make the rows, and once the name of the file, safe from a loss of power."""
        position, self._position = self.position(), None
        self._sync()
        self._position = position

    def holds(self, position: Position, since: Sequence[Trace]) -> bool:
        """Whether the file begins with what it was then."""
        with translate_os_errors(f"{self._path} cannot be read"):
            if self._file.size < position.offset:
                return False
            self._prefixes = self._prefixes or Prefixes(self._file)
            return self._prefixes.checksum(position.offset) == position.checksum

    def roll_back(self, position: Position, undone: Sequence[Trace]) -> None:
        """Cut the file there."""
        self._changing()
        with translate_os_errors(f"{self._path} cannot be cut at byte {position.offset}"):
            if (size := self._file.size) < position.offset:
                raise IntegrityError(f"{self._path} has {size} bytes, fewer than the {position.offset} it once had")
            self._file.truncate(position.offset)
        self._sync()
        self._position = position

    def verify(self, position: Position) -> list[str]:
        """What is wrong with the file, all of which is read."""
        with translate_os_errors(f"{self._path} cannot be read"):
            size = self._file.size
            if size < position.offset:
                return [f"{self._path} has {size} bytes, fewer than the {position.offset} it once had"]
            wrong = []
            if Prefixes(self._file).checksum(position.offset) != position.checksum:
                wrong.append(f"{self._path} was altered: its first {position.offset} bytes are not those written")
            if size > position.offset:
                wrong.append(f"{self._path} has {size - position.offset} bytes more than were written")
            return wrong

    def close(self) -> None:
        """Let the file go, and the lock after it."""
        self._file.close()
        if self._lock is not None:
            self._lock.release()

    def _sync(self) -> None:
        with translate_os_errors(f"{self._path} cannot be synced"):
            self._file.sync()
            if not self._name_is_safe:
                self._filesystem.sync_directory(os.path.dirname(self._path) or ".")
        self._name_is_safe = True

    def _changing(self) -> None:
        """Until the change is complete nobody knows what the file holds: if it fails, only recovery can help."""
        self._position = None
        self._prefixes = None

    def _line_of(self, entry: Entry) -> bytes:
        return _line(self._row(entry), f"{self._path}: row of seq {entry.seq}")


def open_manifest(
    path: str, row: Callable[[Entry], Row], *, head: Sequence[Row] = (), name: str = "manifest"
) -> ManifestSink:
    """A manifest on the operating system's own files. As long as it is open, nobody else can open it: `BusyError`."""
    lock = Lock(f"{path}.lock", path)
    try:
        return ManifestSink(SystemFilesystem(), path, row, head=head, name=name, lock=lock)
    except BaseException:
        lock.release()
        raise


def _whole_bytes(file: AppendFile) -> int:
    """How long a file is without a last line that has no end."""
    size = file.size
    while size > 0:
        start = max(0, size - _PIECE_BYTES)
        found = file.read(start, size - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        size = start
    return 0


def whole_lines(data: bytes) -> list[bytes]:
    """The rows in what was read of a manifest that may be being written; a last line without an end is none yet."""
    return data.split(b"\n")[:-1]


def _line(fields: Row, what: str) -> bytes:
    """One row, in the order of its fields. Raises an `OperatorError` that names the field that cannot be written."""
    try:
        line = b",".join([_label(field) + _encode(value) for field, value in fields.items()])
    except Exception as error:
        raise OperatorError(f"{what}: {_culprit(fields)} cannot be written as JSON: {error}") from error
    if b"\n" in line:  # only what was JSON before it came here can have one
        raise OperatorError(f"{what}: {_culprit(fields)} cannot be written on one line")
    return b"{%b}\n" % line


@lru_cache(1024)
def _label(field: str) -> bytes:
    """How a field begins. Rows of one kind have the same fields."""
    if type(field) is not str:
        raise TypeError("a field is named by a string")
    return _encode(field) + b":"


def _culprit(fields: Row) -> str:
    """The first field that cannot be written on one line."""
    for field, value in fields.items():
        with contextlib.suppress(Exception):
            if b"\n" not in _label(field) + _encode(value):
                continue
        return f"field {field!r}"
    return "it"
