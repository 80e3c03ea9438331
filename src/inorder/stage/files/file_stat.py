"""File stat: how to tell that a file has not changed without reading it.

The kernel sets the change time (ctime) of a file at every change of its content, and no program can set it back. Size,
modification time and inode alone are not enough: an archive that is unpacked over an older one restores modification
times, may have files of the same sizes, and the file system may use the same inodes again.

Two changes within the resolution of the timestamps get the same change time. So a file that was changed shortly before
its stat is *racy*: another change could still follow that the stat does not show. Git has the same rule for its index.
"""

import os
from time import time_ns
from typing import NamedTuple

RACY_NS = 2_100_000_000
"""How long after its last change a file is racy. The coarsest timestamps in use are those of FAT: two seconds. The
clock of the kernel for timestamps lags by up to one tick (10 ms); the rest of the tenth allows for file servers."""


class FileStat(NamedTuple):
    """Size, modification time, change time and inode of a file, and when they were read."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    read_ns: int

    @classmethod
    def read(cls, path: str) -> "FileStat":
        """Read the stat of a file."""
        read_ns = time_ns()  # before the stat: a later change must not look older than it
        return cls.make(os.stat(path), read_ns)

    @classmethod
    def make(cls, found: os.stat_result, read_ns: int) -> "FileStat":
        """Make it from the answer of the system, and a time before the question."""
        return cls(found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino, read_ns)

    @property
    def signature(self) -> tuple[int, int, int, int]:
        """What stays equal as long as the file does not change."""
        return self.size, self.mtime_ns, self.ctime_ns, self.inode

    @property
    def is_racy(self) -> bool:
        """Whether the file may change again without a change of its signature. True also if a time is in the future."""
        return self.read_ns < max(self.mtime_ns, self.ctime_ns) + RACY_NS
