"""Directory listings, sorted by the bytes of the names, that several walks can share.

`inorder run` walks the same sources for documents and for code. Inside `share_listings` a directory is read from disk
once, and every later walk sees the listing of the first one.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

Listed = TypeVar("Listed")

_shared: dict[str, str] | None = None
"""Listings by path while they are shared, in a compact form: a source may have millions of files."""
_shared_remote: dict[str, Any] = {}
"""Listings of remote sources by address while they are shared."""


class DirectoryEntry(NamedTuple):
    """A name in a directory."""

    name: str
    is_folder: bool
    """Whether it is a directory itself; a symbolic link is not."""


@contextmanager
def share_listings() -> Iterator[None]:
    """Remember every listing until the end of the block. Blocks may be nested."""
    global _shared
    outer = _shared
    _shared = {} if outer is None else outer
    try:
        yield
    finally:
        _shared = outer
        if outer is None:
            _shared_remote.clear()


def share_remote(address: str, take: Callable[[], Listed]) -> Listed:
    """The listing of a remote source: the one that was taken first, while listings are shared."""
    if _shared is None:
        return take()
    if address not in _shared_remote:
        _shared_remote[address] = take()
    found: Listed = _shared_remote[address]
    return found


def list_folder(path: str) -> Sequence[DirectoryEntry]:
    """The entries of a directory. Raises `OSError` if it cannot be read."""
    if _shared is None:
        return _read(path)
    if path not in _shared:
        entries = _read(path)
        _shared[path] = "\0".join(f"{entry.name}/" if entry.is_folder else entry.name for entry in entries)
        return entries
    names = _shared[path].split("\0") if _shared[path] else []
    return [DirectoryEntry(name.removesuffix("/"), name.endswith("/")) for name in names]


def _read(path: str) -> list[DirectoryEntry]:
    with os.scandir(path) as found:
        entries = [DirectoryEntry(entry.name, entry.is_dir(follow_symlinks=False)) for entry in found]
    return sorted(entries, key=lambda entry: os.fsencode(entry.name))
