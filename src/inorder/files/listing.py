"""Directory listings, sorted by the bytes of the names, that several walks can share.

`inorder run` walks the same sources for documents and for code. Inside `share_listings` a directory is read from disk
once, and every later walk sees the listing of the first one.
"""

import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

Listed = TypeVar("Listed")

_shared: dict[str, bytes] | None = None
"""Listings by path while they are shared, in a compact form: a source may have millions of files."""
_COMPRESSED_BYTES_MIN = 2000
"""Shorter listings are kept as they are: it takes longer to start a compressor than to read them."""
_RAW, _COMPRESSED = b"\0", b"\1"
_shared_remote: dict[str, Any] = {}
"""Listings of remote sources by address while they are shared."""


class FolderListing(NamedTuple):
    """The names in a directory."""

    files: list[str]
    """Those that are not directories themselves; a symbolic link is none."""
    folders: list[str]


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


def list_folder(path: str) -> FolderListing:
    """The entries of a directory. Raises `OSError` if it cannot be read."""
    if _shared is None:
        return _read(path)
    if path not in _shared:
        found = _read(path)
        _shared[path] = _pack(found)
        return found
    return _unpack(_shared[path])


def _pack(found: FolderListing) -> bytes:
    text = os.fsencode("/".join(["\0".join(found.files), "\0".join(found.folders)]))
    return _RAW + text if len(text) < _COMPRESSED_BYTES_MIN else _COMPRESSED + zlib.compress(text, 1)


def _unpack(packed: bytes) -> FolderListing:
    text = os.fsdecode(packed[1:] if packed[:1] == _RAW else zlib.decompress(packed[1:]))
    files, folders = (names.split("\0") if names else [] for names in text.split("/"))
    return FolderListing(files, folders)


def _read(path: str) -> FolderListing:
    found = FolderListing([], [])
    files, folders = found
    with os.scandir(path) as entries:
        for entry in entries:
            (folders if entry.is_dir(follow_symlinks=False) else files).append(entry.name)
    for names in found:
        names.sort(key=None if all(map(str.isascii, names)) else os.fsencode)
    return found
