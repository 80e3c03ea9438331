"""Which act is safe before which: outcomes before sinks, sinks before commits, and who waits for the disk."""

import pytest

from inorder.core.commands import RetryScheduled, WindowOpened
from inorder.errors import Category, Failure
from inorder.journal.records import Commit
from inorder.journal.replay import replay
from inorder.journal.scan import scan
from inorder.journal.writer import FSYNC_POLICIES, FsyncPolicy, JournalOptions
from inorder.sim.disk.contents import Medium
from inorder.sim.disk.disk import Disk
from tests.journal.jobs import PATH, Session, journal_of
from tests.journal.witness import Witness, acts_under

OUTCOMES, COMMIT, CHECKPOINT = "journal: terminal", "journal: commit", "journal: checkpoint"
APPLIED = ["rows: seqs 2 to 4", "files: seqs 2 to 4"]
SINKS_SYNCED = ["rows: sync", "files: sync"]
SYNC = "journal: sync"
EVERY_POLICY = pytest.mark.parametrize("fsync", FSYNC_POLICIES)


@pytest.mark.req("JRN-2")
def test_always_waits_for_the_outcomes_then_for_the_sinks_then_for_the_commit() -> None:
    run, _ = acts_under("always")
    assert run == [OUTCOMES, SYNC, *APPLIED, *SINKS_SYNCED, COMMIT, SYNC]


@pytest.mark.req("JRN-2")
def test_batch_waits_for_the_outcomes_and_the_commit_rides_along_with_the_next_sync() -> None:
    run, _ = acts_under("batch")
    assert run == [OUTCOMES, SYNC, *APPLIED, COMMIT]


@pytest.mark.req("JRN-2")
@pytest.mark.parametrize("fsync", ["interval", "off"])
def test_interval_and_off_wait_for_nothing(fsync: FsyncPolicy) -> None:
    run, _ = acts_under(fsync)
    assert run == [OUTCOMES, *APPLIED, COMMIT]


@pytest.mark.req("JRN-2")
@pytest.mark.parametrize("fsync", ["always", "batch", "interval"])
def test_when_a_checkpoint_falls_due_every_sink_is_synced_before_it_and_it_is_synced_itself(fsync: FsyncPolicy) -> None:
    *_, commit_or_sync, first, second, checkpoint, last = acts_under(fsync)[1]
    assert commit_or_sync in (COMMIT, SYNC)
    assert ([first, second], checkpoint, last) == (SINKS_SYNCED, CHECKPOINT, SYNC)


@pytest.mark.req("JRN-2")
def test_off_writes_no_checkpoint_because_of_the_time() -> None:
    assert CHECKPOINT not in acts_under("off")[1]


@pytest.mark.req("JRN-2", "COM-1")
@EVERY_POLICY
def test_a_run_is_one_append_of_outcomes_one_act_of_each_sink_and_one_append_of_its_commit(fsync: FsyncPolicy) -> None:
    run, _ = acts_under(fsync)
    assert [act for act in run if not act.endswith("sync")] == [OUTCOMES, *APPLIED, COMMIT]


@pytest.mark.req("JRN-2")
@EVERY_POLICY
def test_windows_and_retries_are_written_together_with_the_outcomes_they_come_before(fsync: FsyncPolicy) -> None:
    witness = Witness(fsync)
    failure = Failure(category=Category.IO, message="busy", retryable=True)
    witness.journal.note(WindowOpened(0, 0, 8, None))
    witness.journal.note(RetryScheduled(1, 1, 0, failure, 1))
    assert witness.acts == []
    assert witness.commit(0, 2)[0] == "journal: window, attempt, terminal"
    assert witness.commit(2, 3)[0] == OUTCOMES


@pytest.mark.req("JRN-2")
def test_what_waits_to_be_written_goes_out_with_a_checkpoint_too() -> None:
    witness = Witness("batch")
    witness.journal.note(WindowOpened(0, 0, 8, None))
    witness.lane.checkpoint()
    assert witness.acts == [*SINKS_SYNCED, "journal: window", CHECKPOINT, SYNC]
    assert [window.id for window in witness.writer.state.windows] == [0]


@pytest.mark.req("JRN-2")
def test_a_commit_record_carries_the_position_and_the_checksum_of_every_sink() -> None:
    witness = Witness("batch")
    witness.commit(0, 3)
    commit = witness.newest_commit()
    assert [mark[:2] for mark in commit.marks] == [(3, 3), (3, 3)]
    assert all(mark[2] for mark in commit.marks)
    assert len(commit.digest) == 8


@pytest.mark.req("JRN-2")
@EVERY_POLICY
def test_a_commit_record_says_whether_the_sinks_were_synced_before_it(fsync: FsyncPolicy) -> None:
    found = scan(journal_of(options=JournalOptions(fsync=fsync))).records
    said = {each.record.is_synced for each in found if isinstance(each.record, Commit)}
    assert said == {fsync == "always"}


@pytest.mark.slow
@pytest.mark.req("JRN-2")
@pytest.mark.parametrize("fsync", ["always", "batch"])
def test_whatever_a_sink_holds_its_outcome_is_already_safe_from_a_loss_of_power(fsync: FsyncPolicy) -> None:
    """The hardest disk there is: at any moment it forgets everything that it is allowed to forget."""
    disk = Disk(medium=Medium(sector_bytes=64))
    looked = 0

    def look(number: int, name: str, path: str) -> None:
        nonlocal looked
        tree = disk.tree()
        applied = tree.get("manifest.jsonl", b"").count(b"\n")
        published = [int(name[4:-4]) for name in tree if name.startswith("out/")]
        if applied or published:
            lost = disk.copy().crash(lambda ways: 1)
            told = replay(scan(lost.read(PATH)).records).terminal_end
            assert told >= applied
            assert told > max(published, default=-1)
            looked += 1

    disk.on_operation = look
    Session(disk, options=JournalOptions(fsync=fsync, checkpoint_ms=150)).run()
    assert looked > 60


@pytest.mark.slow
@pytest.mark.req("JRN-2")
@EVERY_POLICY
def test_whatever_the_policy_a_killed_process_loses_nothing_that_was_written(fsync: FsyncPolicy) -> None:
    for polls in range(0, 50, 7):
        disk = Disk()
        session = Session(disk, options=JournalOptions(fsync=fsync), dies_at=polls)
        session.run()
        disk.kill()
        rows = disk.tree()["manifest.jsonl"].count(b"\n")
        resumed = Session(disk, options=JournalOptions(fsync=fsync), dies_at=0)
        assert resumed.opened.resume_point.end == rows
