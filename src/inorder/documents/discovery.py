"""The documents below the sources, in an order that does not depend on the machine.

Folders are walked in the byte order of their entries' names. Hidden files, and files that an `.inorderignore` names (in
the syntax of `.gitignore`), are left out. A symbolic link is followed only to a file within its root, so that nothing
outside of the sources is read and there are no loops. A path that is not a regular file (a pipe, a socket) is reported
as a problem and never opened. The objects of a remote source are in the byte order of their keys.

An item's id is its path below its root, with the name of the root in front: `docs/a/b.pdf`. So the same file under two
roots is two items, and adding a root changes no id.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from time import time_ns
from typing import TYPE_CHECKING, NamedTuple

from inorder.files.stats import INODES, read_stats
from inorder.files.walk import UNREADABLE_FOLDER, FolderFiles, walk_by_folder
from inorder.sources.fetching import FetchLimits
from inorder.sources.visible import list_objects
from inorder.stage.file_stat import FileStat
from inorder.stage.sources import IGNORE_FILE, Roots, is_address, quote_id, require_root
from inorder.stage.store.inputs import AddressedInput

if TYPE_CHECKING:
    from inorder.files.stats import Stats

_BATCH_FILES_MAX = 25
"""Files in a batch. If one of them has changed, all of them are compared."""
_READ_FILES_MAX = 1000
"""Files whose stats are read at once."""


class DocumentFile(NamedTuple):
    """A document below the sources, and the id of its item: a file, or content with an address."""

    item_id: str
    path: str
    """The path of the file, or the address."""
    size: int
    problem: str = ""
    """Why it cannot be read; empty if no reason is known."""
    stat: FileStat | None = None
    """Its stat, or that of the file that it is a part of; None: it cannot be read, or there is no file."""
    source: AddressedInput | None = None
    """What reads its content; None: it is a file."""
    kind: str = ""
    """Its kind, as `sniff` returns it, if it is known without reading the first bytes; empty: it is not."""
    sha256: str = ""
    """Of its content, if it is known without reading it."""


class FileBatch:
    """Some files of one folder, all of them regular ones that can be read, and their stats."""

    def __init__(self, prefix: str, path: str, names: Sequence[str], stats: "Stats", read_ns: int):
        self.prefix = prefix
        """What the ids of the files begin with."""
        self.path = path
        """The path of the folder, with a slash at the end."""
        self.names = names
        self._stats = stats
        self._read_ns = read_ns

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[DocumentFile]:
        prefix, path, read_ns = self.prefix, self.path, self._read_ns
        fields = iter(self._stats)
        for name, size, mtime_ns, ctime_ns, inode in zip(self.names, fields, fields, fields, fields, strict=True):
            stat = FileStat(size, mtime_ns, ctime_ns, inode % INODES, read_ns)
            yield DocumentFile(quote_id(f"{prefix}{name}"), f"{path}{name}", size, "", stat)

    @property
    def sizes(self) -> Sequence[int]:
        """The size of each file."""
        return self._stats[::4]

    @property
    def is_racy(self) -> bool:
        """Whether one of the files is racy: see `FileStat`."""
        newest = max(*self._stats[1::4], *self._stats[2::4])
        return FileStat(0, newest, 0, 0, self._read_ns).is_racy

    def describe(self) -> bytes:
        """Bytes that are others after any change of the ids, the paths or the stats. No name has a zero."""
        names = "\0".join([self.prefix, self.path, *self.names])
        return names.encode("utf-8", "surrogatepass") + b"\0\0" + self._stats.tobytes()


def discover(roots: Roots) -> Iterator[DocumentFile]:
    """Every file below these roots that may be a document. Raises OperatorError if a root is missing, and OperatorError
    or InfrastructureError if a remote root cannot be listed."""
    for found in discover_batches(roots):
        if isinstance(found, FileBatch):
            yield from found
        else:
            yield found


def discover_batches(roots: Roots, limits: FetchLimits | None = None) -> Iterator[FileBatch | DocumentFile]:
    """The same files in the same order, and those of a folder together, if nothing is wrong with any of them. Remote
    sources are listed within limits."""
    for name, path in roots.paths.items():
        if is_address(path):
            for item_id, source, problem in list_objects(roots, name, (IGNORE_FILE,), limits):
                yield DocumentFile(item_id, source.address, source.size, problem, None, source)
        elif os.path.isdir(path):
            yield from _discover_folder(roots, path, name)
            require_root(path)
        else:
            require_root(path)
            yield inspect_file(path, name, os.path.dirname(path))


def _discover_folder(roots: Roots, root: str, prefix: str) -> Iterator[FileBatch | DocumentFile]:
    for found in walk_by_folder(root, (IGNORE_FILE,)):
        if isinstance(found, FolderFiles):
            for start in range(0, len(found.names), _READ_FILES_MAX):
                names = found.names[start : start + _READ_FILES_MAX]
                yield from _inspect_files(found.path, f"{prefix}/{found.relative}", names, root)
            continue
        path, relative, problem = found
        name = quote_id(f"{prefix}/{relative}" if relative else prefix)
        if problem.startswith(UNREADABLE_FOLDER):
            roots.add_unreadable(name)
        yield DocumentFile(name, path, 0, problem)


def _inspect_files(path: str, prefix: str, names: list[str], root: str) -> Iterator[FileBatch | DocumentFile]:
    """These files of a folder, in batches. A batch in which one of them is not a regular file is none."""
    read_ns = time_ns()  # before the stats: a later change must not look older than it
    stats = read_stats(path, names)
    if stats is not None:
        for start in range(0, len(names), _BATCH_FILES_MAX):
            end = start + _BATCH_FILES_MAX
            yield FileBatch(prefix, path, names[start:end], stats[4 * start : 4 * end], read_ns)
    elif len(names) > _BATCH_FILES_MAX:
        for start in range(0, len(names), _BATCH_FILES_MAX):
            yield from _inspect_files(path, prefix, names[start : start + _BATCH_FILES_MAX], root)
    else:
        yield from (inspect_file(f"{path}{name}", f"{prefix}{name}", root) for name in names)


def inspect_file(path: str, item_id: str, root: str) -> DocumentFile:
    """The file at a path, which lies below this root."""
    name = quote_id(item_id)
    try:
        read_ns = time_ns()
        info = os.lstat(path)
        if stat.S_ISLNK(info.st_mode):
            if not _is_below(os.path.realpath(path), os.path.realpath(root)):
                return DocumentFile(name, path, 0, "a symbolic link to a file outside of the source folder")
            info = os.stat(path)
    except OSError as error:
        return DocumentFile(name, path, 0, f"the file cannot be read: {error.strerror or error}")
    if not stat.S_ISREG(info.st_mode):
        return DocumentFile(name, path, 0, "not a regular file")
    return DocumentFile(name, path, info.st_size, "", FileStat.make(info, read_ns))


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")
