"""Files that are published in seq order by renaming them.

A worker writes the files of an attempt into a staging folder of that attempt. Only the folder of the attempt that was
committed is ever read, so an abandoned worker can do no harm. Each file moves into the root in one atomic rename: a
reader sees the old file or the new one, complete, and never a temporary name. The staging area is on the same disk as
the root, beside it unless another path is given.

The files of a run cannot be renamed in one step. After a crash in between, recovery knows from the journal which files
the run was about to publish, and removes those that exist. The older file that one of them replaced is lost then, but
its item is processed again anyway.

After a power loss, files published since the latest `sync` may be missing, empty or incomplete. So recovery reads these
files and compares their checksums; everything older is trusted. The sink keeps a list of the files that are not synced
yet, which grows without limit in a run that never syncs. After a crash, `holds` adds to the list what the last run had
not synced.

Each path belongs to one item. If two items name the same path, the later one wins, and recovery from a crash may undo
more than necessary.
"""

import contextlib
import os
import zlib
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from errno import EDQUOT, ENOSPC
from itertools import chain
from typing import NamedTuple

from inorder.errors import InfrastructureError, OperatorError
from inorder.host.filesystem import Filesystem
from inorder.host.os_errors import translate_os_errors
from inorder.host.paths import find_path_problem, require_safe_relative

from .base import AppliedRun, Entry, Output, Position, check_run
from .checksums import BLOCK_BYTES, PrefixChecksums

SYNC_EACH_MAX = 32
"""With more files than this, the whole disk is synced in one call."""


class _Move(NamedTuple):
    """A staged file and where it is published."""

    staged: str
    output: Output


