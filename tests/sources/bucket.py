"""A bucket in memory for tests, runs over it in this process, and what a run has left in DATA."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest
from fsspec.implementations.memory import MemoryFileSystem

import inorder
from inorder.library.reader import LibraryReader
from tests.support.command_line import clean_environment
from tests.support.in_process import run_in_process

TEXTS = {"a.md": b"# Lamps\n\nLit at dusk.\n", "b/c.txt": b"The fog horn.\n", "plain": b"No extension.\n"}


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    stdout: str
    stderr: str


class Bucket:
    """Objects below `memory://bucket`, which threads of this process can read."""

    def __init__(self, folder: Path, environment: Mapping[str, str] = MappingProxyType({})) -> None:
        self.folder = folder
        self.environment = environment
        self.filesystem = MemoryFileSystem()

    def put(self, objects: Mapping[str, bytes]) -> None:
        for key, content in objects.items():
            self.filesystem.pipe_file(f"/bucket/{key}", content)

    def remove(self, key: str) -> None:
        self.filesystem.rm_file(f"/bucket/{key}")

    def run(self, *arguments: str, **environment: str) -> Ended:
        """Run a command whose workers are threads, so that they see the objects."""
        return self.command(*arguments, "--policy", "io", "--quiet", **environment)

    def command(self, *arguments: str, **environment: str) -> Ended:
        return Ended(
            *run_in_process(arguments, self.folder, {**clean_environment(), **self.environment, **environment})
        )

    def documents(self, data: str = ".inorder") -> dict[str, bytes]:
        """Every document in DATA."""
        place = self.folder / data
        with closing(LibraryReader(str(place))) as library:
            ids = [*library.list_visible("doctags")]
        opened = inorder.open(place)
        return {doc_id: opened.get(doc_id).json.encode() for doc_id in ids}


def write_files(folder: Path, objects: Mapping[str, bytes]) -> None:
    """The same objects as local files."""
    for key, content in objects.items():
        path = folder / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def make_bucket(folder: Path) -> Iterator[Bucket]:
    clear()
    yield Bucket(folder)
    clear()


def clear() -> None:
    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]


def patch_call(patch: pytest.MonkeyPatch, name: str, before: Callable[..., Any]) -> list[str]:
    """Call `before(path)` ahead of a method of the store. Returns the paths of all calls."""
    paths: list[str] = []
    method = getattr(MemoryFileSystem, name)

    def call(self: MemoryFileSystem, path: str, *arguments: Any, **options: Any) -> Any:
        paths.append(path)
        found = before(path)
        return method(self, path, *arguments, **options) if found is None else found

    patch.setattr(MemoryFileSystem, name, call)
    return paths
