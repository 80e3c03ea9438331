"""A sync has failed: what reads well now may be nowhere but in memory, and the next run does not build on it."""

from errno import EIO
from functools import cache
from typing import NamedTuple

import pytest

from inorder.errors import SyncError
from inorder.journal.writer import FsyncPolicy, JournalOptions
from inorder.runtime.recovery import DISTRUST_SUFFIX, read_journal
from inorder.sim.disk.disk import Disk
from inorder.sim.disk.operations import DiskFaults
from tests.journal.jobs import PATH, Session, results_on

WORD = f"{PATH}{DISTRUST_SUFFIX}"
EVERY_POLICY = pytest.mark.parametrize("fsync", ["always", "batch", "interval"])


class Syncs(NamedTuple):
    """The numbers of the operations of a run that wait for the disk."""

    of_files: list[int]
    of_compactions: list[int]
    """Of the folder, after the new journal was given its name."""


def options(fsync: FsyncPolicy) -> JournalOptions:
    return JournalOptions(fsync=fsync, checkpoint_ms=150, compact_bytes=700)


@cache
def syncs(fsync: FsyncPolicy) -> Syncs:
    """From the first run of outcomes on."""
    log: list[tuple[str, str]] = []
    disk = Disk(on_operation=lambda number, name, path: log.append((name, path)))
    Session(disk, options=options(fsync)).run()
    begun = log.index(("append", PATH))
    compactions = [number + 1 for number in range(begun, len(log)) if log[number] == ("rename", PATH)]
    files = [number for number in range(begun, len(log)) if log[number][0] == "sync"]
    assert len(files) > 5
    assert len(compactions) > 1
    return Syncs(files, compactions)


def failed_at(number: int, fsync: FsyncPolicy) -> Disk:
    """What a run leaves behind one of whose syncs has failed."""
    disk = Disk(faults=DiskFaults(fail_at={number: EIO}))
    with pytest.raises(SyncError):
        Session(disk, options=options(fsync)).run()
    disk.faults = DiskFaults()
    disk.kill()
    return disk


def without_power(disk: Disk) -> Disk:
    """Everything is lost that can be."""
    return disk.crash(lambda ways: 1)


@pytest.mark.slow
@pytest.mark.req("JRN-2", "JRN-3")
@EVERY_POLICY
def test_word_is_left_and_the_next_run_goes_on_from_what_was_synced_and_ends_as_any_other(fsync: FsyncPolicy) -> None:
    wanted = Disk()
    summary = Session(wanted).run()
    for number in (*syncs(fsync).of_files[::3], *syncs(fsync).of_compactions):
        disk = failed_at(number, fsync)
        assert disk.stat(WORD) is not None
        session = Session(disk, options=options(fsync))
        assert disk.stat(WORD) is None
        assert session.run() == summary
        assert results_on(disk) == results_on(wanted)


@pytest.mark.slow
@pytest.mark.req("JRN-2", "JRN-3")
@EVERY_POLICY
def test_nothing_is_believed_that_a_loss_of_power_could_have_taken(fsync: FsyncPolicy) -> None:
    for number in syncs(fsync).of_files[::3]:
        disk = failed_at(number, fsync)
        safe = read_journal(without_power(disk), PATH)[1].terminal_end
        assert Session(disk, options=options(fsync)).opened.resume_point.end <= safe


@pytest.mark.slow
@pytest.mark.req("JRN-2", "JRN-3")
@EVERY_POLICY
def test_what_the_next_run_has_ended_stays_ended_when_the_power_goes(fsync: FsyncPolicy) -> None:
    for number in syncs(fsync).of_files[::3]:
        disk = failed_at(number, fsync)
        Session(disk, options=options(fsync)).run()
        assert read_journal(without_power(disk), PATH)[1].is_end


@pytest.mark.req("JRN-2", "JRN-3")
@EVERY_POLICY
def test_that_is_also_so_where_the_name_of_a_compacted_journal_could_not_be_synced(fsync: FsyncPolicy) -> None:
    for number in syncs(fsync).of_compactions:
        disk = failed_at(number, fsync)
        Session(disk, options=options(fsync)).run()
        assert read_journal(without_power(disk), PATH)[1].is_end


@pytest.mark.slow
@pytest.mark.req("JRN-2", "JRN-3")
def test_a_loss_of_power_after_that_costs_nothing_either() -> None:
    wanted = Disk()
    Session(wanted).run()
    for number in (*syncs("batch").of_files[::5], *syncs("batch").of_compactions):
        disk = failed_at(number, "batch")
        Session(disk, options=options("batch"), dies_at=3).run()
        for found in disk.states(4):
            Session(found, options=options("batch")).run()
            assert results_on(found) == results_on(wanted), number


@pytest.mark.req("JRN-3")
def test_without_that_word_the_newest_commit_is_believed() -> None:
    disk = failed_at(syncs("batch").of_files[6], "batch")
    distrusting = Session(disk.copy(), options=options("batch"))
    disk.unlink(WORD)
    believing = Session(disk, options=options("batch"))
    assert believing.opened.resume_point.end > distrusting.opened.resume_point.end
