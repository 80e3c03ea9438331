"""File stat: how to tell that a file has not changed without reading it."""

import os
import time
from typing import NamedTuple

_INTEGER_MAX = 2**63 - 1
"""The largest integer of SQLite; inodes may be larger."""


class FileStat(NamedTuple):
    """Size, modification time and inode of a file, and when they were read."""

    size: int
    mtime_ns: int
    inode: int
    read_ns: int

    @classmethod
    def read(cls, path: str) -> "FileStat":
        """Read the stat of a file."""
        read_ns = time.time_ns()  # before the stat: a later change must not look older than it
        found = os.stat(path)
        return cls(found.st_size, found.st_mtime_ns, found.st_ino & _INTEGER_MAX, read_ns)

    @property
    def signature(self) -> tuple[int, int, int]:
        """What stays equal as long as the file does not change."""
        return self.size, self.mtime_ns, self.inode
