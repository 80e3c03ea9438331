"""A DATA directory as commands see it: which stages it has, and what their runs have left."""

import os
import platform
import shlex
from collections.abc import Iterator
from errno import EACCES, EPERM, EROFS
from typing import NamedTuple

from inorder.cli.parameters import Given
from inorder.cli.settings import resolve
from inorder.errors import BusyError, InfrastructureError, OperatorError
from inorder.host.filesystem import SystemFilesystem
from inorder.host.lock import Lock
from inorder.host.os_errors import translate_os_errors
from inorder.journal.replay import CorruptRecord, Replay, replay
from inorder.journal.scan import ScanResult
from inorder.runtime.recovery import scan_journal
from inorder.stage.data_layout import DataLayout, require_directory
from inorder.stage.manifest.reader import ConfigRow, find_last_run
from inorder.stage.store.format import require_current_data


class DataDirectory:
    """A DATA directory. Nothing here is locked, unless `lock` is called: a run may change it at any time."""

    def __init__(self, root: str, option: str = "") -> None:
        self.root = root
        self.option = option
        """` --data DIR` for commands in hints; empty if they find DATA without it."""

    def stages(self) -> list[str]:
        """The stages that have a manifest or a journal."""
        found = set()
        for folder, suffix in (("manifests", ".jsonl"), ("journal", ".journal")):
            if os.path.isdir(f"{self.root}/{folder}"):
                names = os.listdir(f"{self.root}/{folder}")
                found |= {name.removesuffix(suffix) for name in names if _has_suffix(name, suffix)}
        return sorted(found)

    def select_stages(self, stage: str | None) -> list[str]:
        """One stage, which must exist, or all of them."""
        known = self.stages()
        if stage is None:
            return known
        if stage not in known:
            raise OperatorError(f"no stage {stage!r} in {self.root}; stages: {', '.join(known) or 'none'}")
        return [stage]

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
            cause = error.__cause__
            if isinstance(cause, OSError) and cause.errno in (EACCES, EPERM, EROFS):
                raise InfrastructureError(f"{error}; make it writable, or copy DATA to a place where it is") from error
            raise

    def describe_holder(self, stage: str) -> str:
        """Which process runs a stage now; empty: none does.

        The lock is tried only if its last holder seems to be alive: a read-only command must not block a run that is
        about to start.
        """
        if not _may_be_held(self.layout(stage).lock):
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
    """The DATA directory given on the command line, or else by the settings. It must exist and have a stage."""
    root = resolve(dict(given or {}) | ({} if data is None else {"data": data})).data
    require_data(root, "run a stage first")
    return DataDirectory(root, "" if data is None else f" --data {shlex.quote(data)}")


def require_data(root: str, hint: str) -> None:
    """Raise `OperatorError` if this is not a DATA directory with a stage, or was written by an earlier version. `hint`
    says how to create one."""
    if not os.path.isdir(root):
        require_directory(root)
        raise OperatorError(f"no DATA directory at {root}; {hint}, or choose another with --data")
    if not DataDirectory(root).stages():
        raise OperatorError(
            f"{root} is not a DATA directory: it has no manifests; {hint}, or choose another with --data"
        )
    require_current_data(root)


def list_files(root: str, folder: str = "") -> Iterator[str]:
    """Every file below a folder of DATA, relative to DATA, sorted."""
    stack = [_list_folder(root, folder)]  # no recursion: folders may be nested deeper than the stack allows
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


def _may_be_held(path: str) -> bool:
    """Whether the process named in a lock file is alive, or cannot be checked from this machine."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            words = file.read(512).split()
    except OSError:
        return False
    if len(words) < 4 or words[3] != platform.node() or not words[1].isdigit():
        return True
    try:
        os.kill(int(words[1]), 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True


def _has_suffix(name: str, suffix: str) -> bool:
    return name.endswith(suffix) and len(name) > len(suffix)