class OutputsSink:
    """Publishes staged files below a root folder, which is created. Its parent folder must exist.

    `staging` is the staging area, by default `root` with the suffix `.staging`; it must be on the same disk. `name`
    identifies the sink in the journal. `staged` has the names in staging of files that an interrupted run may have
    published, by their paths: rolling back copies such a file back there before it is removed. With more than
    `sync_each_max` files to sync, the whole disk is synced in one call. Raises `OperatorError` for an unsafe or
    repeated path, and `InfrastructureError` for a staged file that is missing.

    >>> from inorder.sinks import OutputsSink
    >>> from inorder.testing import Disk
    >>> sink = OutputsSink(Disk(), "results")
    >>> sink.position().end
    0
    """

    def __init__(
        self,
        filesystem: Filesystem,
        root: str,
        *,
        staging: str | None = None,
        name: str = "outputs",
        staged: Mapping[str, str] | None = None,
        sync_each_max: int | None = None,
    ) -> None:
        self._sync_each_max = SYNC_EACH_MAX if sync_each_max is None else sync_each_max
        self.name = name
        self._staged_names = staged or {}
        self._filesystem = filesystem
        self._root = os.path.normpath(root)
        self._staging = os.path.normpath(staging or f"{self._root}.staging")
        self._position: Position | None = Position()
        self._unsynced: dict[str, Output] = {}
        """By path: published and not yet durable."""
        self._folders: set[str] = set()
        """Folders relative to the root (the empty path) that exist and have changed since the latest sync."""
        self._is_root_durable = False
        """Whether the name of the root is durable."""
        self._intact: dict[Output, bool] = {}
        """Whether a file is as it was published. Cached, because recovery asks about the same files many times."""
        with translate_os_errors(f"{root} cannot be created"):
            filesystem.make_directory(root)

    def apply(self, entries: Sequence[Entry]) -> Position:
        """Publish the files of the successes, then remove the `removals`. All files are checked before any is moved."""
        position = check_run(self.name, self._position, entries)
        if not entries:
            return position
        with translate_os_errors(f"{self._root}: seqs {entries[0].seq} to {entries[-1].seq} cannot be published"):
            moves = [move for entry in entries if entry.is_success for move in self._plan_moves(entry)]
            self._position = None
            self._intact.clear()
            for move in moves:
                self._publish(move)
            for path in chain.from_iterable(entry.removals for entry in entries):
                self._unpublish(path)
        checksum = zlib.crc32(b"".join(_encode_output(move.output) for move in moves), position.checksum)
        self._position = Position(entries[-1].seq + 1, position.offset + len(moves), checksum)
        return self._position

    def position(self) -> Position:
        """Return how far it has come: `offset` counts files, `checksum` covers their paths, sizes and checksums."""
        return check_run(self.name, self._position, ())

    def sync(self) -> None:
        """Make every published file durable, its bytes and its name. Each folder is synced once."""
        position, self._position = self.position(), None
        with translate_os_errors(f"{self._root} cannot be synced"):
            if len(self._unsynced) > self._sync_each_max:
                self._sync_all()
            else:
                for path in self._unsynced:
                    self._sync_file(self._full_path(path))
                self._sync_folders()
        self._unsynced.clear()
        self._position = position

    def holds(self, position: Position, since: Sequence[AppliedRun]) -> bool:
        """Whether every file of the runs in `since` exists with the bytes that were published."""
        outputs = _collect_outputs(since)
        with translate_os_errors(f"{self._root} cannot be read"):
            if not all(map(self._is_intact, outputs.values())):
                return False
        self._add_unsynced(outputs.values())
        return True

    def advance(self, position: Position, runs: Sequence[AppliedRun]) -> Position | None:
        """Return the position after these runs, if every file of them was published."""
        outputs = [output for run in runs for _, found in sorted(run.outputs.items()) for output in found]
        if not self.holds(position, runs):
            return None
        checksum = zlib.crc32(b"".join(map(_encode_output, outputs)), position.checksum)
        return Position(runs[-1].end, position.offset + len(outputs), checksum)

    def roll_back(self, position: Position, undone: Sequence[AppliedRun]) -> None:
        """Remove the files of the undone runs, as far as they were published. Those in `staged` are copied back first.
        Folders that become empty stay."""
        self._position = None
        self._intact.clear()
        with translate_os_errors(f"{self._root} cannot be rolled back to seq {position.end}"):
            for path in _collect_outputs(undone):
                self._copy_back(path)
                self._unpublish(path)
            self._sync_folders()
        self._position = position

    def close(self) -> None:
        """Do nothing: no file stays open."""

    # ---- Publishing

    def _plan_moves(self, entry: Entry) -> Iterator[_Move]:
        seen = set()
        for number, output in enumerate(entry.outputs):
            self._require_safe(entry, output)
            if output.path in seen:
                raise OperatorError(f"item {entry.seq}: duplicate output {output.path!r}")
            seen.add(output.path)
            staged = self._staged_path(entry, number, output)
            info = self._filesystem.stat(staged)
            if info is None or info.is_directory:
                raise InfrastructureError(f"item {entry.seq}: output {staged} is missing")
            if info.size != output.size:
                raise InfrastructureError(
                    f"item {entry.seq}: output {staged} has {info.size} bytes, expected {output.size}"
                )
            yield _Move(staged, output)

    def _staged_path(self, entry: Entry, number: int, output: Output) -> str:
        staged = os.path.normpath(entry.staged[number] if entry.staged else f"{entry.staging}/{output.path}")
        inside = staged if entry.staged else os.path.normpath(entry.staging)
        if not _is_below(inside, self._staging):
            raise OperatorError(f"item {entry.seq}: staged path {inside!r} is outside of {self._staging}")
        return staged

    def _require_safe(self, entry: Entry, output: Output) -> None:
        require_safe_relative(output.path)
        if _is_below(self._full_path(output.path), self._staging):
            raise OperatorError(f"item {entry.seq}: output {output.path!r} is in the staging area")

    def _publish(self, move: _Move) -> None:
        path = move.output.path
        self._make_folders(path)
        self._filesystem.rename(move.staged, self._full_path(path))
        self._unsynced[path] = move.output

    def _make_folders(self, path: str) -> None:
        """Create the folders of a file, and mark each one up to the root for the next sync. A folder that exists is
        marked too: the run that created it may have crashed before it synced it."""
        folder = os.path.dirname(path)
        if folder not in self._folders:
            self._filesystem.make_directory(self._full_path(folder))
            self._folders.update(_iter_folders_up(folder))

    def _copy_back(self, path: str) -> None:
        """Copy a published file back into staging, if its staging path is known and nothing is there.

        The file may be an older one of the same name, so adoption checks its size and checksum. It is copied and not
        renamed: a power loss can undo a rename until both folders are synced, and the file would be published again.
        The copy gets its name when it is complete, or a process that dies would leave a part of it for a result.
        """
        name = self._staged_names.get(path)
        if name is None or self._filesystem.stat(self._full_path(path)) is None:
            return
        staged = f"{self._staging}/{name}"
        folder = os.path.dirname(staged)
        if self._filesystem.stat(staged) is not None or self._filesystem.stat(folder) is None:
            return
        part = f"{staged}.part"
        try:
            _copy_file(self._filesystem, self._full_path(path), part)
            self._filesystem.rename(part, staged)
        except OSError as error:
            if error.errno not in (ENOSPC, EDQUOT):
                raise
            with contextlib.suppress(FileNotFoundError):  # there is no room for it: its item is computed again
                self._filesystem.unlink(part)

    def _unpublish(self, path: str) -> None:
        require_safe_relative(path)
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            self._filesystem.unlink(self._full_path(path))
        self._unsynced.pop(path, None)
        folder = os.path.dirname(path)
        if self._filesystem.stat(self._full_path(folder)) is not None:
            self._folders.update(_iter_folders_up(folder))

    # ---- Syncing

    def _add_unsynced(self, outputs: Iterable[Output]) -> None:
        for output in outputs:
            self._unsynced[output.path] = output
            self._folders.update(_iter_folders_up(os.path.dirname(output.path)))

    def _sync_all(self) -> None:
        """Sync the whole disk in one call, which is much faster than many files."""
        for path in self._unsynced:
            self._require_exists(self._full_path(path))
        self._filesystem.sync_all(self._root)
        self._is_root_durable = True
        self._folders.clear()

    def _require_exists(self, path: str) -> None:
        if self._filesystem.stat(path) is None:
            raise FileNotFoundError(f"{path} was published and is missing now")

    def _sync_file(self, path: str) -> None:
        self._require_exists(path)  # opening a missing file would create an empty one
        file = self._filesystem.open(path)
        try:
            file.sync()
        finally:
            file.close()

    def _sync_folders(self) -> None:
        for folder in sorted(self._folders, reverse=True):
            self._filesystem.sync_directory(self._full_path(folder))
        if not self._is_root_durable:
            self._filesystem.sync_directory(os.path.dirname(self._root) or ".")
        self._is_root_durable = True
        self._folders.clear()

    def _full_path(self, path: str) -> str:
        return f"{self._root}/{path}" if path else self._root

    def _is_intact(self, output: Output) -> bool:
        if output not in self._intact:
            is_safe, path = not find_path_problem(output.path), self._full_path(output.path)
            self._intact[output] = is_safe and is_intact(self._filesystem, path, output.size, output.checksum)
        return self._intact[output]


