"""One local source: whether it is there, which folders of it are watched, and what its listing looks like."""

import os
import stat
from collections.abc import Callable, Collection, Iterator
from hashlib import sha256
from typing import NamedTuple

from inorder.files.walk import WalkedFolder, walk_folders
from inorder.stage.sources import IGNORE_FILE

RULE_FILES = (".gitignore", IGNORE_FILE)
"""Hidden files that decide which others are read."""


class WatchedFolder(NamedTuple):
    """A folder whose events are wanted."""

    path: str
    counts: Callable[[str, bool], bool]
    """Whether an event of the entry with this name matters; the second argument says whether it is a folder."""


class LocalSource:
    """A file or a folder of this machine."""

    def __init__(self, path: str, excluded: Collection[str] = ()) -> None:
        self.address = path
        self._path = os.path.abspath(path)
        self._excluded = frozenset(excluded)
        self._identity: tuple[int, int] | None = None
        self._is_mount = False
        self.adopt()

    def adopt(self) -> None:
        """Take what is there now as the source that is watched."""
        self._identity = self._identify()
        self._is_mount = os.path.ismount(self._path)

    @property
    def is_replaced(self) -> bool:
        """Whether another file or folder has the path now, which is not watched yet."""
        found = self._identify()
        return found is not None and found != self._identity

    def find_absence(self) -> str:
        """Why the source cannot be read now; empty: it can."""
        if not os.path.exists(self._path):
            return f"no such file or directory: {self._path}"
        if self._is_mount and not os.path.ismount(self._path):
            return f"nothing is mounted at {self._path}"
        return ""

    def list_folders(self) -> Iterator[WatchedFolder]:
        """The folders whose events show every change of the source."""
        if not os.path.isdir(self._path):
            folder, name = os.path.split(self._path)
            yield WatchedFolder(folder, lambda entry, is_folder: entry == name)
            return
        for found in walk_folders(self._path, (IGNORE_FILE,), excluded_paths=self._excluded):
            yield WatchedFolder(found.path, self._make_filter(found))

    def identify_listing(self) -> str:
        """A hash of the names, sizes and times of all files that a run would read. It changes with every change that
        the stat of a file shows."""
        digest = sha256()
        for folder in self.list_folders():
            digest.update(f"{folder.path}\0".encode("utf-8", "surrogateescape"))
            for name in sorted(_list_names(folder.path)):
                line = _describe_file(folder, name)
                digest.update(line.encode("utf-8", "surrogateescape"))
        return digest.hexdigest()

    def _make_filter(self, folder: WalkedFolder) -> Callable[[str, bool], bool]:
        def counts(name: str, is_folder: bool) -> bool:
            if name in RULE_FILES:
                return True
            path = os.path.join(folder.path, name)
            return path not in self._excluded and not folder.leaves_out(name, is_folder=is_folder)

        return counts

    def _identify(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self._path)
        except OSError:
            return None
        return found.st_dev, found.st_ino


def _list_names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _describe_file(folder: WatchedFolder, name: str) -> str:
    try:
        found = os.stat(os.path.join(folder.path, name))
    except OSError:
        return ""
    is_folder = stat.S_ISDIR(found.st_mode)
    if is_folder or not folder.counts(name, is_folder):
        return ""
    return f"{name}\0{found.st_size}\0{found.st_mtime_ns}\0{found.st_ino}\0"
