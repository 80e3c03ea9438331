"""Folders walked in an order that does not depend on the machine: that of their names' bytes.

Left out is whatever is hidden, and what an ignore file names, in its folder and below, in the syntax of `.gitignore`.
Links to folders are not followed, so no loop is walked.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pathspec

Entries = Sequence["os.DirEntry[str]"]


class Walked(NamedTuple):
    """A file; or a folder that is not gone into, and why."""

    path: str
    below: str
    """Its path from the root."""
    trouble: str = ""


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


def walk(
    root: str,
    ignore_files: Sequence[str],
    *,
    left_out: frozenset[str] = frozenset(),
    why_not: Callable[[str, Entries], str] = lambda path, entries: "",
) -> Iterator[Walked]:
    """Every file below a folder. Of several ignore files the later has the last word; `left_out` are further names to
    leave out; `why_not` may refuse a folder below the root, from its path and what is in it."""
    stack = [_Folder(root, "", ())]  # without recursion: a folder may be deeper than Python likes
    while stack:
        folder = stack.pop()
        name = folder.below.rstrip("/")
        try:
            entries = sorted(os.scandir(folder.path), key=lambda entry: os.fsencode(entry.name))
        except OSError as error:
            yield Walked(folder.path, name, f"the folder cannot be read: {error.strerror}")
            continue
        if folder.below and (reason := why_not(folder.path, entries)):
            yield Walked(folder.path, name, reason)
            continue
        rules = (*folder.rules, *_rules(folder, ignore_files))
        folders = []
        for entry in entries:
            below = f"{folder.below}{entry.name}"
            is_folder = entry.is_dir(follow_symlinks=False)
            is_hidden = entry.name.startswith(".") or entry.name in left_out
            if is_hidden or _is_ignored(rules, f"{below}/" if is_folder else below):
                continue
            if is_folder:
                folders.append(_Folder(entry.path, f"{below}/", rules))
            else:
                yield Walked(entry.path, below)
        stack.extend(reversed(folders))


def _rules(folder: _Folder, names: Sequence[str]) -> Iterator[_Rules]:
    for name in names:
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
