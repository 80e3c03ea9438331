"""A file with dense vectors: how it is named, whether it is there, and how it is written."""

import contextlib
import os
from collections.abc import Collection
from dataclasses import dataclass
from hashlib import blake2b, file_digest
from pathlib import Path

from inorder.host.filesystem import SystemFilesystem
from inorder.host.regular_file import open_regular

PREFIX, _SUFFIX = "library.vectors.", ".f32"
_NUMBER_BYTES = 4


def new_digest() -> blake2b:
    """The digest that a file is named after, of no bytes yet."""
    return blake2b(digest_size=12)


def make_name(digest: blake2b) -> str:
    """The name of a file with this digest."""
    return f"{PREFIX}{digest.hexdigest()}{_SUFFIX}"


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
        with open_regular(self.path) as file:
            file_digest(file, lambda: digest)
        return self.name != make_name(digest)


class MatrixWriter:
    """Writes a new file."""

    def __init__(self, path: str) -> None:
        self._filesystem = SystemFilesystem()
        self._path = path
        with contextlib.suppress(FileNotFoundError):
            self._filesystem.unlink(path)
        self._file = self._filesystem.open(path)
        self._digest = new_digest()

    def append(self, raw: bytes) -> None:
        """Write further rows."""
        self._file.append(raw)
        self._digest.update(raw)

    def finish(self, folder: str) -> str:
        """Make the file durable, and give it its name in a folder. Returns the name."""
        self._file.sync()
        name = make_name(self._digest)
        self._filesystem.rename(self._path, f"{folder}/{name}")
        self._filesystem.sync_directory(folder)
        return name

    def discard(self) -> None:
        """Remove the file."""
        self._filesystem.unlink(self._path)

    def close(self) -> None:
        """Close the file. Idempotent."""
        self._file.close()


def list_vector_files(data: str) -> list[str]:
    """The names of all files with vectors in a folder."""
    return [path.name for path in Path(data).glob(f"{PREFIX}*")]


def remove_other_files(data: str, kept: Collection[str]) -> None:
    """Remove every file with vectors except those with these names."""
    for name in list_vector_files(data):
        if name not in kept:
            with contextlib.suppress(OSError):
                os.unlink(f"{data}/{name}")
