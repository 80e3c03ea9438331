"""Read the stats of files of one folder together."""

import os
import stat
from array import array
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    Stats = array[int]
    """For each file, its size, modification time, change time and inode, the times in nanoseconds. An inode above the
    largest number of the array is negative."""

INODES = 2**64


def read_stats(folder: str, names: list[str]) -> "Stats | None":
    """The stats of these files of a folder, whose path ends with a slash; None: one of them is not a regular file,
    cannot be read, or has a time before 1678 or after 2262. Links are not followed."""
    found = array("q")
    for name in names:
        try:
            info = os.lstat(f"{folder}{name}")
        except OSError:
            return None
        if not stat.S_ISREG(info.st_mode):
            return None
        inode = info.st_ino if info.st_ino < INODES // 2 else info.st_ino - INODES
        try:
            found.extend((info.st_size, info.st_mtime_ns, info.st_ctime_ns, inode))
        except OverflowError:
            return None
    return found
