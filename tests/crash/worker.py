"""What the items of the killed program do. Imports little, because every worker process imports it."""

import os
import time
import zlib
from typing import Any, NamedTuple

from inorder.host.filesystem import Filesystem, SystemFilesystem

ITEMS = 12
STAGING = "out.staging"


class Made(NamedTuple):
    """Files that wait to be published."""

    staging: str
    outputs: list[tuple[str, int, int]]


def fails(item: int) -> bool:
    """Whether it fails for good."""
    return item % 5 == 3


def files_of(item: int) -> dict[str, bytes]:
    """What it makes, by path."""
    files = {f"group-{item % 2}/{item}": b"%d " % item * (40 * (item % 3))}
    if item % 3 == 0:
        files[f"{item}.done"] = b"done"
    return files


def work(folder: str, life: int, item: int, filesystem: Filesystem | None = None) -> Made:
    """Sign, and make the files. Some items fail, and some fail the first time anybody tries them."""
    files = filesystem or SystemFilesystem()
    sign(f"{folder}/ran-{life}", item)
    if fails(item):
        raise ValueError("it never works")
    if item % 4 == 2 and is_first_time(f"{folder}/tried-{item}"):
        raise ConnectionError("try again")
    staging = f"{folder}/{STAGING}/{item}-{os.getpid()}-{time.monotonic_ns()}"
    outputs = []
    for path, data in files_of(item).items():
        place = f"{staging}/{path}"
        files.make_directory(place.rpartition("/")[0])
        file: Any = files.open(place)
        file.append(data)
        file.close()
        outputs.append((path, len(data), zlib.crc32(data)))
    return Made(staging, outputs)


def sign(path: str, item: int) -> None:
    """One line, in one write."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(descriptor, b"%d\n" % item)
    os.close(descriptor)


def is_first_time(path: str) -> bool:
    """Whether nobody has asked before, also in another process."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True
