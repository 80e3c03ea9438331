"""Records the system calls that change files or wait for the disk, in the order in which this process makes them.

The calls have the names that the simulated disk gives to its operations, so the log of a program on the real filesystem
can be compared with the log of the same program on the simulated one.
"""

import ctypes
import os
from collections.abc import Callable
from errno import EIO
from types import SimpleNamespace
from typing import Any

import pytest

Operation = tuple[str, str]
"""The name of an operation and its path; for a rename, the new path."""


class WriteFault(OSError):
    """A write that does a part of its work; without an error code it says how much, as a short write does."""

    share = 0.5

    def keep(self, size: int) -> int:
        """How many bytes of `size` are written; at least one, and one is left out if there are two."""
        return max(1, min(size - 1, int(size * self.share)))


class SystemCalls:
    """The calls about files below `root`, from creation until the test ends."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, root: str | os.PathLike[str]) -> None:
        self.log: list[Operation] = []
        """Paths are relative to `root`, which is `.` itself."""
        self.events: list[tuple[Any, ...]] = []
        """The same, each with what it needs to be repeated: offset and bytes, size, or the old path."""
        self.before: Callable[[Operation], object] = lambda operation: None
        """Called before each call. An exception that it raises replaces the call, or a part of a write."""
        self._root = os.path.realpath(root)
        self._paths: dict[int, str] = {}
        """By open descriptor."""
        self._real = SimpleNamespace(**{name: getattr(os, name) for name in _PATCHED}, CDLL=ctypes.CDLL)
        for name in _PATCHED:
            monkeypatch.setattr(os, name, getattr(self, f"_{name}"))
        monkeypatch.setattr(ctypes, "CDLL", self._load_library)

    def fail_at(self, number: int) -> None:
        """Let the call with this number fail with EIO."""

        def fail(operation: Operation) -> None:
            if len(self.log) - 1 == number:
                raise OSError(EIO, os.strerror(EIO))

        self.before = fail

    def add(self, name: str, path: str | bytes | os.PathLike[Any] | None, *details: Any) -> None:
        """Add a call, if it is about a file below the root. Raises what `before` raises."""
        if path is None:
            return
        relative = self._to_relative(path)
        if relative is not None:
            operation = (name, relative)
            self.log.append(operation)
            self.events.append((*operation, *details))
            self.before(operation)

    def _to_relative(self, path: str | bytes | os.PathLike[Any]) -> str | None:
        full = os.path.abspath(os.fsdecode(path))
        is_below = full == self._root or full.startswith(f"{self._root}/")
        return os.path.relpath(full, self._root) if is_below else None

    # ---- Replacements of functions of `os`

    def _open(self, path: Any, flags: int, *arguments: Any, **options: Any) -> int:
        is_new = flags & os.O_CREAT and not os.path.lexists(path)
        is_emptied = flags & os.O_TRUNC and os.path.isfile(path) and os.path.getsize(path)
        if is_new or is_emptied:
            self.add("create" if is_new else "truncate", path, 0)
        descriptor: int = self._real.open(path, flags, *arguments, **options)
        self._paths[descriptor] = os.path.abspath(os.fsdecode(path))
        return descriptor

    def _close(self, descriptor: int) -> None:
        self._paths.pop(descriptor, None)
        self._real.close(descriptor)

    def _write(self, descriptor: int, data: Any) -> int:
        if len(data):
            try:
                self.add("append", self._paths.get(descriptor), os.fstat(descriptor).st_size, bytes(data))
            except WriteFault as fault:
                data = bytes(data)[: fault.keep(len(data))]
                if fault.errno:
                    self._real.write(descriptor, data)
                    raise
        written: int = self._real.write(descriptor, data)
        return written

    def _ftruncate(self, descriptor: int, size: int) -> None:
        self.add("truncate", self._paths.get(descriptor), size)
        self._real.ftruncate(descriptor, size)

    def _fsync(self, descriptor: int) -> None:
        path = self._paths.get(descriptor)
        self.add("sync_directory" if path is not None and os.path.isdir(path) else "sync", path)
        self._real.fsync(descriptor)

    def _replace(self, old: Any, new: Any, **options: Any) -> None:
        self.add("rename", new, self._to_relative(old))
        self._real.replace(old, new, **options)

    def _rename(self, old: Any, new: Any, **options: Any) -> None:
        self.add("rename", new, self._to_relative(old))
        self._real.rename(old, new, **options)

    def _unlink(self, path: Any, **options: Any) -> None:
        if os.path.lexists(path):
            self.add("unlink", path)
        self._real.unlink(path, **options)

    _remove = _unlink

    def _mkdir(self, path: Any, *arguments: Any, **options: Any) -> None:
        if not os.path.exists(path):
            self.add("make_directory", path)
        self._real.mkdir(path, *arguments, **options)

    # ---- The C library, for `syncfs`

    def _load_library(self, *arguments: Any, **options: Any) -> Any:
        library = self._real.CDLL(*arguments, **options)
        if arguments != (None,):
            return library

        def syncfs(descriptor: int) -> int:
            try:
                self.add("sync_all", self._paths.get(descriptor))
            except OSError as error:
                ctypes.set_errno(error.errno or 0)
                return -1
            result: int = library.syncfs(descriptor)
            return result

        return _Library(library, syncfs)


_PATCHED = ("open", "close", "write", "ftruncate", "fsync", "replace", "rename", "unlink", "remove", "mkdir")


class _Library:
    """The C library with another `syncfs`."""

    def __init__(self, library: Any, syncfs: Callable[[int], int]) -> None:
        self._library = library
        self.syncfs = syncfs

    def __getattr__(self, name: str) -> Any:
        return getattr(self._library, name)
