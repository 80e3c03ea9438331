"""The crash tests can fail: each of these deliberate mistakes is detected."""

import itertools
import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from inorder.core.commands import CommitRun
from inorder.host.filesystem import Filesystem
from inorder.journal.records import Terminal
from inorder.journal.replay import Candidate, Replay
from inorder.journal.writer import FsyncPolicy
from inorder.runtime import commit, recovery
from inorder.runtime.commit import CommitJournal, CommitLane
from inorder.runtime.recovery import create_journal
from inorder.sim.crash.case import JOURNAL, MANIFEST, ROOT, draw_case, new_disk
from inorder.sim.crash.runs import Trial
from inorder.sim.disk.contents import Contents
from inorder.sim.disk.disk import Disk
from inorder.sim.disk.file import DiskFile
from inorder.sim.disk.names import DirectoryTree
from inorder.sim.referee import PromiseBroken
from inorder.sinks.base import AppliedRun, Position, Sink
from inorder.sinks.manifest import ManifestSink
from inorder.sinks.outputs import OutputsSink
from tests.crash.cases import BY_POLICY, SEEDS

Mistake = Callable[[pytest.MonkeyPatch], None]


def find_broken_promise(policy: FsyncPolicy, *, syncs: bool = True, kind: str = "power") -> str:
    """The first promise that is broken in the cases of the other tests: with few states per power loss, then with as
    many as there."""
    seeds = sorted(SEEDS, key=lambda seed: seed not in (4, 5))  # those have a checkpoint soon, and compact
    for states, seed in itertools.product((2, 16) if kind == "power" else (0,), seeds):
        trial = Trial(draw_case(seed, policy), new_disk(syncs=syncs))
        try:
            if kind == "power":
                trial.try_every_power_loss(states)
            else:
                trial.try_every_death()
        except PromiseBroken as broken_promise:
            message = str(broken_promise)
            assert not re.search("AttributeError|TypeError", message), "the mistake itself is out of date"
            return message
    raise AssertionError("no promise was broken")


# ---- disks and programs that do not sync


@BY_POLICY
def test_a_disk_that_only_says_it_syncs_is_found_out(policy: FsyncPolicy) -> None:
    assert find_broken_promise(policy, syncs=False)


@BY_POLICY
def test_names_that_are_never_synced_are_found_out(policy: FsyncPolicy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DirectoryTree, "sync", lambda self, folder: None)
    assert find_broken_promise(policy)


@BY_POLICY
def test_bytes_that_are_never_synced_are_found_out(policy: FsyncPolicy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Contents, "sync", lambda self: None)
    assert find_broken_promise(policy)


