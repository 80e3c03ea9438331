"""CRC-32 checksums of the first bytes of a file.

Recovery asks about many positions of one file, the newest first. The file is read once, from its start to the newest
position, and the checksum at every full block is kept: four bytes per MiB. Any earlier position then costs one block at
most. The latest block read is kept too, because the next question is usually about it. A file may know the checksum of
its first bytes; they are read only if a question is about less than them.
"""

import zlib
from array import array

from inorder.host.filesystem import AppendFile

BLOCK_BYTES = 2**20


class PrefixChecksums:
    """The checksums of one file. It must not be written meanwhile."""

    def __init__(self, file: AppendFile, known: tuple[int, int] = (0, 0)) -> None:
        self._file = file
        self._start, checksum = known
        """Where the first block begins, and the checksum of the bytes before it."""
        self._checksums = array("I", [checksum])
        """Checksum of the bytes before block n."""
        self._latest = -1
        self._block = memoryview(b"")

    def checksum(self, size: int) -> int:
        """Return the CRC-32 of the first `size` bytes. The file must have that many."""
        if size < self._start:
            self._start, self._checksums, self._latest = 0, array("I", [0]), -1
        number, rest = divmod(size - self._start, BLOCK_BYTES)
        while len(self._checksums) <= number:
            self._checksums.append(zlib.crc32(self._read(len(self._checksums) - 1), self._checksums[-1]))
        return zlib.crc32(self._read(number)[:rest], self._checksums[number]) if rest else self._checksums[number]

    def _read(self, number: int) -> memoryview:
        if number != self._latest:
            self._block = memoryview(self._file.read(self._start + number * BLOCK_BYTES, BLOCK_BYTES))
            self._latest = number
        return self._block
