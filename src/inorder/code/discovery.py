"""Which files of a repository there are, in an order that does not depend on the machine.

Folders are walked in the order of their names' bytes. Left out without a word is what a `.gitignore` or an
`.inorderignore` names, in its folder and below, whatever is hidden, and Python's caches. Everything else is listed.
What is not worth an index is listed with the reason to skip it: folders of other people's code as one, and files that
are no text, too large, links, or written by a program.
"""

import os
import stat
from collections.abc import Iterator
from typing import NamedTuple

from inorder.files.walk import Entries, walk
from inorder.stage.sources import IGNORE_FILE, Roots, quote_id

from .generated import reason_to_skip
from .languages import language_of

SIZE_MAX = 5_000_000
"""Of a file in bytes. What is larger is data."""
HEAD_BYTES = 8192
"""As much as is looked at to tell what a file is."""
_IGNORE_FILES = (".gitignore", IGNORE_FILE)
"""The later one has the last word."""
_OTHERS_FOLDERS = frozenset(
    ("node_modules", "bower_components", "jspm_packages", "vendor", "third_party", "site-packages")
)
_CACHES = frozenset(("__pycache__",))
_ENVIRONMENT_MARK = "pyvenv.cfg"


class Found(NamedTuple):
    """A file, and what it is called from now on."""

    item_id: str
    path: str
    size: int
    skip: str = ""
    """Why there is nothing to index in it; empty where there is."""
    language: str | None = None


def discover(roots: Roots) -> Iterator[Found]:
    """Every file below these files and folders."""
    for name, path in roots.paths.items():
        if os.path.isdir(path):
            yield from _walk(path, name)
        else:
            yield _found(path, name)


def _walk(root: str, prefix: str) -> Iterator[Found]:
    for path, below, skip in walk(root, _IGNORE_FILES, excluded_names=_CACHES, reason_to_skip=_why_of_others):
        name = f"{prefix}/{below}".rstrip("/")
        yield Found(quote_id(name), path, 0, skip) if skip else _found(path, name)


def _why_of_others(folder: str, entries: Entries) -> str:
    is_theirs = os.path.basename(folder) in _OTHERS_FOLDERS or any(entry.name == _ENVIRONMENT_MARK for entry in entries)
    return "other people's code" if is_theirs else ""


def _found(path: str, item_id: str) -> Found:
    name = quote_id(item_id)
    try:
        facts = os.lstat(path)
        if stat.S_ISLNK(facts.st_mode):
            return Found(name, path, 0, "a symbolic link")
        if not stat.S_ISREG(facts.st_mode):
            return Found(name, path, 0, "not a regular file")
        with open(path, "rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError as error:
        return Found(name, path, 0, f"it cannot be read: {error.strerror or error}")
    language = language_of(path, head)
    skip = f"larger than {SIZE_MAX:,} bytes" if facts.st_size > SIZE_MAX else reason_to_skip(path, head)
    return Found(name, path, facts.st_size, skip, language)
