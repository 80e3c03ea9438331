"""A manifest: one JSON row per item, whatever its outcome, in seq order.

A run is written in one append, so the file ends with a complete row except during an append, or after a crash in one:
*a reader must ignore a last line without a newline*, as `complete_lines` does. Earlier rows never change during a run.

The position is the length of the file and the CRC-32 of all its bytes, which is updated with each append. The file is
read only by recovery. The head, one or more rows that describe the others, is written with the first run. So position 0
is the empty file, and a file that was repaired has the same bytes as one that was never damaged. A manifest with
`appends` keeps the rows of earlier runs before its own; they may be packed (see `packed_lines`).

Fields are in the order of the row's mapping, and everything inside them is sorted: the same entries give the same
bytes. A row that cannot be encoded stops the run before any byte of it is written.
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

from .base import AppliedRun, Entry, Position, check_run
from .checksums import PrefixChecksums
from .packed_lines import PackedFile

Fields = Mapping[str, Any]
_BLOCK_BYTES = 2**16

_encode = msgspec.json.Encoder(order="deterministic").encode


class _Numbered(msgspec.Struct):
    """What is read of a row to tell where a run ends."""

    seq: int = -1
    """-1: it is no row of an item, as the counts at the end."""


_NUMBERED = msgspec.json.Decoder(_Numbered)


class ManifestSink:
    """Writes one JSON line per entry to a file, which no other program may write: see `open_manifest`.

    `row` returns the fields of an entry, or None for an entry that has no row. `head` has rows that are written first.
    `name` identifies the sink in the journal. `lock` is released by `close`. With `appends`, the rows of earlier runs
    stay. With `is_sparse`, entries may have no row, and a row has its `seq`. The folder of `path` must exist. Raises
    `OperatorError` for a row that cannot be encoded as JSON.

    >>> from inorder.core.transitions import State
    >>> from inorder.sinks import Entry, ManifestSink
    >>> from inorder.testing import Disk
    >>> disk = Disk()
    >>> sink = ManifestSink(disk, "manifest.jsonl", lambda entry: {"seq": entry.seq, "result": entry.payload})
    >>> _ = sink.apply([Entry(0, State.TERMINAL_SUCCESS, payload="a")])
    >>> disk.read("manifest.jsonl")
    b'{"seq":0,"result":"a"}\\n'
    """

    def __init__(
        self,
        filesystem: Filesystem,
        path: str,
        row: Callable[[Entry], Fields | None],
        *,
        head: Sequence[Fields] = (),
        name: str = "manifest",
        lock: Lock | None = None,
        appends: bool = False,
        is_sparse: bool = False,
    ) -> None:
        self.name = name
        self._filesystem = filesystem
        self.path = self._path = path
        self._row = row
        self._head = b"".join(_encode_row(fields, f"head of {path}") for fields in head)
        self._lock = lock
        self._appends = appends
        self._is_sparse = is_sparse
        with translate_os_errors(f"{path} cannot be opened"):
            self._file: AppendFile = PackedFile(filesystem, path) if appends else filesystem.open(path)
            self._position = Position() if self._file.size == 0 else None
        self._prefixes: PrefixChecksums | None = None
        """Valid until the file changes."""
        self._is_name_durable = False

    def apply(self, entries: Sequence[Entry]) -> Position:
        """Append one row per entry, all in one write."""
        position = check_run(self.name, self._position, entries)
        if not entries:
            return position
        data = b"".join([b"" if position.end else self._head, *map(self.encode_entry, entries)])
        self._invalidate()
        with translate_os_errors(f"{self._path}: seqs {entries[0].seq} to {entries[-1].seq} cannot be appended"):
            self._file.append(data)
        end, offset = entries[-1].seq + 1, position.offset + len(data)
        self._position = Position(end, offset, zlib.crc32(data, position.checksum))
        return self._position

    def position(self) -> Position:
        """Return how far it has come."""
        return check_run(self.name, self._position, ())

    def origin(self) -> Position:
        """Return where a new run begins: an empty file, or with `appends` the end of the rows of earlier runs."""
        if not self._appends:
            return Position()
        with translate_os_errors(f"{self._path} cannot be read"):
            size = _find_complete_size(self._file, self._packed_prefix[0])
            return Position(0, size, self._make_checksums().checksum(size))

    def sync(self) -> None:
        """Make the rows durable, and the first time the name of the file too."""
        position, self._position = self.position(), None
        self._sync()
        self._position = position

    def holds(self, position: Position, since: Sequence[AppliedRun]) -> bool:
        """Whether the file begins with the bytes it had at this position."""
        with translate_os_errors(f"{self._path} cannot be read"):
            if self._file.size < position.offset:
                return False
            self._prefixes = self._prefixes or self._make_checksums()
            return self._prefixes.checksum(position.offset) == position.checksum

    def advance(self, position: Position, runs: Sequence[AppliedRun]) -> Position | None:
        """Return the position after these runs, if the file has a row for each of their entries. Of a sparse manifest
        it has all rows: they are written before the sink that the others follow."""
        end = runs[-1].end
        head = 0 if position.end else self._head.count(b"\n")
        size = rows = 0
        with translate_os_errors(f"{self._path} cannot be read"):
            data = self._file.read(position.offset, self._file.size - position.offset)
        for number, line in enumerate(complete_lines(data)):
            try:
                seq = _NUMBERED.decode(line).seq
            except (msgspec.DecodeError, UnicodeDecodeError):
                return None
            if number >= head and (not 0 <= seq < end if self._is_sparse else rows >= end - position.end):
                break
            size += len(line) + 1
            rows += number >= head
        if size == 0 and head:
            return None
        is_complete = self._is_sparse or rows == end - position.end
        return (
            Position(end, position.offset + size, zlib.crc32(data[:size], position.checksum)) if is_complete else None
        )

    def roll_back(self, position: Position, undone: Sequence[AppliedRun]) -> None:
        """Truncate the file to its length at this position."""
        self._invalidate()
        with translate_os_errors(f"{self._path} cannot be truncated to {position.offset} bytes"):
            if (size := self._file.size) < position.offset:
                raise IntegrityError(f"{self._path} has {size} bytes, but {position.offset} were written")
            self._file.truncate(position.offset)
        self._sync()
        self._position = position

    def close(self) -> None:
        """Close the file, then release the lock. Idempotent."""
        self._file.close()
        if self._lock is not None:
            self._lock.release()

    @property
    def _packed_prefix(self) -> tuple[int, int]:
        """Length and CRC-32 of the packed rows, which are not read for them."""
        return self._file.packed_prefix if isinstance(self._file, PackedFile) else (0, 0)

    def _make_checksums(self) -> PrefixChecksums:
        return PrefixChecksums(self._file, self._packed_prefix)

    def _sync(self) -> None:
        with translate_os_errors(f"{self._path} cannot be synced"):
            self._file.sync()
            if not self._is_name_durable:
                self._filesystem.sync_directory(os.path.dirname(self._path) or ".")
        self._is_name_durable = True

    def _invalidate(self) -> None:
        """Forget the position until a change is complete: if the change fails, the sink needs recovery."""
        self._position = None
        self._prefixes = None

    def encode_entry(self, entry: Entry) -> bytes:
        """Encode the row of an entry; empty: it has none."""
        fields = self._row(entry)
        return b"" if fields is None else _encode_row(fields, f"{self._path}: row of seq {entry.seq}")


def append_row(filesystem: Filesystem, path: str, fields: Fields) -> None:
    """Append one row to a manifest that no sink has open, and make it durable."""
    data = _encode_row(fields, f"{path}: a row")
    with translate_os_errors(f"{path} cannot be appended to"):
        file = filesystem.open(path)
        try:
            file.append(data)
            file.sync()
        finally:
            file.close()


def open_manifest(
    path: str, row: Callable[[Entry], Fields], *, head: Sequence[Fields] = (), name: str = "manifest"
) -> ManifestSink:
    """Open a manifest on a real file, and lock it. See `ManifestSink` for the arguments.

    Raises `BusyError` while another process has it open.

    >>> import os, tempfile
    >>> from inorder.sinks import open_manifest
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sink = open_manifest(os.path.join(folder, "manifest.jsonl"), lambda entry: {"seq": entry.seq})
    ...     print(sink.position().end)
    ...     sink.close()
    0
    """
    lock = Lock(f"{path}.lock", path)
    try:
        return ManifestSink(SystemFilesystem(), path, row, head=head, name=name, lock=lock)
    except BaseException:
        lock.release()
        raise


def _find_complete_size(file: AppendFile, packed: int) -> int:
    """Return the size of a file without an incomplete last line. The first `packed` bytes are complete lines."""
    size = file.size
    while size > packed:
        start = max(packed, size - _BLOCK_BYTES)
        found = file.read(start, size - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        size = start
    return packed


def complete_lines(data: bytes) -> list[bytes]:
    """Split the bytes of a manifest into rows, without an incomplete last line.

    A manifest that is being written may end with one.

    >>> from inorder.sinks import complete_lines
    >>> complete_lines(b'{"seq":0}\\n{"seq":')
    [b'{"seq":0}']
    """
    return data.split(b"\n")[:-1]


def _encode_row(fields: Fields, what: str) -> bytes:
    """Encode one row, in the order of its fields. The `OperatorError` names a field that cannot be encoded."""
    try:
        line = _encode(_make_row_type(tuple(fields))(*fields.values()))
    except Exception as error:
        raise OperatorError(f"{what}: {_find_bad_field(fields)} cannot be written as JSON: {error}") from error
    if b"\n" in line:  # only a msgspec.Raw value can contain one
        raise OperatorError(f"{what}: {_find_bad_field(fields)} cannot be written on one line")
    return line + b"\n"


@lru_cache(256)
def _make_row_type(names: tuple[str, ...]) -> type[msgspec.Struct]:
    """A class for rows with these fields: it is encoded in their order, and in one call. Cached, because rows of one
    kind have the same fields."""
    if not all(type(name) is str for name in names):
        raise TypeError("a field name must be a string")
    places = [f"field_{number}" for number in range(len(names))]
    return msgspec.defstruct("ManifestFields", places, rename=dict(zip(places, names, strict=True)))


def _find_bad_field(fields: Fields) -> str:
    """Name the first field that cannot be written on one line."""
    for field, value in fields.items():
        with contextlib.suppress(Exception):
            if type(field) is str and b"\n" not in _encode(field) + _encode(value):
                continue
        return f"field {field!r}"
    return "it"
