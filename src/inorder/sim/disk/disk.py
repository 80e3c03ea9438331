"""A disk in memory that forgets what was not synced.

A test that kills a process cannot see a missing sync: the operating system lives on and writes everything in the end.
This disk can be asked what would be found had the power gone instead, and there is seldom one answer: every write,
every cut and every change of a name since the last sync may or may not have made it, each for itself. `states` walks
through the answers.

    disk = Disk()
    write_atomic(disk, "settings", b"new")
    for found in disk.states():
        ...

`contents` has the rules for bytes, `names` those for names, `power` the walk through every moment of a longer story.
A disk is for one thread: with more, the numbers of its operations would mean nothing.
"""

import os
from collections.abc import Iterator
from errno import EISDIR, ENOTEMPTY
from hashlib import blake2b
from weakref import WeakSet

from inorder.host.filesystem import PathInfo

from .choices import Draw, every, sampled
from .contents import Contents, Medium
from .file import DiskFile
from .names import Folder, Layout, Names, files, with_files
from .operations import DiskFaults, OnOperation, Operations, trouble

FREE_BYTES = 2**40
"""Room on a disk that has no capacity of its own."""

STATES_MIN = 2
"""Everything kept, and nothing: with fewer a test would pass without having looked."""

DEFAULT_FAULTS = DiskFaults()
DEFAULT_MEDIUM = Medium()


