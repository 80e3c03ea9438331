"""The names of a disk: as readers see them, as they are durable, and the changes in between.

Names are independent of the bytes of files. A change of names is pending until its folder is synced; for a rename
between two folders, the target folder. Until then a power loss keeps or loses it as a whole. If that sync fails the
change is uncertain, as with bytes.

Changes of different names are independent. A later change of the same name depends on the earlier ones: a file that was
never created cannot be renamed. So a change that depends on a lost one is lost, and one that a durable change depends
on is durable.

A folder whose own name is lost is lost with everything in it, also what was synced.
"""

import os
import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from errno import EEXIST, EISDIR, ENAMETOOLONG, ENOENT, ENOTDIR
from functools import lru_cache
from posixpath import normpath
from typing import Union

from .choices import Draw
from .contents import Contents
from .operations import os_error

NAME_BYTES_MAX = 255


@dataclass(eq=False, slots=True)
class Folder:
    """The entries of a folder by name."""

    visible: dict[str, "Node"] = field(default_factory=dict)
    """What a reader sees."""
    durable: dict[str, "Node"] = field(default_factory=dict)


Node = Folder | Contents
Layout = dict[str, Union["Layout", Contents]]
"""A folder and everything below it."""
Location = tuple[Folder, str]


@dataclass(slots=True)
class _NameChange:
    """New nodes of some names; None removes a name. The last location is in the folder that must be synced."""

    locations: dict[Location, Node | None]
    is_uncertain: bool = False

    def is_synced_by(self, folder: Folder) -> bool:
        return next(reversed(self.locations))[0] is folder

    def folders(self) -> list[Folder]:
        return [folder for folder, _ in self.locations]


class DirectoryTree:
    """All folders of a disk, from the root."""

    def __init__(self, layout: Layout | None = None) -> None:
        self.root = _build_folder(layout or {})
        self._changes: list[_NameChange] = []

    def find(self, path: str) -> Node:
        """Return the folder or file at this path. Raises OSError if there is none."""
        node: Node = self.root
        for part in _split_path(path):
            node = _find_child(node, part, path)
        return node

    def find_folder(self, path: str) -> Folder:
        """Return the folder at this path."""
        node = self.find(path)
        if not isinstance(node, Folder):
            raise os_error(ENOTDIR, path)
        return node

    def find_file(self, path: str) -> Contents:
        """Return the file at this path."""
        node = self.find(path)
        if isinstance(node, Folder):
            raise os_error(EISDIR, path)
        return node

    def locate(self, path: str) -> Location:
        """Return the parent folder of a path, which need not exist itself, and its last part."""
        *above, last = _split_path(path) or ("",)
        if not last:
            raise os_error(EISDIR, path)
        folder = self.find_folder("/" + "/".join(above))
        _check_length(last, path)
        return folder, last

    def is_below(self, path: str, folder: str) -> bool:
        """Whether a path is in this folder or below it."""
        above = _split_path(folder)
        return _split_path(path)[: len(above)] == above

    def find_missing_folders(self, path: str) -> list[str]:
        """Find the folders to create so that this path exists, the topmost first."""
        parts = _split_path(path)
        paths = ["/" + "/".join(parts[: count + 1]) for count in range(len(parts))]
        for number, each in enumerate(paths):
            try:
                self.find_folder(each)
            except FileNotFoundError:
                return paths[number:]
            except NotADirectoryError:
                raise os_error(EEXIST if each == paths[-1] else ENOTDIR, path) from None
        return []

    def list_nodes(self) -> list[Node]:
        """List every visible folder and file; the folders first, from the root."""
        found: list[Node] = [self.root]
        for node in found:
            if isinstance(node, Folder):
                found.extend(node.visible.values())
        return sorted(found, key=lambda node: not isinstance(node, Folder))

    def change(self, locations: dict[Location, Node | None]) -> None:
        """Change names, all in one step."""
        self._changes.append(_NameChange(locations))
        for (folder, name), node in locations.items():
            _set_name(folder.visible, name, node)

    def sync(self, folder: Folder) -> None:
        """Make the pending changes of this folder durable, and those they depend on."""
        durable, rest = [], []
        names: set[Location] = set()
        for change in reversed(self._changes):
            if (change.is_synced_by(folder) and not change.is_uncertain) or not names.isdisjoint(change.locations):
                names.update(change.locations)
                durable.append(change)
            else:
                rest.append(change)
        self._changes = rest[::-1]
        for change in reversed(durable):
            for (each, name), node in change.locations.items():
                _set_name(each.durable, name, node)

    def mark_sync_failed(self, folder: Folder) -> None:
        """Make the pending changes of this folder uncertain."""
        for change in self._changes:
            if change.is_synced_by(folder):
                change.is_uncertain = True

    def build_layout(self, path: str = "/") -> Layout:
        """Build the visible content of this folder and everything below it."""
        return _build_layout(self.find_folder(path), lambda folder: folder.visible)

    def after_power_loss(self, draw: Draw) -> Layout:
        """Build the names after a power loss. The files are unchanged."""
        found: dict[Folder, dict[str, Node]] = {}
        lost: set[Location | Folder] = set()
        for change in self._changes:
            has_lost_base = not lost.isdisjoint(change.locations) or not lost.isdisjoint(change.folders())
            if has_lost_base or draw(2):
                lost.update(change.locations)
                lost.update(node for node in change.locations.values() if isinstance(node, Folder))
                continue
            for (folder, name), node in change.locations.items():
                _set_name(found.setdefault(folder, dict(folder.durable)), name, node)
        return _build_layout(self.root, lambda folder: found.get(folder, folder.durable))

    def copy(self) -> "DirectoryTree":
        """Return a copy with all pending and uncertain changes, also of bytes."""
        copied: DirectoryTree = pickle.loads(pickle.dumps(self, pickle.HIGHEST_PROTOCOL))
        return copied


