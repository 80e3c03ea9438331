"""Compaction: fewer bytes, the same meaning, and only where a checkpoint is due."""

from errno import EIO
from functools import partial

import pytest
from hypothesis import assume, given

from inorder.errors import InfrastructureError
from inorder.journal.records import Attempt, Checkpoint, Commit, Header, Terminal, WindowRecord
from inorder.journal.replay import SKIP, SUCCESS, replay
from inorder.journal.scan import ScanVerdict, scan
from inorder.journal.writer import JournalOptions
from inorder.runtime.commit import CommitJournal
from inorder.runtime.recovery import create_journal
from inorder.sim.clock import VirtualClock
from inorder.sim.disk.disk import Disk
from inorder.sim.disk.operations import DiskFaults
from tests.journal.histories import History, Tape, begun, histories, meaning
from tests.journal.jobs import PATH, Session, results_on

SMALL = JournalOptions(checkpoint_ms=50, compact_bytes=400)


@pytest.mark.slow
@pytest.mark.req("JRN-4")
@given(histories)
def test_the_writer_knows_at_every_moment_what_a_replay_would_say(history: History) -> None:
    found = scan(history.tape.data)
    assert (found.verdict, found.offset) == (ScanVerdict.CLEAN, history.writer.offset)
    assert meaning(replay(found.records)) == meaning(history.writer.state)
    assert replay(found.records).candidates == history.writer.state.candidates


@pytest.mark.slow
@pytest.mark.req("JRN-4")
@given(histories)
def test_replaying_twice_gives_the_same_state(history: History) -> None:
    found = scan(history.tape.data).records
    first, second = replay(found), replay(found)
    assert vars(first) == vars(second)
    since = max(number for number, each in enumerate(found) if isinstance(each.record, Checkpoint))
    for one in found[since + 1 :]:
        record, offset, end = one.record, one.offset, one.end
        first.apply(record, offset, end)
    assert vars(first) == vars(second)


@pytest.mark.slow
@pytest.mark.req("JRN-6")
@given(histories)
def test_a_compacted_journal_replays_to_the_same_state(history: History) -> None:
    compacted = scan(history.writer.build_compacted())
    assert compacted.verdict is ScanVerdict.CLEAN
    assert meaning(replay(compacted.records)) == meaning(history.writer.state)


@pytest.mark.slow
@pytest.mark.req("JRN-6")
@given(histories)
def test_whatever_follows_means_the_same_after_a_compaction(history: History) -> None:
    writer, _, rest = history
    compacted = replay(scan(writer.build_compacted()).records)
    for number, record in enumerate(rest):
        compacted.apply(record, number, number)
        writer.state.apply(record, number, number)
        assert meaning(compacted) == meaning(writer.state)


@pytest.mark.slow
@pytest.mark.req("JRN-6")
@given(histories)
def test_compacting_what_is_compacted_changes_no_byte(history: History) -> None:
    writer = history.writer
    once = writer.build_compacted()
    writer.switch_file(Tape(once), once)
    assert writer.build_compacted() == once
    assert (writer.offset, writer.durable) == (len(once), len(once))


@pytest.mark.slow
@pytest.mark.req("JRN-6")
@given(histories)
def test_the_writer_goes_on_in_the_compacted_file(history: History) -> None:
    writer, old, rest = history
    data = writer.build_compacted()
    assume(rest)
    new = Tape(data)
    writer.switch_file(new, data)
    writer.append(*rest)
    assert old.acts[-1] == "close"
    found = scan(new.data)
    assert (found.verdict, found.offset) == (ScanVerdict.CLEAN, writer.offset)
    assert meaning(replay(found.records)) == meaning(writer.state)


def journal_on(disk: Disk, options: JournalOptions, clock: VirtualClock | None = None) -> CommitJournal:
    opened = create_journal(disk, PATH, Header("", "", ""), ())
    return CommitJournal(opened.writer, disk, PATH, options, clock or VirtualClock())


def records_on(disk: Disk) -> list[object]:
    return [each.record for each in scan(disk.read(PATH)).records]


@pytest.mark.req("JRN-6")
def test_outcomes_that_are_not_committed_survive() -> None:
    disk = Disk()
    journal = journal_on(disk, SMALL)
    journal.write_outcomes(Terminal(0, bytes([SUCCESS] * 400)))
    journal.write_commit(399, (), b"so far")
    journal.checkpoint()
    assert records_on(disk) == [
        Header("", "", ""),
        Checkpoint(end=399, durable=0, digest=b"so far", succeeded=399),
        Terminal(399, bytes([SUCCESS])),
    ]


