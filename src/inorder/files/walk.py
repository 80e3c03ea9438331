"""Walk folders in an order that does not depend on the machine: the byte order of names.

Hidden entries are left out, and so are those that an ignore file names, in its folder and below. Ignore files have the
syntax of `.gitignore`. Links to folders are not followed, so there are no loops.
"""

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pathspec

from .listing import DirectoryEntry, list_folder

Entries = Sequence[DirectoryEntry]
UNREADABLE_FOLDER = "the folder cannot be read"
"""How the problem of a folder begins whose entries are not known."""


class WalkEntry(NamedTuple):
    """A file; or a folder that is not entered, with the reason."""

    path: str
    relative: str
    """Its path from the root."""
    problem: str = ""


class IgnoreRules(NamedTuple):
    """The rules of one ignore file."""

    folder: str
    """Its path from the root, with a slash at the end."""
    spec: pathspec.GitIgnoreSpec


class _Folder(NamedTuple):
    path: str
    relative: str
    """Its path from the root, with a slash at the end."""
    rules: tuple[IgnoreRules, ...]
    """The rules of all folders above it."""


def walk(
    root: str,
    ignore_files: Sequence[str],
    *,
    excluded_names: frozenset[str] = frozenset(),
    reason_to_skip: Callable[[str, Entries], str] = lambda path, entries: "",
) -> Iterator[WalkEntry]:
    """Every file below a folder.

    Of several ignore files in one folder the last has precedence. `excluded_names` are further names to leave out.
    `reason_to_skip` gets the path and the entries of each folder below the root; a folder for which it returns a reason
    is not entered.
    """
    stack = [_Folder(root, "", ())]  # no recursion: folders may be nested deeper than Python's stack allows
    while stack:
        folder = stack.pop()
        name = folder.relative.rstrip("/")
        try:
            entries = list_folder(folder.path)
        except OSError as error:
            yield WalkEntry(folder.path, name, f"{UNREADABLE_FOLDER}: {error.strerror}")
            continue
        if folder.relative and (reason := reason_to_skip(folder.path, entries)):
            yield WalkEntry(folder.path, name, reason)
            continue
        rules = (*folder.rules, *_read_rules(folder, ignore_files))
        folders = []
        start = os.path.join(folder.path, "")
        for entry in entries:
            name = entry.name
            if name.startswith(".") or name in excluded_names:
                continue
            path, relative = f"{start}{name}", f"{folder.relative}{name}"
            if rules and is_ignored(rules, f"{relative}/" if entry.is_folder else relative):
                continue
            if entry.is_folder:
                folders.append(_Folder(path, f"{relative}/", rules))
            else:
                yield WalkEntry(path, relative)
        stack.extend(reversed(folders))


class WalkedFolder(NamedTuple):
    """A folder below a root, with the rules that hold in it."""

    path: str
    relative: str
    """Its path from the root, with a slash at the end; empty: it is the root."""
    rules: tuple[IgnoreRules, ...]

    def leaves_out(self, name: str, *, is_folder: bool) -> bool:
        """Whether a walk leaves out the entry of this name: it is hidden, or the rules name it."""
        relative = f"{self.relative}{name}/" if is_folder else f"{self.relative}{name}"
        return name.startswith(".") or is_ignored(self.rules, relative)


def walk_folders(
    root: str, ignore_files: Sequence[str], *, excluded_paths: Collection[str] = ()
) -> Iterator[WalkedFolder]:
    """Every folder that `walk` enters, the root included, except `excluded_paths` and what lies below them. A folder
    that cannot be read is left out."""
    stack = [_Folder(root, "", ())]
    while stack:
        folder = stack.pop()
        try:
            entries = list_folder(folder.path)
        except OSError:
            continue
        found = WalkedFolder(folder.path, folder.relative, (*folder.rules, *_read_rules(folder, ignore_files)))
        yield found
        for entry in reversed(entries):
            path = os.path.join(folder.path, entry.name)
            if entry.is_folder and path not in excluded_paths and not found.leaves_out(entry.name, is_folder=True):
                stack.append(_Folder(path, f"{folder.relative}{entry.name}/", found.rules))


def _read_rules(folder: _Folder, names: Sequence[str]) -> Iterator[IgnoreRules]:
    for name in names:
        try:
            text = Path(folder.path, name).read_text("utf-8", "surrogateescape")
        except OSError:
            continue
        yield parse_rules(folder.relative, text)


def parse_rules(folder: str, text: str) -> IgnoreRules:
    """The rules of an ignore file in a folder, whose path from the root ends with a slash."""
    return IgnoreRules(folder, pathspec.GitIgnoreSpec.from_lines(text.splitlines()))


def is_ignored(rules: Sequence[IgnoreRules], relative: str) -> bool:
    """Whether these rules exclude a path from the root; that of a folder ends with a slash. The rules of the innermost
    folder that match the path decide."""
    for folder, spec in reversed(rules):
        verdict = spec.check_file(relative[len(folder) :]).include
        if verdict is not None:
            return verdict
    return False
