"""Files, published in seq order by renaming them.

A worker writes the files of an attempt into a staging folder of that attempt. Nothing is ever looked at but the folder
of the very attempt that was committed, so a worker that was given up may write what it likes. Each file moves into the
root in one atomic rename: a reader sees the old file or the new one, whole, and never a temporary name. Staging lies on
the same disk as the root, beside it unless another place is given.

The files of a run cannot move in one act. After a crash in the middle recovery knows from the journal which files the
run was about to publish, and removes whichever are there. A file that replaced one of an older dataset takes it along:
the item is done again anyway.

What was published since the latest `sync` may vanish or come back empty after a loss of power, names and bytes each on
their own. Recovery therefore reads these files and compares their checksums; everything older is trusted. The sink
remembers only what it has still to sync, so a run that never syncs has it remember everything. After a crash that is
also what the last run had left to sync, which it learns from the question whether it `holds` a position.

Each path belongs to one item. Of two that name the same, the later one wins, and a crash may undo more than it had to.
"""

import contextlib
import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from inorder.errors import InfrastructureError, OperatorError
from inorder.host.filesystem import Filesystem
from inorder.host.os_errors import translate_os_errors
from inorder.host.paths import find_path_problem, require_safe_relative

from .base import Entry, Output, Position, Trace, check_run
from .checksums import Prefixes

SYNC_EACH_MAX = 32
"""More files than this are synced with the whole disk."""


class _Move(NamedTuple):
    """A file on its way out of staging."""

    staged: str
    output: Output


class OutputsSink:
    """Publishes staged files beneath a root. The folder that the root lies in must exist."""

    def __init__(self, filesystem: Filesystem, root: str, *, staging: str | None = None, name: str = "outputs") -> None:
        self.name = name
        self._filesystem = filesystem
        self._root = os.path.normpath(root)
        self._staging = os.path.normpath(staging or f"{self._root}.staging")
        self._position: Position | None = Position()
        self._unsynced: dict[str, Output] = {}
        """By path: published and not yet safe from a loss of power."""
        self._folders: set[str] = set()
        """Folders beneath the root, which is the empty one, that exist and have changed since the latest sync."""
        self._root_is_safe = False
        """Its name, from a loss of power."""
        self._judged: dict[Output, str | None] = {}
        """What was found wrong with a file; kept while recovery asks, for it asks about the same ones many times."""
        with translate_os_errors(f"{root} cannot be made"):
            filesystem.make_directory(root)

    def apply(self, entries: Sequence[Entry]) -> Position:
        """Publish the files of the successes, then remove what is to go. Everything that can be wrong with a file is
        looked for before any moves."""
        position = check_run(self.name, self._position, entries)
        if not entries:
            return position
        with translate_os_errors(f"{self._root}: seqs {entries[0].seq} to {entries[-1].seq} cannot be published"):
            moves = [move for entry in entries if entry.is_success for move in self._moves(entry)]
            self._position = None
            self._judged.clear()
            for move in moves:
                self._publish(move)
            for path in chain.from_iterable(entry.removals for entry in entries):
                self._unpublish(path)
        checksum = zlib.crc32(b"".join(_said(move.output) for move in moves), position.checksum)
        self._position = Position(entries[-1].seq + 1, position.offset + len(moves), checksum)
        return self._position

    def position(self) -> Position:
        """How far it has come: offset counts files, the checksum is of what was said of them."""
        return check_run(self.name, self._position, ())

    def sync(self) -> None:
        """Make every published file, its bytes and its name, safe from a loss of power. Each folder is synced once."""
        position, self._position = self.position(), None
        with translate_os_errors(f"{self._root} cannot be synced"):
            if len(self._unsynced) > SYNC_EACH_MAX:
                self._sync_all()
            else:
                for path in self._unsynced:
                    self._sync_file(self._at(path))
                self._sync_folders()
        self._unsynced.clear()
        self._position = position

    def holds(self, position: Position, since: Sequence[Trace]) -> bool:
        """Whether every file that was not synced by then is there, byte for byte."""
        outputs = _latest(since)
        with translate_os_errors(f"{self._root} cannot be read"):
            if any(self._judge(output) for output in outputs.values()):
                return False
        self._remember(outputs.values())
        return True

    def roll_back(self, position: Position, undone: Sequence[Trace]) -> None:
        """Remove what was published since, as far as it was. Folders that become empty stay."""
        self._position = None
        self._judged.clear()
        with translate_os_errors(f"{self._root} cannot be rolled back to seq {position.end}"):
            for path in _latest(undone):
                self._unpublish(path)
            self._sync_folders()
        self._position = position

    def verify(self, position: Position) -> list[str]:
        """What is wrong with the files it knows of: those published since the latest sync, and those asked about with
        `holds`. Whoever has a longer list uses `wrong_outputs`."""
        return wrong_outputs(self._filesystem, self._root, self._unsynced.values())

    def close(self) -> None:
        """Nothing is held open."""

    # ---- publishing

    def _moves(self, entry: Entry) -> Iterator[_Move]:
        seen = set()
        for number, output in enumerate(entry.outputs):
            self._require_safe(entry, output)
            if output.path in seen:
                raise OperatorError(f"item {entry.seq} names its output {output.path!r} twice")
            seen.add(output.path)
            staged = self._staged(entry, number, output)
            facts = self._filesystem.stat(staged)
            if facts is None or facts.is_directory:
                raise InfrastructureError(f"item {entry.seq}: its output {staged} is not there")
            if facts.size != output.size:
                raise InfrastructureError(
                    f"item {entry.seq}: its output {staged} has {facts.size} bytes and not {output.size}"
                )
            yield _Move(staged, output)

    def _staged(self, entry: Entry, number: int, output: Output) -> str:
        """Where a file waits."""
        staged = os.path.normpath(entry.staged[number] if entry.staged else f"{entry.staging}/{output.path}")
        place = staged if entry.staged else os.path.normpath(entry.staging)
        if not _is_beneath(place, self._staging):
            raise OperatorError(f"item {entry.seq}: its files wait in {place!r}, outside of {self._staging}")
        return staged

    def _require_safe(self, entry: Entry, output: Output) -> None:
        require_safe_relative(output.path)
        if _is_beneath(self._at(output.path), self._staging):
            raise OperatorError(f"item {entry.seq}: its output {output.path!r} would lie in the staging area")

    def _publish(self, move: _Move) -> None:
        path = move.output.path
        self._enter(path)
        self._filesystem.rename(move.staged, self._at(path))
        self._unsynced[path] = move.output

    def _enter(self, path: str) -> None:
        """Make the folders of a file where they are missing, and remember to sync every one up to the root: those that
        exist may have been made by a run that died before it synced them."""
        folder = os.path.dirname(path)
        if folder not in self._folders:
            self._filesystem.make_directory(self._at(folder))
            self._folders.update(_with_ancestors(folder))

    def _unpublish(self, path: str) -> None:
        require_safe_relative(path)
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            self._filesystem.unlink(self._at(path))
        self._unsynced.pop(path, None)
        folder = os.path.dirname(path)
        if self._filesystem.stat(self._at(folder)) is not None:
            self._folders.update(_with_ancestors(folder))

    # ---- syncing

    def _remember(self, outputs: Iterable[Output]) -> None:
        for output in outputs:
            self._unsynced[output.path] = output
            self._folders.update(_with_ancestors(os.path.dirname(output.path)))

    def _sync_all(self) -> None:
        """The whole disk in one act: the same in a fraction of the time."""
        for path in self._unsynced:
            self._require_there(self._at(path))
        self._filesystem.sync_all(self._root)
        self._root_is_safe = True
        self._folders.clear()

    def _require_there(self, path: str) -> None:
        if self._filesystem.stat(path) is None:
            raise FileNotFoundError(f"{path} was published and is gone")

    def _sync_file(self, path: str) -> None:
        self._require_there(path)  # opening it would make an empty one
        file = self._filesystem.open(path)
        try:
            file.sync()
        finally:
            file.close()

    def _sync_folders(self) -> None:
        for folder in sorted(self._folders, reverse=True):
            self._filesystem.sync_directory(self._at(folder))
        if not self._root_is_safe:
            self._filesystem.sync_directory(os.path.dirname(self._root) or ".")
        self._root_is_safe = True
        self._folders.clear()

    def _at(self, path: str) -> str:
        return f"{self._root}/{path}" if path else self._root

    def _judge(self, output: Output) -> str | None:
        if output not in self._judged:
            self._judged[output] = _wrong(self._filesystem, self._root, output)
        return self._judged[output]


