"""The file with the dense vectors of an index: how it is named, and whether it is there.

It is named after its content, and the database stores the name and the shape of the matrix.
"""

import contextlib
import os
import sqlite3
from collections import deque
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path

from inorder.host.filesystem import SystemFilesystem
from inorder.lanes import Lane, LaneConfig, Ticket

from .schema import read_meta

PREFIX, _SUFFIX = "index.vectors.", ".f32"
_NUMBER_BYTES = 4
_BLOCK_BYTES = 2**20
_HASHED_BYTES = 2**19
_BLOCKS_AHEAD = 2
"""Blocks of a new file that may wait to be hashed, in memory."""


def new_digest() -> blake2b:
    """The digest that a file is named after, of no bytes yet."""
    return blake2b(digest_size=12)


def make_name(digest: blake2b) -> str:
    """The name of a file with this digest."""
    return f"{PREFIX}{digest.hexdigest()}{_SUFFIX}"


class MatrixFile:
    """The file of a published index, as the database describes it. The name is empty if there are no vectors."""

    def __init__(self, connection: sqlite3.Connection, data: str) -> None:
        self.name = read_meta(connection, "vectors_file")
        self.path = f"{data}/{self.name}"
        count, width = (int(read_meta(connection, f"vectors_{each}") or 0) for each in ("count", "width"))
        self.shape = (count, width)

    def find_problem(self) -> str:
        """What is wrong with the file, without reading it; empty if nothing is."""
        if not self.name:
            return ""
        expected = self.shape[0] * self.shape[1] * _NUMBER_BYTES
        try:
            size = os.stat(self.path).st_size
        except OSError as error:
            return "is missing" if isinstance(error, FileNotFoundError) else f"cannot be read ({error.strerror})"
        return "" if size == expected else f"has {size} bytes instead of {expected}"

    def is_altered(self) -> bool:
        """Whether the bytes are not those that the file is named after. Reads the file."""
        digest = new_digest()
        with open(self.path, "rb") as file:
            while block := file.read(_BLOCK_BYTES):
                digest.update(block)
        return self.name != make_name(digest)


class MatrixCheck:
    """Reads a file on a thread of its own, and says whether it is altered."""

    def __init__(self, file: MatrixFile) -> None:
        self._file = file
        self._lane = Lane(LaneConfig(name="matrix", max_concurrency=1))
        is_there = bool(file.name) and not file.find_problem()
        self._found: Ticket[bool] | None = self._lane.submit(file.is_altered) if is_there else None

    def is_altered(self) -> bool:
        """Wait for the answer. Raises `OSError` if the file cannot be read."""
        return self._found is not None and self._found.result()

    def close(self) -> None:
        """End the thread. Idempotent."""
        self._lane.close(drain=True)


class MatrixWriter:
    """Writes a new file. It is hashed by a thread of its own, which takes as long as everything else."""

    def __init__(self, path: str) -> None:
        self._filesystem = SystemFilesystem()
        self._path = path
        with contextlib.suppress(FileNotFoundError):
            self._filesystem.unlink(path)
        self._file = self._filesystem.open(path)
        self._digest = new_digest()
        self._lane = Lane(LaneConfig(name="matrix-digest", max_concurrency=1))
        self._hashing: deque[Ticket[None]] = deque()
        """Blocks that may not be hashed yet."""
        self._block: list[bytes] = []
        self._size = 0

    def append(self, raw: bytes) -> None:
        """Write further rows."""
        self._file.append(raw)
        self._block.append(raw)
        self._size += len(raw)
        if self._size >= _HASHED_BYTES:
            self._hash_block()

    def finish(self, folder: str) -> str:
        """Make the file durable, and give it its name in a folder. Returns the name."""
        self._hash_block()
        self._file.sync()
        self._wait(0)
        name = make_name(self._digest)
        self._filesystem.rename(self._path, f"{folder}/{name}")
        self._filesystem.sync_directory(folder)
        return name

    def discard(self) -> None:
        """Remove the file."""
        self._filesystem.unlink(self._path)

    def close(self) -> None:
        """Close the file. Idempotent."""
        self._lane.close(drain=False)
        self._file.close()

    def _hash_block(self) -> None:
        self._wait(_BLOCKS_AHEAD)
        self._hashing.append(self._lane.submit(self._update_digest, self._block))
        self._block, self._size = [], 0

    def _wait(self, left: int) -> None:
        while len(self._hashing) > left:
            self._hashing.popleft().result()

    def _update_digest(self, block: Sequence[bytes]) -> None:
        for raw in block:
            self._digest.update(raw)


def remove_old_matrices(data: str, kept: str) -> None:
    """Remove every matrix file except `kept`."""
    for path in Path(data).glob(f"{PREFIX}*"):
        if path.name != kept:
            with contextlib.suppress(OSError):
                path.unlink()
