"""The entries of a directory, sorted by the bytes of the names."""

import os
from typing import NamedTuple


class FolderListing(NamedTuple):
    """The names in a directory."""

    files: list[str]
    """Those that are not directories themselves; a symbolic link is none."""
    folders: list[str]


def list_folder(path: str) -> FolderListing:
    """Return the entries of a directory. Raises `OSError` if it cannot be read."""
    found = FolderListing([], [])
    files, folders = found
    with os.scandir(path) as entries:
        for entry in entries:
            (folders if entry.is_dir(follow_symlinks=False) else files).append(entry.name)
    for names in found:
        names.sort(key=None if all(map(str.isascii, names)) else os.fsencode)
    return found