def clear_staging(filesystem: Filesystem, staging: str, *, keep: Container[str] = ()) -> list[str]:
    """Remove the files that earlier runs left in a staging area, except those whose relative path is in `keep`, and
    return their paths. Empty folders stay.

    Call it at the start of a run, before any worker stages files.
    """
    with translate_os_errors(f"{staging} cannot be cleared"):
        left = [path for path in _list_files(filesystem, staging) if path[len(staging) + 1 :] not in keep]
        for path in left:
            filesystem.unlink(path)
    return left


def _list_files(filesystem: Filesystem, folder: str) -> Iterator[str]:
    """Yield every file below a folder."""
    info = filesystem.stat(folder)
    if info is None:
        return
    for name in filesystem.list(folder):
        path = f"{folder}/{name}"
        info = filesystem.stat(path)
        if info is not None and info.is_directory:
            yield from _list_files(filesystem, path)
        else:
            yield path


def _copy_file(filesystem: Filesystem, path: str, copy: str) -> None:
    source = filesystem.open(path)
    try:
        target = filesystem.open(copy)
        try:
            target.truncate(0)
            for offset in range(0, source.size, BLOCK_BYTES):
                target.append(source.read(offset, BLOCK_BYTES))
        finally:
            target.close()
    finally:
        source.close()


def is_intact(filesystem: Filesystem, path: str, size: int, checksum: int) -> bool:
    """Whether there is a file of this size and CRC-32."""
    info = filesystem.stat(path)
    if info is None or info.is_directory or info.size != size:
        return False
    file = filesystem.open(path)
    try:
        return PrefixChecksums(file).checksum(size) == checksum
    finally:
        file.close()


def _encode_output(output: Output) -> bytes:
    return b"%s\0%d\0%d\n" % (output.path.encode(), output.size, output.checksum)


def _collect_outputs(runs: Sequence[AppliedRun]) -> dict[str, Output]:
    """Collect the outputs of these runs by path. Of two with the same path, the later one is kept."""
    outputs = chain.from_iterable(run.outputs[seq] for run in runs for seq in sorted(run.outputs))
    return {output.path: output for output in outputs}


def _is_below(path: str, folder: str) -> bool:
    return path.startswith(f"{folder}/")


def _iter_folders_up(folder: str) -> Iterator[str]:
    """Yield a relative folder and its parents, up to the root (the empty path)."""
    while folder:
        yield folder
        folder = os.path.dirname(folder)
    yield ""
