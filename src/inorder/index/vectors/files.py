"""A file with dense vectors: how it is named, whether it is there, and how it is written."""

import contextlib
import os
from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from inorder.host.filesystem import SystemFilesystem
from inorder.lanes import Lane, LaneConfig, Ticket

PREFIX, _SUFFIX = "index.vectors.", ".f32"
_NUMBER_BYTES = 4
_BLOCK_BYTES = 2**20
_HASHED_BYTES = 2**19
_BLOCKS_AHEAD = 2
"""Blocks of a new file that may wait to be hashed, in memory."""


def new_digest() -> blake2b:
    """The digest that a file is named after, of no bytes yet."""
    return blake2b(digest_size=12)


def make_name(digest: blake2b, prefix: str = PREFIX) -> str:
    """The name of a file with this digest."""
    return f"{prefix}{digest.hexdigest()}{_SUFFIX}"


@dataclass(frozen=True, slots=True)
class MatrixFile:
    """A file of a published index, as the database describes it."""

    id: int
    """Of its rows in the tables."""
    path: str
    shape: tuple[int, int]
    """The number of its rows, and of the columns of each."""
    dead: int
    """Rows whose chunks were removed."""
    changes: int = 1
    """How many updates of the index have written its vectors: more than one if files were merged."""

    @property
    def name(self) -> str:
        """The name in DATA, which is derived from the content."""
        return os.path.basename(self.path)

    @property
    def alive(self) -> int:
        """Rows whose chunks were not removed."""
        return self.shape[0] - self.dead

    def find_problem(self) -> str:
        """What is wrong with the file, without reading it; empty if nothing is."""
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
        return not self.name.endswith(make_name(digest, "."))


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

    def finish(self, folder: str, prefix: str = PREFIX) -> str:
        """Make the file durable, and give it its name in a folder, which begins with `prefix`. Returns the name."""
        self._hash_block()
        self._file.sync()
        self._wait(0)
        name = make_name(self._digest, prefix)
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


def list_vector_files(data: str, prefix: str = PREFIX) -> list[str]:
    """The names of all files with vectors in a folder whose names begin with `prefix`."""
    return [path.name for path in Path(data).glob(f"{prefix}*")]


def remove_other_files(data: str, kept: Collection[str], prefix: str = PREFIX) -> None:
    """Remove every file with vectors whose name begins with `prefix`, except those with these names."""
    for name in list_vector_files(data, prefix):
        if name not in kept:
            with contextlib.suppress(OSError):
                os.unlink(f"{data}/{name}")
