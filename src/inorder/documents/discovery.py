"""The documents below the sources, in an order that does not depend on the machine.

Folders are walked in the byte order of their entries' names. Hidden files, and files that an `.inorderignore` names (in
the syntax of `.gitignore`), are left out. A symbolic link is followed only to a file within its root, so that nothing
outside of the sources is read and there are no loops. A path that is not a regular file (a pipe, a socket) is reported
as a problem and never opened. The objects of a remote source are in the byte order of their keys.

An item's id is its path below its root, with the name of the root in front: `docs/a/b.pdf`. So the same file under two
roots is two items, and adding a root changes no id.
"""

import os
import stat
from collections.abc import Iterator
from time import time_ns
from typing import NamedTuple

from inorder.files.walk import UNREADABLE_FOLDER, walk
from inorder.sources.visible import list_objects
from inorder.stage.file_stat import FileStat
from inorder.stage.sources import IGNORE_FILE, Roots, is_address, quote_id, require_root
from inorder.stage.store.inputs import AddressedInput


class DocumentFile(NamedTuple):
    """A document below the sources, and the id of its item: a file, or content with an address."""

    item_id: str
    path: str
    """The path of the file, or the address."""
    size: int
    problem: str = ""
    """Why it cannot be read; empty if no reason is known."""
    stat: FileStat | None = None
    """Its stat, or that of the file that it is a part of; None: it cannot be read, or there is no file."""
    source: AddressedInput | None = None
    """What reads its content; None: it is a file."""
    kind: str = ""
    """Its kind, as `sniff` returns it, if it is known without reading the first bytes; empty: it is not."""
    sha256: str = ""
    """Of its content, if it is known without reading it."""


def discover(roots: Roots) -> Iterator[DocumentFile]:
    """Every file below these roots that may be a document. Raises OperatorError if a root is missing, and OperatorError
    or InfrastructureError if a remote root cannot be listed."""
    for name, path in roots.paths.items():
        if is_address(path):
            for item_id, source, problem in list_objects(roots, name, (IGNORE_FILE,)):
                yield DocumentFile(item_id, source.address, source.size, problem, None, source)
        elif os.path.isdir(path):
            yield from _discover_folder(roots, path, name)
            require_root(path)
        else:
            require_root(path)
            yield inspect_file(path, name, os.path.dirname(path))


def _discover_folder(roots: Roots, root: str, prefix: str) -> Iterator[DocumentFile]:
    for path, relative, problem in walk(root, (IGNORE_FILE,)):
        name = f"{prefix}/{relative}" if relative else prefix
        if not problem:
            yield inspect_file(path, name, root)
            continue
        if problem.startswith(UNREADABLE_FOLDER):
            roots.add_unreadable(quote_id(name))
        yield DocumentFile(quote_id(name), path, 0, problem)


def inspect_file(path: str, item_id: str, root: str) -> DocumentFile:
    """The file at a path, which lies below this root."""
    name = quote_id(item_id)
    try:
        read_ns = time_ns()
        info = os.lstat(path)
        if stat.S_ISLNK(info.st_mode):
            if not _is_below(os.path.realpath(path), os.path.realpath(root)):
                return DocumentFile(name, path, 0, "a symbolic link to a file outside of the source folder")
            info = os.stat(path)
    except OSError as error:
        return DocumentFile(name, path, 0, f"the file cannot be read: {error.strerror or error}")
    if not stat.S_ISREG(info.st_mode):
        return DocumentFile(name, path, 0, "not a regular file")
    return DocumentFile(name, path, info.st_size, "", FileStat.make(info, read_ns))


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")
