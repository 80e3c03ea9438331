"""Checksums of the blocks of the library and of the files with vectors, in the file `library.sums` beside them.

SQLite has no checksums of its own pages, and a row with a checksum says nothing of a page that no longer leads to it.
So every block of 8 KB has one, whatever it holds. The file is there only while nothing writes: a writer removes it
before it changes anything, and writes it again when it has closed the library. So checksums are never older than what
they describe. A library without them (a run was killed, or an earlier version has written it) is not checked, and the
next run that ends writes them.

A writer computes those of the pages that it has changed, which the write-ahead log lists, and of files that are new.
Reading and checking takes 0.3 s of processor time per GB. So a run checks everything before it compares, and `verify`
does. A question checks the library if it is small (`READ_BYTES_MAX`), and otherwise only when something that it has
read makes no sense: most damage of a database does. Another vector always makes sense, so a question that compares
vectors checks their files, whatever their size; it reads about as much of them. Both are done once in a process, as
long as the files stay the same.
"""

import os
import sqlite3
import struct
import zlib
from collections.abc import Collection, Iterable, Iterator
from contextlib import closing, suppress
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import quote

import msgspec

from inorder.host.filesystem import SystemFilesystem, write_atomic
from inorder.host.regular_file import open_regular, read_regular

from .vector_files import PREFIX, list_vector_files

NAME = "library.sums"
BLOCK_BYTES = 8192
"""Of a block: a page of the library."""
READ_BYTES_MAX = 64 * 2**20
"""The size of a library that is checked before a question is answered: 20 ms of processor time."""
_LIBRARY = "library.sqlite"
_FORMAT = 1
_READ_BLOCKS = 128
_SUM_BYTES = 4
_NAME_MAX = 255
_COUNTER = slice(24, 28)
"""Where the header of a database has its change counter."""
_LOG_HEADER_BYTES, _FRAME_HEADER_BYTES = 32, 24
_PAGE_NUMBER = struct.Struct(">I")


class _FileSums(msgspec.Struct, array_like=True):
    """Those of one file."""

    size: int
    sums: bytes
    """CRC-32 of each block, 4 bytes each in little-endian order."""


class _Recorded(msgspec.Struct, array_like=True):
    format: int
    counter: bytes
    """The change counter in the header of the library."""
    position: int
    """The number of the pass that has written it last. With another number or counter, it was not this library that the
    checksums are of: a copy was restored."""
    files: dict[str, _FileSums]


class DamagedFile(NamedTuple):
    """A file with blocks that are not those that were written."""

    name: str
    problem: str


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(_Recorded)


def find_damaged_files(data: str, names: Collection[str] | None = None) -> list[DamagedFile]:
    """Return the files, or those of these names, that differ from their checksums. Nothing is checked if there are no
    checksums of this library. What a run writes meanwhile is no damage. Raises OSError."""
    identity = _identify(data)
    recorded = _read(data)
    if recorded is None or _read_counter(data) != recorded.counter:
        return []
    chosen = {name: sums for name, sums in recorded.files.items() if names is None or name in names}
    found = [DamagedFile(name, problem) for name, sums in chosen.items() if (problem := _compare(data, name, sums))]
    return (
        found if _identify(data) == identity and (not found or _read_position(data) in ("", recorded.position)) else []
    )


def find_damage_before_reading(data: str) -> list[DamagedFile]:
    """Return the library if it is damaged and small; checked once as long as it stays the same."""
    with suppress(FileNotFoundError):
        if os.stat(f"{data}/{_LIBRARY}").st_size <= READ_BYTES_MAX:
            return _find_once(data, (_LIBRARY,))
    return []


def find_damaged_vectors(data: str) -> list[DamagedFile]:
    """Return the files with vectors that are damaged; checked once as long as they stay the same."""
    return _find_once(data, tuple(sorted(list_vector_files(data))))


def _find_once(data: str, names: tuple[str, ...]) -> list[DamagedFile]:
    identity = _identify(data)
    return [] if identity is None else _find_in(data, names, (identity, *(_identify(data, name) for name in names)))


@lru_cache(maxsize=32)
def _find_in(data: str, names: tuple[str, ...], identity: object) -> list[DamagedFile]:
    return find_damaged_files(data, names)


class BlockSums:
    """The checksums while the library is written."""

    def __init__(self, data: str) -> None:
        """Remove them from the disk, before anything is written."""
        self._data = data
        self._changed: set[int] = set()
        self._filesystem = SystemFilesystem()
        found = _read(data)
        self._known = found if found is not None and found.counter == _read_counter(data) else None
        with suppress(FileNotFoundError):
            self._filesystem.unlink(f"{data}/{NAME}")
            self._filesystem.sync_directory(data)

    def note_log(self) -> None:
        """Note which pages are in the write-ahead log. Called before they are copied to the library."""
        step = _FRAME_HEADER_BYTES + BLOCK_BYTES
        with suppress(FileNotFoundError), open_regular(f"{self._data}/{_LIBRARY}-wal") as log:
            for at in range(_LOG_HEADER_BYTES, os.fstat(log.fileno()).st_size, step):
                header = os.pread(log.fileno(), _PAGE_NUMBER.size, at)
                if len(header) == _PAGE_NUMBER.size:
                    self._changed.add(_PAGE_NUMBER.unpack(header)[0] - 1)

    def write(self, position: int = 0) -> None:
        """Write them, when the log was copied to the library. `position` is the number of the latest pass."""
        with suppress(FileNotFoundError):
            if os.stat(f"{self._data}/{_LIBRARY}-wal").st_size:
                return
        known = {} if self._known is None else self._known.files
        names = list_vector_files(self._data)
        files = {name: known.get(name) or _compute(self._data, name, None, ()) for name in names}
        files[_LIBRARY] = _compute(self._data, _LIBRARY, known.get(_LIBRARY), {0, *self._changed})
        encoded = _ENCODER.encode(_Recorded(_FORMAT, _read_counter(self._data), position, files))
        content = zlib.crc32(encoded).to_bytes(_SUM_BYTES, "little") + encoded
        write_atomic(self._filesystem, f"{self._data}/{NAME}", content)


