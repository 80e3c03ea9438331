"""A DATA directory as commands see it: which stages it has, and what their runs have left."""

import os
import shlex
from collections.abc import Collection, Iterator
from errno import EACCES, EDQUOT, ENOSPC, EPERM, EROFS
from typing import NamedTuple

from inorder.cli.parameters import Given
from inorder.cli.settings import resolve
from inorder.errors import BusyError, InfrastructureError, OperatorError
from inorder.host.filesystem import SystemFilesystem
from inorder.host.liveness import is_held
from inorder.host.lock import Lock
from inorder.host.os_errors import translate_os_errors
from inorder.journal.replay import CorruptRecord, Replay, replay
from inorder.journal.scan import ScanResult
from inorder.library.connection import library_path, require_library_file
from inorder.pipeline.names import MANIFESTS, OURS, RUN, STEPS, is_chosen
from inorder.runtime.recovery import scan_journal
from inorder.stage.data_layout import DataLayout, list_stages, require_current_data, require_directory
from inorder.stage.manifest.reader import ConfigRow, find_last_run

_UNWRITABLE = (EACCES, EDQUOT, ENOSPC, EPERM, EROFS)


class DataDirectory:
    """A DATA directory. Nothing here is locked, unless `lock` is called: a run may change it at any time."""

    def __init__(self, root: str, option: str = "") -> None:
        self.root = root
        self.option = option
        """` --data DIR` for commands in hints; empty if they find DATA without it."""

    @property
    def has_library(self) -> bool:
        """Whether the pipeline has made a library here."""
        return os.path.exists(library_path(self.root))

    def stages(self) -> list[str]:
        """The stages of users that have a manifest or a journal."""
        return [name for name in list_stages(self.root) if name not in self._ours]

    def manifests(self) -> list[str]:
        """The names of all manifests: those of the steps of the pipeline in their order, then those of stages."""
        steps = [name for name in MANIFESTS if name in self._ours and os.path.exists(self.layout(name).manifest)]
        return [*steps, *self.stages()]

    @property
    def _ours(self) -> Collection[str]:
        """Names that belong to the pipeline."""
        return OURS if self.has_library or os.path.exists(self.layout(RUN).journal) else ()

    def select(self, name: str | None) -> tuple[bool, list[str]]:
        """Return whether the pipeline is meant, and which stages of users. A name means the pipeline if it is that of
        its run, or of a step. Without a name, everything is meant. Raises OperatorError for a name that is unknown."""
        stages, ours = self.stages(), self.has_library
        if name is None:
            return ours, stages
        if name in stages:
            return False, [name]
        if ours and any(is_chosen(step, name) for step in STEPS):
            return True, []
        known = [*([RUN, *self._list_steps()] if ours else []), *stages]
        raise OperatorError(f"no stage {name!r} in {self.root}; stages: {', '.join(known) or 'none'}")

    def _list_steps(self) -> list[str]:
        return [name for name in self.manifests() if name in MANIFESTS]

    def select_stages(self, stage: str | None) -> list[str]:
        """One stage of a user, which must exist, or all of them."""
        return self.select(stage)[1]

    def select_manifests(self, name: str | None) -> list[str]:
        """The manifests of a stage or a step, which must exist, or all of them."""
        has_steps, stages = self.select(name)
        steps = [each for each in self._list_steps() if name is None or is_chosen(MANIFESTS[each], name)]
        return [*(steps if has_steps else []), *stages]

    def layout(self, stage: str) -> DataLayout:
        """The paths of the files of a stage."""
        return DataLayout(self.root, stage)

    def config(self, stage: str) -> ConfigRow | None:
        """The configuration that the latest run of a stage recorded."""
        found = find_last_run(self.layout(stage).manifest)
        return None if found is None else found[1]

    def lock(self, stage: str) -> Lock:
        """Lock a stage against runs. Raises `BusyError` if one is active."""
        layout = self.layout(stage)
        with translate_os_errors(f"stage {stage} of {self.root} cannot be locked"):
            os.makedirs(os.path.dirname(layout.lock), exist_ok=True)
        try:
            return Lock(layout.lock, f"stage {stage} of {self.root}")
        except InfrastructureError as error:
            if _cannot_write(error):
                raise InfrastructureError(f"{error}; make it writable, or copy DATA to a place where it is") from error
            raise

    def lock_if_writable(self, stage: str) -> Lock | None:
        """Lock a stage as `lock` does; None: DATA cannot be written, so no run of this user can change it."""
        try:
            return self.lock(stage)
        except InfrastructureError as error:
            if _cannot_write(error):
                return None
            raise

    def describe_holder(self, stage: str) -> str:
        """Which process runs a stage now; empty: none does.

        The lock is tried only if its last holder seems to be alive: a read-only command must not block a run that is
        about to start.
        """
        if not is_held(self.layout(stage).lock):
            return ""
        try:
            self.lock(stage).release()
        except BusyError as error:
            return str(error)
        return ""

    def read_journal(self, stage: str) -> "JournalState | None":
        """The state of the journal of a stage; None: there is no journal."""
        path = self.layout(stage).journal
        if not os.path.exists(path):
            return None
        found = scan_journal(SystemFilesystem(), path)
        if not found.is_usable:
            return JournalState(path, found, None, f"{found.verdict.value} at byte {found.offset}: {found.message}")
        try:
            return JournalState(path, found, replay(found.records), "")
        except CorruptRecord as error:
            return JournalState(path, found, None, str(error))


