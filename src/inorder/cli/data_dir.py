"""DATA as the commands find it: which stages there are, and what their runs have left."""

import os
import platform
from typing import NamedTuple

from inorder.cli.options import Given
from inorder.cli.settings import resolve
from inorder.errors import BusyError, OperatorError
from inorder.host.filesystem import SystemFilesystem
from inorder.host.lock import Lock
from inorder.journal.replay import Corrupt, Replay, replay
from inorder.journal.scan import Scan
from inorder.runtime.recovery import scan_journal
from inorder.stage.data_layout import DataLayout
from inorder.stage.manifest.reader import ConfigRow, find_last_run


class Dataset:
    """A DATA folder. What it says of another run is only a look; a command that must be alone locks the stage."""

    def __init__(self, root: str) -> None:
        self.root = root

    def stages(self) -> list[str]:
        """Those that have left a manifest or a journal."""
        found = set()
        for folder, suffix in (("manifests", ".jsonl"), ("journal", ".journal")):
            if os.path.isdir(f"{self.root}/{folder}"):
                found |= {
                    name.removesuffix(suffix) for name in os.listdir(f"{self.root}/{folder}") if _is(name, suffix)
                }
        return sorted(found)

    def chosen(self, stage: str | None) -> list[str]:
        """The stage that was asked for, or all."""
        known = self.stages()
        if stage is None:
            return known
        if stage not in known:
            raise OperatorError(f"{self.root} knows no stage {stage!r}; stages there: {', '.join(known) or 'none'}")
        return [stage]

    def places(self, stage: str) -> DataLayout:
        """Where the things of a stage lie."""
        return DataLayout(self.root, stage)

    def config(self, stage: str) -> ConfigRow | None:
        """How the latest run of a stage began."""
        found = find_last_run(self.places(stage).manifest)
        return None if found is None else found[1]

    def lock(self, stage: str) -> Lock:
        """Keep other runs of a stage away; raises `BusyError` if there is one."""
        places = self.places(stage)
        os.makedirs(os.path.dirname(places.lock), exist_ok=True)
        return Lock(places.lock, f"stage {stage} of {self.root}")

    def holder(self, stage: str) -> str:
        """Who runs a stage now, in words; empty: nobody. The lock is tried only where its last holder seems to be
        alive: a look must not get into the way of a run that is about to begin."""
        if not _may_be_held(self.places(stage).lock):
            return ""
        try:
            self.lock(stage).release()
        except BusyError as error:
            return str(error)
        return ""

    def journal(self, stage: str) -> "JournalState | None":
        """What the journal of a stage says; None: there is none."""
        path = self.places(stage).journal
        if not os.path.exists(path):
            return None
        found = scan_journal(SystemFilesystem(), path)
        if not found.is_usable:
            return JournalState(path, found, None, f"{found.verdict.value} at byte {found.offset}: {found.message}")
        try:
            return JournalState(path, found, replay(found.found), "")
        except Corrupt as error:
            return JournalState(path, found, None, str(error))


class JournalState(NamedTuple):
    """A journal, read."""

    path: str
    scan: Scan
    replay: Replay | None
    """None: it cannot be trusted."""
    trouble: str

    @property
    def unfinished_at(self) -> int | None:
        """Where a run stands that was interrupted or is under way; None: the latest one went to its end."""
        return None if self.replay is None or self.replay.is_end else self.replay.newest.end


def _may_be_held(path: str) -> bool:
    """Whether the process that a lock file names runs, or runs where we cannot look."""
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


def _is(name: str, suffix: str) -> bool:
    return name.endswith(suffix) and len(name) > len(suffix)


def open_data(data: str | None, given: Given | None = None) -> Dataset:
    """The DATA that was named, or that the settings name. It must be there, and be one."""
    said = dict(given or {}) | ({} if data is None else {"data": data})
    root = resolve(said).data
    if not os.path.isdir(root):
        raise OperatorError(f"there is no DATA at {root}; run a stage first, or name another with --data")
    dataset = Dataset(root)
    if not dataset.stages():
        raise OperatorError(
            f"{root} is no DATA of inorder: no stage has left a manifest there; name another with --data"
        )
    return dataset
