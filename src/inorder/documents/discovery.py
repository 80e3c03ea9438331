"""Which documents there are, in an order that does not depend on the machine.

Folders are walked in the order of their names' bytes. Hidden files, and what an `.inorderignore` names (in the syntax
of `.gitignore`), are left out. A symbolic link is followed only to a file within the root it lies in, so nothing is
read that was not given, and no loop is walked. What is no regular file (a pipe, a socket) is listed as such, never
opened.

An item's id is its path below its root, with the name of the root in front: `docs/a/b.pdf`. So the same file under two
roots is two items, and adding a root changes no id.
"""

import os
import stat
from collections.abc import Iterator
from typing import NamedTuple

from inorder.files.walk import walk
from inorder.stage.sources import IGNORE_FILE, Roots, quote_id


class Found(NamedTuple):
    """A file, and what it is called from now on."""

    item_id: str
    path: str
    size: int
    trouble: str = ""
    """Why it cannot be read; empty: nothing is known against it."""


def discover(roots: Roots) -> Iterator[Found]:
    """Every document candidate below these files and folders."""
    for name, path in roots.paths.items():
        if os.path.isdir(path):
            yield from _walk(path, name)
        else:
            yield _found(path, name, os.path.dirname(path))


def _walk(root: str, prefix: str) -> Iterator[Found]:
    for path, below, trouble in walk(root, (IGNORE_FILE,)):
        name = f"{prefix}/{below}".rstrip("/")
        yield Found(quote_id(name), path, 0, trouble) if trouble else _found(path, name, root)


def _found(path: str, item_id: str, root: str) -> Found:
    name = quote_id(item_id)
    try:
        if os.path.islink(path) and not _is_below(os.path.realpath(path), os.path.realpath(root)):
            return Found(name, path, 0, "a symbolic link that leads out of the folder it was found in")
        facts = os.stat(path)
    except OSError as error:
        return Found(name, path, 0, f"it cannot be read: {error.strerror or error}")
    if not stat.S_ISREG(facts.st_mode):
        return Found(name, path, 0, "not a regular file")
    if not os.access(path, os.R_OK):
        return Found(name, path, facts.st_size, "it cannot be read: Permission denied")
    return Found(name, path, facts.st_size)


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")