def iter_files(layout: Layout, above: str = "") -> Iterator[tuple[str, Contents]]:
    """Yield every file of a layout with its path, sorted within each folder."""
    for name in sorted(layout):
        node = layout[name]
        if isinstance(node, Contents):
            yield above + name, node
        else:
            yield from iter_files(node, f"{above}{name}/")


def replace_files(layout: Layout, replace: Callable[[Contents], Contents]) -> Layout:
    """Replace every file of a layout, in the order of `iter_files`."""
    return {
        name: replace(node) if isinstance(node, Contents) else replace_files(node, replace)
        for name, node in sorted(layout.items())
    }


@lru_cache(maxsize=4096)
def _split_path(path: str) -> tuple[str, ...]:
    if "\0" in path:
        raise ValueError("embedded null byte")
    if not path:
        raise os_error(ENOENT, path)
    return tuple(part for part in normpath("/" + path).split("/") if part)


def _find_child(node: Node, name: str, path: str) -> Node:
    if not isinstance(node, Folder):
        raise os_error(ENOTDIR, path)
    if name not in node.visible:
        _check_length(name, path)
        raise os_error(ENOENT, path)
    return node.visible[name]


def _check_length(name: str, path: str) -> None:
    if len(os.fsencode(name)) > NAME_BYTES_MAX:
        raise os_error(ENAMETOOLONG, path)


def _set_name(names: dict[str, Node], name: str, node: Node | None) -> None:
    if node is None:
        names.pop(name, None)
    else:
        names[name] = node


def _build_folder(layout: Layout) -> Folder:
    nodes: dict[str, Node] = {
        name: node if isinstance(node, Contents) else _build_folder(node) for name, node in layout.items()
    }
    return Folder(nodes, dict(nodes))


def _build_layout(folder: Folder, names_of: Callable[[Folder], dict[str, Node]]) -> Layout:
    return {
        name: node if isinstance(node, Contents) else _build_layout(node, names_of)
        for name, node in names_of(folder).items()
    }