def _read(data: str) -> _Recorded | None:
    """Return the checksums of DATA; None: there are none that can be used."""
    try:
        content = read_regular(f"{data}/{NAME}")
        if zlib.crc32(content[_SUM_BYTES:]) != int.from_bytes(content[:_SUM_BYTES], "little"):
            return None
        found = _DECODER.decode(content[_SUM_BYTES:])
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return found if found.format == _FORMAT and all(map(_is_possible, found.files, found.files.values())) else None


def _is_possible(name: str, sums: _FileSums) -> bool:
    """Whether a file of DATA can have this name, and these checksums."""
    is_name = name == _LIBRARY or (
        name.startswith(PREFIX) and not {"/", "\0"} & set(name) and len(name.encode()) <= _NAME_MAX
    )
    return is_name and sums.size >= 0 and len(sums.sums) == -(-sums.size // BLOCK_BYTES) * _SUM_BYTES


def is_damaged(data: str) -> bool:
    """Whether the checksums themselves cannot be used."""
    return os.path.exists(f"{data}/{NAME}") and _read(data) is None


def _identify(data: str, name: str = NAME) -> object:
    try:
        found = os.stat(f"{data}/{name}")
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size


def _read_counter(data: str) -> bytes:
    """Return the change counter of the library; empty: there is none."""
    try:
        with open_regular(f"{data}/{_LIBRARY}") as file:
            return file.read(_COUNTER.stop)[_COUNTER]
    except FileNotFoundError:
        return b""


def _read_position(data: str) -> int | str:
    """Return the number of the pass that has written the library last; empty: it cannot be read."""
    try:
        with closing(
            sqlite3.connect(f"file:{quote(os.fsencode(os.path.abspath(data)))}/{_LIBRARY}?mode=ro", uri=True)
        ) as library:
            row = library.execute("SELECT checksum FROM inorder_position").fetchone()
    except sqlite3.Error:
        return ""
    return int(row[0]) if row and isinstance(row[0], int) else ""


def _sum_blocks(data: str, name: str) -> Iterator[bytes]:
    """Yield the checksums of the blocks of a file, some at a time."""
    with open_regular(f"{data}/{name}") as file:
        while content := file.read(_READ_BLOCKS * BLOCK_BYTES):
            view = memoryview(content)
            parts = (view[at : at + BLOCK_BYTES] for at in range(0, len(content), BLOCK_BYTES))
            yield b"".join([zlib.crc32(part).to_bytes(_SUM_BYTES, "little") for part in parts])


def _compute(data: str, name: str, known: _FileSums | None, changed: Iterable[int]) -> _FileSums:
    """Return the checksums of a file: those of blocks that have changed are computed, and the rest is known."""
    size = os.stat(f"{data}/{name}").st_size
    if known is None:
        return _FileSums(size, b"".join(_sum_blocks(data, name)))
    sums = bytearray(known.sums[: -(-size // BLOCK_BYTES) * _SUM_BYTES])
    sums += bytes(-(-size // BLOCK_BYTES) * _SUM_BYTES - len(sums))
    with open_regular(f"{data}/{name}") as file:
        for block in changed:
            content = os.pread(file.fileno(), BLOCK_BYTES, block * BLOCK_BYTES)
            if content:
                place = block * _SUM_BYTES
                sums[place : place + _SUM_BYTES] = zlib.crc32(content).to_bytes(_SUM_BYTES, "little")
    return _FileSums(size, bytes(sums))


def _compare(data: str, name: str, recorded: _FileSums) -> str:
    """Return how a file differs from its checksums; empty: it does not."""
    try:
        size = os.stat(f"{data}/{name}").st_size
        if size != recorded.size:
            return f"has {size} bytes instead of {recorded.size}"
        found = b"".join(_sum_blocks(data, name))
    except FileNotFoundError:
        return ""  # whoever needs it says so
    if found == recorded.sums:
        return ""
    places = range(0, len(found), _SUM_BYTES)
    wrong = [at for at in places if found[at : at + _SUM_BYTES] != recorded.sums[at : at + _SUM_BYTES]]
    first = wrong[0] // _SUM_BYTES * BLOCK_BYTES
    return f"{len(wrong)} of {len(places)} blocks are not those that were written, the first at byte {first}"
