"""Which files of a repository there are, in an order that does not depend on the machine.

Folders are walked in the order of their names' bytes. Left out without a word is what a `.gitignore` or an
`.inorderignore` names, in its folder and below, whatever is hidden, and Python's caches. Everything else is listed.
What is not worth an index is listed with the reason to skip it: folders of other people's code as one, and files that
are no text, too large, links, or written by a program.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pathspec

from inorder.stage.sources import IGNORE_FILE, Roots, quoted

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
_CACHE_FOLDER = "__pycache__"
_ENVIRONMENT_MARK = "pyvenv.cfg"


class Found(NamedTuple):
    """A file, and what it is called from now on."""

    item_id: str
    path: str
    size: int
    skip: str = ""
    """Why there is nothing to index in it; empty where there is."""
    language: str | None = None


class _Rules(NamedTuple):
    """What one folder wants left out."""

    below: str
    spec: pathspec.GitIgnoreSpec


class _Folder(NamedTuple):
    path: str
    below: str
    """Its path from the root, with a slash behind."""
    rules: tuple[_Rules, ...]
    """Of all folders above it."""


def discover(roots: Roots) -> Iterator[Found]:
    """Every file below these files and folders."""
    for name, path in roots.paths.items():
        if os.path.isdir(path):
            yield from _walk(path, name)
        else:
            yield _found(path, name)


def _walk(root: str, prefix: str) -> Iterator[Found]:
    """Folder by folder, without recursion: a folder may be deeper than Python likes."""
    stack = [_Folder(root, "", ())]
    while stack:
        folder = stack.pop()
        name = f"{prefix}/{folder.below}".rstrip("/")
        try:
            entries = sorted(os.scandir(folder.path), key=lambda entry: os.fsencode(entry.name))
        except OSError as error:
            yield Found(quoted(name), folder.path, 0, f"the folder cannot be read: {error.strerror}")
            continue
        if folder.below and _is_of_others(folder.path, entries):
            yield Found(quoted(name), folder.path, 0, "other people's code")
            continue
        rules = (*folder.rules, *_rules(folder))
        folders = []
        for entry in entries:
            below = f"{folder.below}{entry.name}"
            is_folder = entry.is_dir(follow_symlinks=False)
            if (
                entry.name.startswith(".")
                or entry.name == _CACHE_FOLDER
                or _is_ignored(rules, f"{below}/" if is_folder else below)
            ):
                continue
            if is_folder:
                folders.append(_Folder(entry.path, f"{below}/", rules))
            else:
                yield _found(entry.path, f"{prefix}/{below}")
        stack.extend(reversed(folders))


def _is_of_others(folder: str, entries: Sequence["os.DirEntry[str]"]) -> bool:
    return os.path.basename(folder) in _OTHERS_FOLDERS or any(entry.name == _ENVIRONMENT_MARK for entry in entries)


def _rules(folder: _Folder) -> Iterator[_Rules]:
    for name in _IGNORE_FILES:
        try:
            lines = Path(folder.path, name).read_text("utf-8", "surrogateescape").splitlines()
        except OSError:
            continue
        yield _Rules(folder.below, pathspec.GitIgnoreSpec.from_lines(lines))


def _is_ignored(rules: Sequence[_Rules], below: str) -> bool:
    """The rules of the innermost folder that say anything about it decide."""
    for folder, spec in reversed(rules):
        verdict = spec.check_file(below[len(folder) :]).include
        if verdict is not None:
            return verdict
    return False


def _found(path: str, item_id: str) -> Found:
    name = quoted(item_id)
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
