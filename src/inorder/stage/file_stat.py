"""What a file looks like from outside: how one tells that it has not changed, without reading it."""

import os
import time
from typing import NamedTuple

_WORD_MAX = 2**63 - 1
"""What a database can keep; inodes may be larger."""


class FileStat(NamedTuple):
    """What a file looked like, and when that was: before it was read."""

    size: int
    mtime_ns: int
    inode: int
    looked_ns: int

    @classmethod
    def at(cls, path: str) -> "FileStat":
        """Look at a file now."""
        looked_ns = time.time_ns()
        found = os.stat(path)
        return cls(found.st_size, found.st_mtime_ns, found.st_ino & _WORD_MAX, looked_ns)

    @property
    def facts(self) -> tuple[int, int, int]:
        """What an unchanged file has in common with itself."""
        return self.size, self.mtime_ns, self.inode
