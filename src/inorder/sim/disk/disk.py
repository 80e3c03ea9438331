"""A disk in memory that can lose what was not synced.

A test that kills a process cannot detect a missing sync: the operating system still writes everything in the end. This
disk can show what a power loss would leave instead. Usually there are many possible states: every write, truncation and
change of a name since the last sync is kept or lost independently. `states` enumerates them.

    disk = Disk()
    write_atomic(disk, "settings", b"new")
    for found in disk.states():
        ...

`contents` has the rules for bytes and `names` those for names. `crash.power_loss` loses power at every moment of a
program. A disk is for one thread, because its operations are numbered.
"""

import os
from collections.abc import Iterator
from errno import EISDIR, ENOTEMPTY
from hashlib import blake2b
from weakref import WeakSet

from inorder.host.filesystem import PathInfo

from .choices import Draw, enumerate_all, sample_some
from .contents import Contents, Medium
from .file import DiskFile
from .names import DirectoryTree, Folder, Layout, iter_files, replace_files
from .operations import DiskFaults, OnOperation, Operations, os_error

FREE_BYTES = 2**40
"""Free bytes of a disk without a capacity."""

STATES_MIN = 2
"""Everything kept, and nothing kept: with fewer states a test would prove nothing."""

DEFAULT_FAULTS = DiskFaults()
DEFAULT_MEDIUM = Medium()