def _cannot_write(error: BaseException | None) -> bool:
    """Whether an error, or what has caused it, says that DATA is read-only, or the disk full."""
    while error is not None and not isinstance(error, OSError):
        error = error.__cause__
    return error is not None and error.errno in _UNWRITABLE


class JournalState(NamedTuple):
    """A journal, scanned and replayed."""

    path: str
    scan: ScanResult
    replay: Replay | None
    """None: the journal is damaged."""
    damage: str
    """The damage; empty: there is none."""

    @property
    def unfinished_at(self) -> int | None:
        """The number of committed items of a run that has not ended; None: the latest run has ended."""
        return None if self.replay is None or self.replay.is_end else self.replay.newest_candidate.end


def open_data(data: str | None, given: Given | None = None) -> DataDirectory:
    """The DATA directory given on the command line, or else by the settings. It must exist and have a stage.
    Raises `OperatorError` otherwise, and if it was written by an earlier version."""
    root = resolve(dict(given or {}) | ({} if data is None else {"data": data})).data
    if not os.path.isdir(root):
        require_directory(root)
        raise OperatorError(f"no DATA directory at {root}; run `inorder run SRC` first, or choose another with --data")
    directory = DataDirectory(root, "" if data is None else f" --data {shlex.quote(data)}")
    require_current_data(root)
    require_library_file(root)
    if not directory.has_library and not directory.stages():
        raise OperatorError(
            f"{root} is not a DATA directory: it has no manifests; run `inorder run SRC` first, "
            "or choose another with --data"
        )
    return directory


def list_files(root: str) -> Iterator[str]:
    """Every file of DATA, relative to it, sorted."""
    stack = [_list_folder(root, "")]  # no recursion: folders may be nested deeper than the stack allows
    while stack:
        path, is_folder = next(stack[-1], ("", False))
        if not path:
            stack.pop()
        elif is_folder:
            stack.append(_list_folder(root, path))
        else:
            yield path


def _list_folder(root: str, folder: str) -> Iterator[tuple[str, bool]]:
    """Each path in a folder, relative to DATA, and whether it is a folder itself."""
    with os.scandir(os.path.join(root, folder)) as found:
        entries = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in found)
    return iter([(f"{folder}/{name}" if folder else name, is_folder) for name, is_folder in entries])