def wrong_outputs(filesystem: Filesystem, root: str, outputs: Iterable[Output]) -> list[str]:
    """What is wrong with published files, a line each."""
    with translate_os_errors(f"{root} cannot be read"):
        found = [_wrong(filesystem, root, output) for output in outputs]
    return [line for line in found if line is not None]


def sweep(filesystem: Filesystem, staging: str) -> list[str]:
    """Remove the files that earlier runs left in a staging area; which they were. For the start of a run, before any
    worker stages anything. Empty folders stay."""
    with translate_os_errors(f"{staging} cannot be swept"):
        left = list(_files(filesystem, staging))
        for path in left:
            filesystem.unlink(path)
    return left


def _files(filesystem: Filesystem, folder: str) -> Iterator[str]:
    """Every file beneath a folder."""
    facts = filesystem.stat(folder)
    if facts is None:
        return
    for name in filesystem.list(folder):
        path = f"{folder}/{name}"
        facts = filesystem.stat(path)
        if facts is not None and facts.is_directory:
            yield from _files(filesystem, path)
        else:
            yield path


def _wrong(filesystem: Filesystem, root: str, output: Output) -> str | None:
    """What is wrong with a published file; None: nothing."""
    if reason := find_path_problem(output.path):
        return f"{output.path!r} cannot be an output: {reason}"
    path = f"{root}/{output.path}"
    facts = filesystem.stat(path)
    if facts is None or facts.is_directory:
        return f"{path} is missing"
    if facts.size != output.size:
        return f"{path} has {facts.size} bytes and not {output.size}"
    file = filesystem.open(path)
    try:
        is_same = Prefixes(file).checksum(output.size) == output.checksum
    finally:
        file.close()
    return None if is_same else f"{path} was altered: its bytes are not those published"


def _said(output: Output) -> bytes:
    return b"%s\0%d\0%d\n" % (output.path.encode(), output.size, output.checksum)


def _latest(traces: Sequence[Trace]) -> dict[str, Output]:
    """The outputs of these runs by path; of two that name the same, the later."""
    outputs = chain.from_iterable(trace.outputs[seq] for trace in traces for seq in sorted(trace.outputs))
    return {output.path: output for output in outputs}


def _is_beneath(path: str, folder: str) -> bool:
    return path.startswith(f"{folder}/")


def _with_ancestors(folder: str) -> Iterator[str]:
    """A relative folder, and those it lies in up to the root, which is the empty one."""
    while folder:
        yield folder
        folder = os.path.dirname(folder)
    yield ""