@pytest.mark.parametrize("path", [JOURNAL, f"{JOURNAL}.new", MANIFEST, f"{ROOT}/"])
def test_a_file_that_is_not_synced_is_found_out(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sync = DiskFile.sync
    monkeypatch.setattr(DiskFile, "sync", lambda self: None if self._path.startswith(path) else sync(self))
    assert find_broken_promise("batch")


@pytest.mark.parametrize("path", ["journal", "rows", "files", ROOT, f"{ROOT}/group-0"])
def test_a_folder_that_is_not_synced_is_found_out(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sync = Disk.sync_directory
    monkeypatch.setattr(Disk, "sync_directory", lambda self, each: None if each == path else sync(self, each))
    assert find_broken_promise("batch")


@pytest.mark.parametrize("policy", ["always", "batch"])
def test_outcomes_that_are_not_safe_before_a_sink_changes_are_found_out(
    policy: FsyncPolicy, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write_outcomes(self: CommitJournal, terminal: Terminal) -> None:
        self._writer.append(*self._drain_notes(), terminal)

    monkeypatch.setattr(CommitJournal, "write_outcomes", write_outcomes)
    assert "the files at seq" in find_broken_promise(policy)


@pytest.mark.parametrize("policy", ["batch", "interval", "off"])
def test_a_checkpoint_of_sinks_that_are_not_synced_is_found_out(
    policy: FsyncPolicy, monkeypatch: pytest.MonkeyPatch
) -> None:
    def checkpoint(self: CommitLane, *, is_end: bool = False) -> None:
        self._journal.checkpoint(is_end=is_end)

    monkeypatch.setattr(CommitLane, "checkpoint", checkpoint)
    assert find_broken_promise(policy)


def test_commits_that_are_not_synced_are_found_out_where_that_was_promised(monkeypatch: pytest.MonkeyPatch) -> None:
    write_commit = CommitJournal.write_commit

    def lazily(self: CommitJournal, *said: Any) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(self._writer, "sync", lambda: None)
            write_commit(self, *said)

    monkeypatch.setattr(CommitJournal, "write_commit", lazily)
    assert "items were durable, but the run resumed at seq" in find_broken_promise("always")


# ---- things done in the wrong order, or not at all


def outcomes_after_sinks(patch: pytest.MonkeyPatch) -> None:
    def commit_late(self: CommitLane, run: CommitRun, items: Sequence[Any]) -> int:
        entries = []
        for envelope, item in zip(run.envelopes, items, strict=True):
            entries.append(self._describe(envelope, item, run.retries.get(envelope.seq, 0) + 1))
            self._digest.add(item)
        positions = [sink.apply(entries) for sink in self._sinks]
        self._journal.write_outcomes(commit.to_terminal(run.start, entries))
        self._journal.write_commit(run.end, positions, self._digest.value())
        if self._journal.is_checkpoint_due:
            self.checkpoint()
        return run.end

    patch.setattr(CommitLane, "commit", commit_late)


def sinks_are_not_asked(patch: pytest.MonkeyPatch) -> None:
    def choose(path: str, state: Replay, sinks: Sequence[Sink]) -> Candidate:
        return state.newest_candidate

    patch.setattr(recovery, "_choose_candidate", choose)


def published_files_are_not_rolled_back(patch: pytest.MonkeyPatch) -> None:
    roll_back = OutputsSink.roll_back
    patch.setattr(OutputsSink, "roll_back", lambda self, position, undone: roll_back(self, position, ()))


def rows_are_not_rolled_back(patch: pytest.MonkeyPatch) -> None:
    def stay(self: ManifestSink, position: Position, undone: Sequence[AppliedRun]) -> None:
        self._position = position

    patch.setattr(ManifestSink, "roll_back", stay)


def the_journal_is_not_cut(patch: pytest.MonkeyPatch) -> None:
    truncate = DiskFile.truncate
    patch.setattr(DiskFile, "truncate", lambda self, size: None if self._path == JOURNAL else truncate(self, size))


def a_new_journal_is_written_in_place(patch: pytest.MonkeyPatch) -> None:
    def write(filesystem: Filesystem, path: str, data: bytes) -> None:
        file = filesystem.open(path)
        file.truncate(0)
        file.append(data)
        file.sync()
        file.close()

    patch.setattr(commit, "write_atomic", write)


def every_run_starts_over(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("inorder.runtime.durable_run.resume_journal", create_journal)


def published_files_are_not_looked_at(patch: pytest.MonkeyPatch) -> None:
    def believe(self: OutputsSink, position: Position, since: Sequence[AppliedRun]) -> bool:
        return True

    patch.setattr(OutputsSink, "holds", believe)


def folders_are_not_remembered(patch: pytest.MonkeyPatch) -> None:
    def make_folders(self: OutputsSink, path: str) -> None:
        folder = path.rpartition("/")[0]
        self._filesystem.make_directory(self._full_path(folder))

    patch.setattr(OutputsSink, "_make_folders", make_folders)


MISTAKES: tuple[tuple[Mistake, str], ...] = (
    (outcomes_after_sinks, "power"),
    (sinks_are_not_asked, "power"),
    (published_files_are_not_rolled_back, "power"),
    (published_files_are_not_rolled_back, "death"),
    (rows_are_not_rolled_back, "death"),
    (the_journal_is_not_cut, "power"),
    (a_new_journal_is_written_in_place, "power"),
    (every_run_starts_over, "power"),
    (every_run_starts_over, "death"),
    (published_files_are_not_looked_at, "power"),
    (folders_are_not_remembered, "power"),
)


@pytest.mark.parametrize(("mistake", "kind"), MISTAKES, ids=lambda value: getattr(value, "__name__", value))
def test_the_mistake_is_found_out(mistake: Mistake, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mistake(monkeypatch)
    assert find_broken_promise("batch", kind=kind)
