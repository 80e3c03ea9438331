"""CRC-32s of how a file begins.

Recovery asks about many positions of one file, the newest first. The file is read once, from its start to the newest of
them, and the checksum at every full piece is kept: four bytes a MiB. Any earlier position then costs at most one piece,
and the latest piece read is kept too, because the next question is usually about it.
"""

import zlib
from array import array

from inorder.host.filesystem import AppendFile

PIECE_BYTES = 2**20


class Prefixes:
    """The checksums of one file while nobody writes it."""

    def __init__(self, file: AppendFile) -> None:
        self._file = file
        self._marks = array("I", [0])
        """Checksum of the first n pieces."""
        self._latest = -1
        self._piece = memoryview(b"")

    def checksum(self, size: int) -> int:
        """CRC-32 of the first `size` bytes; the file must have them."""
        number, rest = divmod(size, PIECE_BYTES)
        while len(self._marks) <= number:
            self._marks.append(zlib.crc32(self._read(len(self._marks) - 1), self._marks[-1]))
        return zlib.crc32(self._read(number)[:rest], self._marks[number]) if rest else self._marks[number]

    def _read(self, number: int) -> memoryview:
        if number != self._latest:
            self._piece = memoryview(self._file.read(number * PIECE_BYTES, PIECE_BYTES))
            self._latest = number
        return self._piece