class Disk:
    """Implements `host.filesystem.Filesystem`. Paths start at its root, with or without a `/`."""

    def __init__(
        self,
        *,
        on_operation: OnOperation | None = None,
        faults: DiskFaults = DEFAULT_FAULTS,
        medium: Medium = DEFAULT_MEDIUM,
        syncs: bool = True,
    ) -> None:
        """`syncs=False` makes a disk that says it has synced and has not: on it, a test of durability must fail."""
        self._operations = Operations(faults, on_operation)
        self._medium = medium
        self._syncs = syncs
        self._all_names = Names()
        self._handles: WeakSet[DiskFile] = WeakSet()

    # ---- what every filesystem does

    def open(self, path: str) -> DiskFile:
        """The file of this name, made empty where there is none."""
        try:
            contents = self._names.file(path)
        except FileNotFoundError:
            place = self._names.place(path)
            contents = Contents()
            self._operations.begin("create", path)
            self._names.change({place: contents})
        file = DiskFile(path, contents, self._operations, self._room, syncs=self._syncs)
        self._handles.add(file)
        return file

    def read(self, path: str) -> bytes:
        """All of a file."""
        contents = self._names.file(path)
        self._operations.begin_read(path)
        return bytes(contents.seen)

    def stat(self, path: str) -> PathInfo | None:
        """What is known of a name."""
        try:
            node = self._names.find(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        return PathInfo(0, True) if isinstance(node, Folder) else PathInfo(len(node.seen), False)

    def rename(self, old: str, new: str) -> None:
        """Give a file another name. Folders keep theirs."""
        source, target = self._names.place(old), self._names.place(new)
        contents = self._names.file(old)
        if isinstance(target[0].seen.get(target[1]), Folder):
            raise trouble(ENOTEMPTY if self._names.is_below(old, new) else EISDIR, new)
        if source != target:
            self._operations.begin("rename", new)
            self._names.change({source: None, target: contents})

    def unlink(self, path: str) -> None:
        """Remove a name."""
        self._names.file(path)
        self._operations.begin("unlink", path)
        self._names.change({self._names.place(path): None})

    def make_directory(self, path: str) -> None:
        """Make a folder, and those above it; each is an operation of its own."""
        for missing in self._names.missing_folders(path):
            place = self._names.place(missing)
            self._operations.begin("make_directory", missing)
            self._names.change({place: Folder()})

    def list(self, path: str) -> list[str]:
        """The names in a folder, sorted."""
        folder = self._names.folder(path)
        self._operations.begin_read(path)
        return sorted(folder.seen)

    def sync_directory(self, path: str) -> None:
        """Make safe what names changed since the last time. What had changed when one failed is never made safe."""
        folder = self._names.folder(path)
        try:
            self._operations.begin("sync_directory", path)
        except OSError:
            self._names.fail_to_sync(folder)
            raise
        if self._syncs:
            self._names.sync(folder)

    def sync_all(self, path: str) -> None:
        """Make everything safe. What was pending when one failed is never made safe."""
        self._names.folder(path)
        everything = self._names.everything()
        try:
            self._operations.begin("sync_all", path)
        except OSError:
            for node in everything:
                self._names.fail_to_sync(node) if isinstance(node, Folder) else node.fail_to_sync()
            raise
        if self._syncs:
            for node in everything:
                self._names.sync(node) if isinstance(node, Folder) else node.sync()

    def free_bytes(self, path: str) -> int:
        """Room left."""
        self._names.find(path)
        return self._room()

    # ---- what only this one does

    @property
    def operations(self) -> int:
        """How many durable operations were begun; the next one has this number."""
        return self._operations.count

    @property
    def on_operation(self) -> OnOperation | None:
        """Who is told of every durable operation before it happens."""
        return self._operations.on_operation

    @on_operation.setter
    def on_operation(self, listener: OnOperation | None) -> None:
        self._operations.on_operation = listener

    @property
    def faults(self) -> DiskFaults:
        """What goes wrong from now on."""
        return self._operations.faults

    @faults.setter
    def faults(self, faults: DiskFaults) -> None:
        self._operations.faults = faults

    def crash(self, draw: Draw) -> "Disk":
        """The disk as it is found after a loss of power now. `draw` decides what is lost: see `choices`.

        What is found is safe. This disk goes on as if nothing had happened.
        """
        layout = self._all_names.after_power_loss(draw)
        found = self._blank()
        found._all_names = Names(with_files(layout, lambda each: each.after_power_loss(draw, self._medium)))
        return found

    def states(self, limit: int = 1000, seed: int = 0) -> Iterator["Disk"]:
        """What can be found after a loss of power now: all of it where it is at most `limit` states, else a sample of
        so many, with the state in which everything was kept and the one in which nothing was."""
        if limit < STATES_MIN:
            raise ValueError(f"limit must be at least {STATES_MIN}")
        if self.count_states(limit) <= limit:
            return every(self.crash)
        return sampled(self.crash, limit, seed)

    def count_states(self, limit: int) -> int:
        """How many ways a loss of power can end now; any number above `limit` means that they are more than that."""
        count = 0
        for layout in every(self._all_names.after_power_loss):
            ways = 1
            for _, contents in files(layout):
                ways *= contents.count_ends(self._medium)
            count += ways
            if count > limit:
                break
        return count

    def kill(self) -> None:
        """The process dies and the machine lives on: all that was written is there, and no open file is of use."""
        for file in list(self._handles):
            file.close()
        self._operations.has_power = True

    def tree(self, path: str = "/") -> dict[str, bytes]:
        """Every file in this folder and below, by its path from there, with the bytes that a reader sees."""
        return {name: bytes(contents.seen) for name, contents in files(self._all_names.layout(path))}

    def fingerprint(self) -> bytes:
        """The same for two disks that no reader can tell apart."""
        digest = blake2b(digest_size=16)
        for said in _said(self._all_names.layout()):
            digest.update(said)
        return digest.digest()

    def copy(self) -> "Disk":
        """Another disk in the same state, with the same faults to come. Nothing is open on it, and it tells nobody."""
        twin = self._blank()
        twin.faults = self.faults
        twin._operations.count = self._operations.count
        twin._operations.reads = self._operations.reads
        twin._all_names = self._all_names.copy()
        return twin

    def _blank(self) -> "Disk":
        """The same device with nothing on it. Its size stays; the faults by number were of another life."""
        faults = DiskFaults(capacity_bytes=self.faults.capacity_bytes)
        return Disk(faults=faults, medium=self._medium, syncs=self._syncs)

    @property
    def _names(self) -> Names:
        self._operations.demand_power()
        return self._all_names

    def _room(self) -> int:
        capacity = self.faults.capacity_bytes
        if capacity is None:
            return FREE_BYTES
        return max(0, capacity - sum(len(contents.seen) for _, contents in files(self._all_names.layout())))


def _said(layout: Layout) -> Iterator[bytes | bytearray]:
    """All that there is to a layout."""
    for name, node in sorted(layout.items()):
        if isinstance(node, Contents):
            yield b"%s/%d:" % (os.fsencode(name), len(node.seen))
            yield node.seen
        else:
            yield b"%s/(" % os.fsencode(name)
            yield from _said(node)
            yield b")"