class Disk:
    """A filesystem in memory that can lose unsynced data; implements `host.filesystem.Filesystem`.

    `on_operation` is called before every durable operation. `faults` lets operations fail. `medium` says how unsynced
    writes can be damaged. With `syncs=False` the disk reports syncs that it does not do, so that a test of durability
    must fail on it. Paths start at its root, with or without a `/`.

    >>> from inorder.testing import Disk
    >>> disk = Disk()
    >>> disk.open("file").append(b"not synced")
    >>> disk.crash(lambda ways: 1).stat("file") is None
    True
    """

    def __init__(
        self,
        *,
        on_operation: OnOperation | None = None,
        faults: DiskFaults = DEFAULT_FAULTS,
        medium: Medium = DEFAULT_MEDIUM,
        syncs: bool = True,
    ) -> None:
        self._operations = Operations(faults, on_operation)
        self._medium = medium
        self._syncs = syncs
        self._tree = DirectoryTree()
        self._handles: WeakSet[DiskFile] = WeakSet()

    # ---- The filesystem protocol

    def open(self, path: str) -> DiskFile:
        """Open a file, which is created if it does not exist."""
        try:
            contents = self._powered_tree.find_file(path)
        except FileNotFoundError:
            location = self._powered_tree.locate(path)
            contents = Contents()
            self._operations.begin("create", path)
            self._powered_tree.change({location: contents})
        file = DiskFile(path, contents, self._operations, self._free_bytes, syncs=self._syncs)
        self._handles.add(file)
        return file

    def read(self, path: str) -> bytes:
        """Read a whole file."""
        contents = self._powered_tree.find_file(path)
        self._operations.begin_read(path)
        return bytes(contents.visible)

    def stat(self, path: str) -> PathInfo | None:
        """Return size and kind of a path, or None."""
        try:
            node = self._powered_tree.find(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        return PathInfo(0, True) if isinstance(node, Folder) else PathInfo(len(node.visible), False)

    def rename(self, old: str, new: str) -> None:
        """Rename a file. Folders cannot be renamed."""
        source, target = self._powered_tree.locate(old), self._powered_tree.locate(new)
        contents = self._powered_tree.find_file(old)
        if isinstance(target[0].visible.get(target[1]), Folder):
            raise os_error(ENOTEMPTY if self._powered_tree.is_below(old, new) else EISDIR, new)
        if source != target:
            self._operations.begin("rename", new)
            self._powered_tree.change({source: None, target: contents})

    def unlink(self, path: str) -> None:
        """Remove a file."""
        self._powered_tree.find_file(path)
        self._operations.begin("unlink", path)
        self._powered_tree.change({self._powered_tree.locate(path): None})

    def make_directory(self, path: str) -> None:
        """Create a folder and its parents. Each one is an operation."""
        for missing in self._powered_tree.find_missing_folders(path):
            location = self._powered_tree.locate(missing)
            self._operations.begin("make_directory", missing)
            self._powered_tree.change({location: Folder()})

    def list(self, path: str) -> list[str]:
        """Return the names in a folder, sorted."""
        folder = self._powered_tree.find_folder(path)
        self._operations.begin_read(path)
        return sorted(folder.visible)

    def sync_directory(self, path: str) -> None:
        """Make the names in a folder durable. What was pending at a failed sync never becomes durable."""
        folder = self._powered_tree.find_folder(path)
        try:
            self._operations.begin("sync_directory", path)
        except OSError:
            self._powered_tree.mark_sync_failed(folder)
            raise
        if self._syncs:
            self._powered_tree.sync(folder)

    def sync_all(self, path: str) -> None:
        """Make everything durable. What was pending at a failed sync never becomes durable."""
        self._powered_tree.find_folder(path)
        nodes = self._powered_tree.list_nodes()
        try:
            self._operations.begin("sync_all", path)
        except OSError:
            for node in nodes:
                self._powered_tree.mark_sync_failed(node) if isinstance(node, Folder) else node.mark_sync_failed()
            raise
        if self._syncs:
            for node in nodes:
                self._powered_tree.sync(node) if isinstance(node, Folder) else node.sync()

    # ---- Simulation

    @property
    def operations(self) -> int:
        """How many durable operations were begun. The next one has this number."""
        return self._operations.count

    @property
    def on_operation(self) -> OnOperation | None:
        """Called before every durable operation."""
        return self._operations.on_operation

    @on_operation.setter
    def on_operation(self, listener: OnOperation | None) -> None:
        self._operations.on_operation = listener

    @property
    def faults(self) -> DiskFaults:
        """The planned failures. They can be changed at any time."""
        return self._operations.faults

    @faults.setter
    def faults(self, faults: DiskFaults) -> None:
        self._operations.faults = faults

    def crash(self, draw: Draw) -> "Disk":
        """Return the disk after a power loss now, with everything on it durable. This disk is not changed.

        `draw` decides what is lost: see `choices`.
        """
        layout = self._tree.after_power_loss(draw)
        found = self._new_disk()
        found._tree = DirectoryTree(replace_files(layout, lambda each: each.after_power_loss(draw, self._medium)))
        return found

    def states(self, limit: int = 1000, seed: int = 0) -> Iterator["Disk"]:
        """Yield the possible disks after a power loss now: all of them, or a sample of `limit` if there are more.

        A sample includes the disk with everything kept and the one with nothing kept. Raises `ValueError` if `limit`
        is below 2.
        """
        if limit < STATES_MIN:
            raise ValueError(f"limit must be at least {STATES_MIN}")
        if self.count_states(limit) <= limit:
            return enumerate_all(self.crash)
        return sample_some(self.crash, limit, seed)

    def count_states(self, limit: int) -> int:
        """Count the possible states after a power loss now. A result above `limit` only means more than `limit`."""
        count = 0
        for layout in enumerate_all(self._tree.after_power_loss):
            ways = 1
            for _, contents in iter_files(layout):
                ways *= contents.count_ends(self._medium)
            count += ways
            if count > limit:
                break
        return count

    def free_bytes(self, path: str) -> int:
        """Return the free bytes on the disk."""
        self._powered_tree.find(path)
        return self._free_bytes()

    def kill(self) -> None:
        """Simulate the death of the process: everything written stays, and all open files are closed."""
        for file in list(self._handles):
            file.close()
        self._operations.has_power = True

    def tree(self, path: str = "/") -> dict[str, bytes]:
        """Return the bytes of every file in this folder and below, by relative path."""
        return {name: bytes(contents.visible) for name, contents in iter_files(self._tree.build_layout(path))}

    def fingerprint(self) -> bytes:
        """Return a hash of everything that a reader can see."""
        digest = blake2b(digest_size=16)
        for part in _iter_parts(self._tree.build_layout()):
            digest.update(part)
        return digest.digest()

    def copy(self) -> "Disk":
        """Return a copy in the same state, with the same planned faults, no open files and no listener."""
        copy = self._new_disk()
        copy.faults = self.faults
        copy._operations.count = self._operations.count
        copy._operations.reads = self._operations.reads
        copy._tree = self._tree.copy()
        return copy

    def _new_disk(self) -> "Disk":
        """Create an empty disk with the same properties. Planned faults are dropped: its operations count from 0."""
        faults = DiskFaults(capacity_bytes=self.faults.capacity_bytes)
        return Disk(faults=faults, medium=self._medium, syncs=self._syncs)

    @property
    def _powered_tree(self) -> DirectoryTree:
        self._operations.require_power()
        return self._tree

    def _free_bytes(self) -> int:
        capacity = self.faults.capacity_bytes
        if capacity is None:
            return FREE_BYTES
        return max(0, capacity - sum(len(contents.visible) for _, contents in iter_files(self._tree.build_layout())))


def _iter_parts(layout: Layout) -> Iterator[bytes | bytearray]:
    """Yield a unique byte representation of a layout, in parts."""
    for name, node in sorted(layout.items()):
        if isinstance(node, Contents):
            yield b"%s/%d:" % (os.fsencode(name), len(node.visible))
            yield node.visible
        else:
            yield b"%s/(" % os.fsencode(name)
            yield from _iter_parts(node)
            yield b")"