@pytest.mark.req("JRN-6")
def test_what_is_over_is_not_carried_along() -> None:
    writer, _ = begun(0)
    writer.append(
        WindowRecord(0, 0, 2), WindowRecord(1, 2, 2), Attempt(1, 1), Attempt(2, 1), Terminal(0, bytes([SUCCESS] * 3))
    )
    writer.append(Commit(3, 0))
    assert writer.build_checkpoint(is_end=False) == [
        Checkpoint(end=3, durable=writer.durable, succeeded=3, granted={2: 1}, windows=(WindowRecord(1, 2, 2),))
    ]


@pytest.mark.req("JRN-6")
def test_a_journal_is_compacted_at_a_checkpoint_and_at_no_other_time_however_long_it_grows() -> None:
    disk = Disk()
    journal = journal_on(disk, SMALL)
    for start in range(0, 3000, 300):
        journal.write_outcomes(Terminal(start, bytes([SKIP] * 300)))
        journal.write_commit(start + 300, (), b"")
    assert len(disk.read(PATH)) > 3000
    assert [type(record) for record in records_on(disk)[:3]] == [Header, Checkpoint, Terminal]
    journal.checkpoint()
    assert records_on(disk) == [Header("", "", ""), Checkpoint(end=3000, durable=0, skipped=3000)]
    journal.write_outcomes(Terminal(3000, bytes([SKIP])))
    journal.write_commit(3001, (), b"")
    journal.close()
    *_, terminal, commit = scan(disk.read(PATH)).records
    assert (terminal.record, commit.record) == (Terminal(3000, bytes([SKIP])), Commit(3001, terminal.end))


@pytest.mark.req("JRN-6")
def test_a_short_journal_is_not_compacted_by_a_checkpoint() -> None:
    disk = Disk()
    journal = journal_on(disk, JournalOptions())
    journal.write_outcomes(Terminal(0, bytes([SKIP])))
    journal.write_commit(1, (), b"")
    journal.checkpoint()
    kinds = [type(record) for record in records_on(disk)]
    assert kinds == [Header, Checkpoint, Terminal, Commit, Checkpoint]


@pytest.mark.req("JRN-6")
def test_the_checkpoint_at_the_end_of_a_run_keeps_the_file() -> None:
    disk = Disk()
    journal = journal_on(disk, SMALL)
    journal.write_outcomes(Terminal(0, bytes([SKIP] * 500)))
    journal.write_commit(500, (), b"")
    journal.checkpoint(is_end=True)
    *_, last = records_on(disk)
    assert isinstance(last, Checkpoint)
    assert last.is_end
    assert len(disk.read(PATH)) > 500


@pytest.mark.req("JRN-6")
def test_a_job_whose_journal_is_compacted_again_and_again_ends_as_any_other() -> None:
    wanted, disk = Disk(), Disk()
    summary = Session(wanted).run()
    changes: list[int] = []
    disk.on_operation = lambda number, name, path: changes.append(number) if (name, path) == ("rename", PATH) else None
    assert Session(disk, options=SMALL).run() == summary
    assert results_on(disk) == results_on(wanted)
    assert len(changes) > 3
    assert len(disk.read(PATH)) < len(wanted.read(PATH)) / 2


@pytest.mark.slow
@pytest.mark.req("JRN-6")
def test_a_compaction_that_fails_leaves_a_journal_from_which_the_run_goes_on() -> None:
    wanted = Disk()
    Session(wanted).run()
    log: list[tuple[int, str]] = []
    watched = Disk(on_operation=lambda number, name, path: log.append((number, path)))
    Session(watched, options=SMALL).run()
    of_compaction = [number for number, path in log if path == f"{PATH}.new"][3:]
    assert len(of_compaction) > 9
    for number in of_compaction:
        disk = Disk(faults=DiskFaults(fail_at={number: EIO}, short_writes={number: 30}))
        with pytest.raises(
            InfrastructureError, match=r"cannot be written .* solve the problem, then run again to resume"
        ):
            Session(disk, options=SMALL).run()
        disk.faults = DiskFaults()
        disk.kill()
        assert Session(disk, options=SMALL).run() is not None
        assert results_on(disk) == results_on(wanted)


def test_after_a_failed_compaction_nothing_is_written_any_more() -> None:
    disk = Disk()
    journal = journal_on(disk, SMALL)
    journal.write_outcomes(Terminal(0, bytes([SKIP] * 500)))
    journal.write_commit(500, (), b"")
    disk.on_operation = partial(_fail_to_sync_the_folder, disk)
    with pytest.raises(InfrastructureError):
        journal.checkpoint()
    count = disk.operations
    with pytest.raises(InfrastructureError):
        journal.checkpoint(is_end=True)
    assert disk.operations == count


def _fail_to_sync_the_folder(disk: Disk, number: int, name: str, path: str) -> None:
    if name == "sync_directory":
        disk.faults = DiskFaults(fail_at={number: EIO})
