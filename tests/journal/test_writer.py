"""The end of a journal: what is written together, when the disk is waited for, and what a failure does."""

from collections.abc import Callable
from errno import EIO

import pytest

from inorder.errors import InfrastructureError, OperatorError
from inorder.journal.records import Attempt, Checkpoint, Commit, Header, Terminal, WindowRecord, encode_record
from inorder.journal.replay import SUCCESS, replay
from inorder.journal.scan import scan
from inorder.journal.writer import FSYNC_POLICIES, JournalOptions, JournalWriter
from inorder.runtime.recovery import create_journal
from inorder.sim.disk.disk import Disk
from inorder.sim.disk.operations import DiskFaults
from tests.journal.histories import Tape, begun

TERMINAL = Terminal(0, bytes([SUCCESS]))
ADVICE = "the run stopped and what is committed is kept: solve the problem, then run again to resume"


class Failing(Tape):
    """A file that fails at the acts named, once; then it works again, and nobody should find out."""

    def __init__(self, data: bytes, *fails: str) -> None:
        super().__init__(data)
        self.fails = list(fails)

    def append(self, data: bytes) -> None:
        super().append(data)
        self._perhaps("append")

    def sync(self) -> None:
        super().sync()
        self._perhaps("sync")

    def _perhaps(self, act: str) -> None:
        if act in self.fails:
            self.fails.remove(act)
            raise OSError(EIO, "Input/output error")


def writer_on(*fails: str) -> tuple[JournalWriter, Failing]:
    data = encode_record(Header("", "", "")) + encode_record(Checkpoint(end=0, durable=0))
    file = Failing(data, *fails)
    return JournalWriter(file, "run.journal", replay(scan(data).records), len(data)), file


@pytest.mark.req("JRN-2")
def test_records_that_are_written_together_are_one_append() -> None:
    writer, tape = begun(0)
    writer.append(WindowRecord(0, 0, 4), Attempt(0, 1), TERMINAL)
    assert tape.acts == ["append"]
    assert [each.record for each in scan(tape.data).records[2:]] == [WindowRecord(0, 0, 4), Attempt(0, 1), TERMINAL]
    assert writer.offset == len(tape.data)


@pytest.mark.req("JRN-2")
def test_what_is_written_is_durable_after_the_next_sync_and_not_before() -> None:
    writer, tape = begun(0)
    begin = writer.durable
    writer.append(TERMINAL)
    assert (writer.durable, writer.offset) == (begin, len(tape.data))
    writer.sync()
    assert writer.durable == len(tape.data)


@pytest.mark.req("JRN-2")
def test_the_disk_is_not_waited_for_where_nothing_is_new() -> None:
    writer, tape = begun(0)
    writer.sync()
    writer.append(TERMINAL)
    writer.sync()
    writer.sync()
    assert tape.acts == ["append", "sync"]


@pytest.mark.req("JRN-2")
def test_a_checkpoint_tells_how_much_was_synced_before_it() -> None:
    writer, _ = begun(0)
    writer.append(TERMINAL)
    writer.sync()
    synced = writer.offset
    writer.append(Commit(1, synced))
    [checkpoint] = writer.build_checkpoint(is_end=True)
    assert checkpoint == Checkpoint(end=1, durable=synced, succeeded=1, is_end=True)


@pytest.mark.parametrize("act", ["append", "sync"])
def test_after_a_failure_nothing_is_written_and_no_sync_is_tried_again(act: str) -> None:
    writer, file = writer_on(act)
    calls: list[Callable[[], None]] = [lambda: writer.append(TERMINAL), writer.sync]
    if act == "sync":
        writer.append(TERMINAL)
    with pytest.raises(InfrastructureError):
        calls[act == "sync"]()
    before = list(file.acts)
    assert before == ["append", "sync"][: 1 + (act == "sync")]
    for call in calls * 2:
        with pytest.raises(InfrastructureError, match=ADVICE):
            call()
    assert file.acts == before


def test_a_poisoned_journal_says_which_it_is_what_is_wrong_and_what_to_do() -> None:
    writer, _ = writer_on("append")
    with pytest.raises(InfrastructureError) as caught:
        writer.append(TERMINAL)
    assert str(caught.value) == f"the journal run.journal cannot be written (Input/output error); {ADVICE}"
    assert isinstance(caught.value.__cause__, OSError)
    assert caught.value.exit_code == 1


def test_a_poisoned_journal_can_be_closed() -> None:
    writer, file = writer_on("sync")
    writer.append(TERMINAL)
    with pytest.raises(InfrastructureError):
        writer.sync()
    writer.close()
    assert file.acts == ["append", "sync", "close"]


def test_a_failed_sync_leaves_durable_where_it_was() -> None:
    writer, _ = writer_on("sync")
    before = writer.durable
    writer.append(TERMINAL)
    with pytest.raises(InfrastructureError):
        writer.sync()
    assert writer.durable == before


def test_a_full_disk_leaves_a_torn_tail_and_a_true_beginning() -> None:
    disk = Disk()
    opened = create_journal(disk, "run.journal", Header("", "", ""), ())
    room = len(disk.read("run.journal")) + 20
    disk.faults = DiskFaults(capacity_bytes=room)
    opened.writer.append(TERMINAL)
    with pytest.raises(InfrastructureError, match="No space left on device"):
        opened.writer.append(Commit(1, 0, [], b"digest"))
    found = scan(disk.read("run.journal"))
    assert (found.verdict.value, [each.record for each in found.records[2:]]) == ("torn tail", [TERMINAL])
    assert opened.writer.durable == found.records[1].end


@pytest.mark.req("JRN-2")
def test_there_are_four_policies_and_batch_is_the_usual_one() -> None:
    assert FSYNC_POLICIES == ("always", "batch", "interval", "off")
    assert JournalOptions().fsync == "batch"


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"fsync": "sometimes"}, "fsync must be one of always, batch, interval, off, got 'sometimes'"),
        ({"checkpoint_ms": 0}, "checkpoint_ms must be at least 1, got 0"),
        ({"compact_bytes": 0}, "compact_bytes must be at least 1, got 0"),
    ],
)
def test_an_option_that_makes_no_sense_is_refused_by_name(options: dict[str, object], complaint: str) -> None:
    with pytest.raises(OperatorError, match=complaint):
        JournalOptions(**options)  # type: ignore[arg-type]
