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

Rules = pathspec.PathSpec[Any]
IGNORE_FILE = ".inorderignore"


class Found(NamedTuple):
    """A file, and what it is called from now on."""

    item_id: str
    path: str
    size: int
    trouble: str = ""
    """Why it cannot be read; empty: nothing is known against it."""


class Roots:
    """Files and folders to look into, and what each is called."""

    def __init__(self, sources: Sequence[str | Path]) -> None:
        self.paths: dict[str, str] = {}
        """By name."""
        for source in sources:
            path = os.path.abspath(os.fspath(source))
            if path in self.paths.values():
                continue
            base = os.path.basename(path) or "root"
            name, number = base, 1
            while name in self.paths:
                number += 1
                name = f"{base}~{number}"
            self.paths[name] = path

    def has(self, item_id: str) -> bool:
        """Whether an item of this id would be found below one of them."""
        return any(item_id == name or item_id.startswith((f"{name}/", f"{name}#")) for name in map(quoted, self.paths))


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


def quoted(item_id: str) -> str:
    """An id that can be written anywhere and names a file: odd bytes, control characters and `%` as `%XX`."""
    return "".join(_quoted_character(character) for character in item_id)


def _quoted_character(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is no text
        return f"%{code - 0xDC00:02X}"
    is_mark = 0x202A <= code <= 0x202E or 0x2066 <= code <= 0x2069 or code in (0x200E, 0x200F, 0x61C)
    if code < 0x20 or code == 0x7F or character == "%" or is_mark or 0xD800 <= code <= 0xDFFF:
        return "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "surrogatepass"))
    return character
