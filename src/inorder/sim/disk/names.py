"""The names of a disk: as readers see them, as they are safe, and what was changed in between.

What a folder holds is apart from what files hold. A change of names is pending until the folder it happened in is
synced; of a rename between two folders, the one it went to. Until then a loss of power keeps or loses it as a whole,
and without regard to the bytes of the file. If that sync fails it is in limbo, as bytes are.

Changes of different names know nothing of each other. Of one and the same name a later change builds upon the earlier
ones: a file cannot be renamed that was never made. So what builds upon a lost change is lost, and what a safe change
builds upon is safe.

A folder whose own name is lost is gone with everything in it, however often that was synced.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from errno import EEXIST, EISDIR, ENAMETOOLONG, ENOENT, ENOTDIR
from functools import lru_cache
from posixpath import normpath
from typing import Union

from .choices import Draw
from .contents import Contents
from .operations import trouble

NAME_BYTES_MAX = 255


@dataclass(eq=False, slots=True)
class Folder:
    """Names, and what they stand for."""

    seen: dict[str, "Node"] = field(default_factory=dict)
    """What a reader sees."""
    safe: dict[str, "Node"] = field(default_factory=dict)


Node = Folder | Contents
Layout = dict[str, Union["Layout", Contents]]
"""A folder and all below it."""
Place = tuple[Folder, str]


@dataclass(slots=True)
class _Change:
    """What some names stand for from now on; None: nothing. The last is that of the folder to be synced."""

    places: dict[Place, Node | None]
    is_in_limbo: bool = False

    def is_of(self, folder: Folder) -> bool:
        return next(reversed(self.places))[0] is folder

    def folders(self) -> list[Folder]:
        return [folder for folder, _ in self.places]


class Names:
    """Every folder of a disk, from its root."""

    def __init__(self, layout: Layout | None = None) -> None:
        self.root = _planted(layout or {})
        self._changes: list[_Change] = []

    def find(self, path: str) -> Node:
        """What has this name. Raises OSError where nothing has."""
        node: Node = self.root
        for part in _parts(path):
            node = _child(node, part, path)
        return node

    def folder(self, path: str) -> Folder:
        """The folder of this name."""
        node = self.find(path)
        if not isinstance(node, Folder):
            raise trouble(ENOTDIR, path)
        return node

    def file(self, path: str) -> Contents:
        """The file of this name."""
        node = self.find(path)
        if isinstance(node, Folder):
            raise trouble(EISDIR, path)
        return node

    def place(self, path: str) -> Place:
        """The folder that a name is in, or would be, and its last part."""
        *above, last = _parts(path) or ("",)
        if not last:
            raise trouble(EISDIR, path)
        folder = self.folder("/" + "/".join(above))
        _check_length(last, path)
        return folder, last

    def is_below(self, path: str, folder: str) -> bool:
        """Whether a path leads through this folder."""
        above = _parts(folder)
        return _parts(path)[: len(above)] == above

    def missing_folders(self, path: str) -> list[str]:
        """The folders that are to be made until there is one of this name, the topmost first."""
        parts = _parts(path)
        paths = ["/" + "/".join(parts[: count + 1]) for count in range(len(parts))]
        for number, each in enumerate(paths):
            try:
                self.folder(each)
            except FileNotFoundError:
                return paths[number:]
            except NotADirectoryError:
                raise trouble(EEXIST if each == paths[-1] else ENOTDIR, path) from None
        return []

    def everything(self) -> list[Node]:
        """Every folder and file that a reader sees; the folders first, from the root."""
        found: list[Node] = [self.root]
        for node in found:
            if isinstance(node, Folder):
                found.extend(node.seen.values())
        return sorted(found, key=lambda node: not isinstance(node, Folder))

    def change(self, places: dict[Place, Node | None]) -> None:
        """Let names stand for something else, all in one act."""
        self._changes.append(_Change(places))
        for (folder, name), node in places.items():
            _set(folder.seen, name, node)

    def sync(self, folder: Folder) -> None:
        """Make safe what is pending in this folder, and what that builds upon."""
        safe, rest = [], []
        names: set[Place] = set()
        for change in reversed(self._changes):
            if (change.is_of(folder) and not change.is_in_limbo) or not names.isdisjoint(change.places):
                names.update(change.places)
                safe.append(change)
            else:
                rest.append(change)
        self._changes = rest[::-1]
        for change in reversed(safe):
            for (each, name), node in change.places.items():
                _set(each.safe, name, node)

    def fail_to_sync(self, folder: Folder) -> None:
        """Put what is pending in this folder into limbo."""
        for change in self._changes:
            if change.is_of(folder):
                change.is_in_limbo = True

    def layout(self, path: str = "/") -> Layout:
        """What a reader sees of this folder and all below it."""
        return _grown(self.folder(path), lambda folder: folder.seen)

    def after_power_loss(self, draw: Draw) -> Layout:
        """What is found of the names; the files are as they were."""
        found: dict[Folder, dict[str, Node]] = {}
        lost: set[Place | Folder] = set()
        for change in self._changes:
            is_groundless = not lost.isdisjoint(change.places) or not lost.isdisjoint(change.folders())
            if is_groundless or draw(2):
                lost.update(change.places)
                lost.update(node for node in change.places.values() if isinstance(node, Folder))
                continue
            for (folder, name), node in change.places.items():
                _set(found.setdefault(folder, dict(folder.safe)), name, node)
        return _grown(self.root, lambda folder: found.get(folder, folder.safe))

    def copy(self) -> "Names":
        """The same, with everything that is pending or in limbo."""
        twins = _Twins()
        copied = Names()
        copied.root = twins.folder(self.root)
        for change in self._changes:
            places = {(twins.folder(folder), name): twins.node(node) for (folder, name), node in change.places.items()}
            copied._changes.append(_Change(places, change.is_in_limbo))
        return copied


class _Twins:
    """Copies nodes, each once, whether it is met under its old name, its new one, or none."""

    def __init__(self) -> None:
        self._folders: dict[Folder, Folder] = {}
        self._files: dict[Contents, Contents] = {}

    def node(self, node: Node | None) -> Node | None:
        if isinstance(node, Folder):
            return self.folder(node)
        return None if node is None else self.file(node)

    def folder(self, folder: Folder) -> Folder:
        if folder not in self._folders:
            twin = self._folders[folder] = Folder()
            twin.seen = self._names(folder.seen)
            twin.safe = self._names(folder.safe)
        return self._folders[folder]

    def file(self, file: Contents) -> Contents:
        if file not in self._files:
            self._files[file] = file.copy()
        return self._files[file]

    def _names(self, names: dict[str, Node]) -> dict[str, Node]:
        return {
            name: self.folder(node) if isinstance(node, Folder) else self.file(node) for name, node in names.items()
        }


def files(layout: Layout, above: str = "") -> Iterator[tuple[str, Contents]]:
    """Every file of a layout with its path, sorted within each folder."""
    for name in sorted(layout):
        node = layout[name]
        if isinstance(node, Contents):
            yield above + name, node
        else:
            yield from files(node, f"{above}{name}/")


def with_files(layout: Layout, become: Callable[[Contents], Contents]) -> Layout:
    """The same folders with other files in them, in the same order as `files`."""
    return {
        name: become(node) if isinstance(node, Contents) else with_files(node, become)
        for name, node in sorted(layout.items())
    }


@lru_cache(maxsize=4096)
def _parts(path: str) -> tuple[str, ...]:
    if "\0" in path:
        raise ValueError("embedded null byte")
    if not path:
        raise trouble(ENOENT, path)
    return tuple(part for part in normpath("/" + path).split("/") if part)


def _child(node: Node, name: str, path: str) -> Node:
    if not isinstance(node, Folder):
        raise trouble(ENOTDIR, path)
    if name not in node.seen:
        _check_length(name, path)
        raise trouble(ENOENT, path)
    return node.seen[name]


def _check_length(name: str, path: str) -> None:
    if len(os.fsencode(name)) > NAME_BYTES_MAX:
        raise trouble(ENAMETOOLONG, path)


def _set(names: dict[str, Node], name: str, node: Node | None) -> None:
    if node is None:
        names.pop(name, None)
    else:
        names[name] = node


def _planted(layout: Layout) -> Folder:
    nodes: dict[str, Node] = {
        name: node if isinstance(node, Contents) else _planted(node) for name, node in layout.items()
    }
    return Folder(nodes, dict(nodes))


def _grown(folder: Folder, names_of: Callable[[Folder], dict[str, Node]]) -> Layout:
    return {
        name: node if isinstance(node, Contents) else _grown(node, names_of) for name, node in names_of(folder).items()
    }
