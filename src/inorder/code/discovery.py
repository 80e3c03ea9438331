"""Find the files of a repository, in an order that does not depend on the machine.

Folders are walked in the byte order of their names. Hidden files, Python caches, and what a `.gitignore` or an
`.inorderignore` excludes in its folder and below, are left out. Everything else is listed. What should not be indexed
is listed with a reason to skip it: folders of third-party code, as one entry each, and files that are binary, too
large, generated, or symbolic links. What cannot be read is listed with the problem.

Of a remote source, the names decide what is fetched: objects whose name says no language are skipped without a request.
"""

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from typing import NamedTuple

from inorder.files.heads import read_head
from inorder.files.walk import UNREADABLE_FOLDER, FolderFiles, WalkEntry, list_entries, walk_by_folder
from inorder.sources.remote_input import RemoteInput
from inorder.sources.visible import list_objects
from inorder.stage.sources import IGNORE_FILE, Roots, is_address, quote_id, require_root

from .generated import reason_to_skip
from .languages import language_of

SIZE_MAX = 5_000_000
"""Limit for a file in bytes. A larger one is data, not source code."""
TOO_LARGE = f"larger than {SIZE_MAX:,} bytes"
HEAD_BYTES = 8192
"""How much of a file is read to tell its language and whether to skip it."""
CODE_IGNORE_FILES = (".gitignore", IGNORE_FILE)
"""If both have a rule for a file, the later one wins."""
_THIRD_PARTY_FOLDERS = frozenset(
    ("node_modules", "bower_components", "jspm_packages", "vendor", "third_party", "site-packages")
)
THIRD_PARTY = "third-party code"
CACHES = frozenset(("__pycache__",))
"""Names of folders that have no source code."""
_VIRTUAL_ENVIRONMENT_FILE = "pyvenv.cfg"


class CodeFile(NamedTuple):
    """A file of a repository, or a folder that is skipped as a whole."""

    item_id: str
    path: str
    size: int
    skip: str = ""
    """Why it is not indexed; empty if it is."""
    language: str | None = None
    problem: str = ""
    """Why it cannot be read; empty if no reason is known."""
    source: RemoteInput | None = None
    """What reads its content; None: it is a file."""


def discover(roots: Roots, is_known: Callable[[str, str], bool] = lambda item_id, path: False) -> Iterator[CodeFile]:
    """List every file below these roots. A file for which `is_known` returns true, from its item id and path, is left
    out and never opened. Raises OperatorError if a root is missing, and OperatorError or InfrastructureError if a
    remote root cannot be listed."""
    for name, path in roots.paths.items():
        if is_address(path):
            yield from _discover_remote(roots, name, is_known)
        elif os.path.isdir(path):
            yield from _walk(roots, path, name, is_known)
            require_root(path)
        else:
            require_root(path)
            if not is_known(quote_id(name), path):
                yield _inspect(path, name)


def describe_names(roots: Roots, excluded: str) -> bytes | None:
    """What changes whenever `discover` would list other names, except below the folder `excluded`. None: it is not
    known, or there is more than files: a remote source, or a folder that is skipped or cannot be read."""
    digest = blake2b(digest_size=16)
    for name, path in roots.paths.items():
        if is_address(path):
            return None
        digest.update(f"{name}\0{path}\0".encode("utf-8", "surrogatepass"))
        for found in _walk_by_folder(path) if os.path.isdir(path) else ():
            if isinstance(found, WalkEntry):
                return None
            if not found.path.startswith(f"{excluded}/"):
                text = "\0".join([found.relative, *found.names, "/"])
                digest.update(text.encode("utf-8", "surrogatepass"))
        require_root(path)
    return digest.digest()


def _walk(roots: Roots, root: str, prefix: str, is_known: Callable[[str, str], bool]) -> Iterator[CodeFile]:
    for path, below, reason in list_entries(_walk_by_folder(root)):
        name = f"{prefix}/{below}" if below else prefix
        if reason and reason.startswith(UNREADABLE_FOLDER):
            roots.add_unreadable(quote_id(name))
        if is_known(quote_id(name), path):
            continue
        if not reason:
            yield _inspect(path, name)
        elif reason == THIRD_PARTY:
            yield CodeFile(quote_id(name), path, 0, reason)
        else:
            yield CodeFile(quote_id(name), path, 0, problem=reason)


def _walk_by_folder(root: str) -> Iterator[FolderFiles | WalkEntry]:
    return walk_by_folder(root, CODE_IGNORE_FILES, excluded_names=CACHES, reason_to_skip=find_third_party_reason)


def _discover_remote(roots: Roots, name: str, is_known: Callable[[str, str], bool]) -> Iterator[CodeFile]:
    skipped_folder = ""
    for item_id, source, problem in list_objects(roots, name, CODE_IGNORE_FILES):
        folders = item_id.split("/")[1:-1]
        if is_known(item_id, source.address) or not CACHES.isdisjoint(folders):
            continue
        depth = next((number for number, each in enumerate(folders, 2) if each in _THIRD_PARTY_FOLDERS), 0)
        if depth:
            folder = "/".join(item_id.split("/")[:depth])
            if folder != skipped_folder:
                yield CodeFile(folder, folder, 0, THIRD_PARTY)
            skipped_folder = folder
            continue
        language = language_of(source.path, b"")
        skip = "" if language else "not fetched: its name says no programming language"
        skip = skip or (TOO_LARGE if source.size > SIZE_MAX else reason_to_skip(source.path, b""))
        yield CodeFile(item_id, source.address, source.size, skip, language, problem, source)


def find_third_party_reason(folder: str, files: Sequence[str]) -> str:
    """Return why a folder with these files is not read as source code; empty: it is."""
    is_third_party = os.path.basename(folder) in _THIRD_PARTY_FOLDERS or _VIRTUAL_ENVIRONMENT_FILE in files
    return THIRD_PARTY if is_third_party else ""


def _inspect(path: str, item_id: str) -> CodeFile:
    name = quote_id(item_id)
    try:
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            return CodeFile(name, path, 0, "a symbolic link")
        if not stat.S_ISREG(status.st_mode):
            return CodeFile(name, path, 0, "not a regular file")
        head = read_head(path, HEAD_BYTES)
    except OSError as error:
        return CodeFile(name, path, 0, problem=f"the file cannot be read: {error.strerror or error}")
    language = language_of(path, head)
    skip = TOO_LARGE if status.st_size > SIZE_MAX else reason_to_skip(path, head)
    return CodeFile(name, path, status.st_size, skip, language)
