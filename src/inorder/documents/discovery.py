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
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pathspec

from inorder.stage.sources import IGNORE_FILE, Roots, quoted

Rules = pathspec.PathSpec[Any]


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
    """Folder by folder, without recursion: a folder may be deeper than Python likes."""
    stack: list[tuple[str, str, list[Rules]]] = [(root, "", [])]
    while stack:
        folder, below, rules = stack.pop()
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: os.fsencode(entry.name))
        except OSError as error:
            yield Found(
                quoted(f"{prefix}/{below}".rstrip("/")), folder, 0, f"the folder cannot be read: {error.strerror}"
            )
            continue
        rules = [*rules, *_rules(folder, below)]
        folders = []
        for entry in entries:
            relative = f"{below}{entry.name}"
            if entry.name.startswith(".") or _is_ignored(rules, relative, entry):
                continue
            if entry.is_dir(follow_symlinks=False):
                folders.append((entry.path, f"{relative}/", rules))
            else:
                yield _found(entry.path, f"{prefix}/{relative}", root)
        stack.extend(reversed(folders))


def _rules(folder: str, below: str) -> list[Rules]:
    """What this folder wants left out, of everything in it."""
    try:
        lines = Path(folder, IGNORE_FILE).read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return []
    anchored = [_anchored(line, below) for line in lines]
    return [pathspec.PathSpec.from_lines("gitignore", anchored)]


def _anchored(line: str, below: str) -> str:
    """A rule of a folder below the root, as a rule of the root."""
    rule = line.strip()
    if not below or not rule or rule.startswith("#"):
        return line
    negation, rule = ("!", rule[1:]) if rule.startswith("!") else ("", rule)
    return f"{negation}/{below}{rule.lstrip('/')}" if "/" in rule.rstrip("/") else f"{negation}/{below}**/{rule}"


def _is_ignored(rules: Sequence[Rules], relative: str, entry: "os.DirEntry[str]") -> bool:
    name = f"{relative}/" if entry.is_dir(follow_symlinks=False) else relative
    verdict = False
    for rule in rules:
        found = rule.check_file(name).include
        if found is not None:
            verdict = found
    return verdict


def _found(path: str, item_id: str, root: str) -> Found:
    name = quoted(item_id)
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
