"""The order in which recovery changes the disk, and what the journal claims to be synced."""

from errno import EIO
from itertools import islice
from pathlib import Path

import pytest

from inorder import imap
from inorder.errors import InfrastructureError
from inorder.host.filesystem import SystemFilesystem
from inorder.journal.records import Checkpoint, Commit
from inorder.journal.scan import scan
from inorder.journal.writer import FSYNC_POLICIES, FsyncPolicy, JournalOptions
from inorder.runtime.recovery import DISTRUST_SUFFIX, read_journal
from inorder.sim.disk.disk import Disk
from inorder.sim.disk.operations import DiskFaults
from tests.journal.jobs import PATH, Session, job_on
from tests.journal.test_distrust import failed_at, syncs

WORD = f"{PATH}{DISTRUST_SUFFIX}"
ROWS = "manifest.jsonl"


def log_of(disk: Disk) -> list[tuple[str, str]]:
    """The operations from here on."""
    log: list[tuple[str, str]] = []
    disk.on_operation = lambda number, name, path: log.append((name, path))
    return log


def killed(polls: int = 30, **changes: object) -> Disk:
    """What a killed process leaves."""
    disk = Disk()
    Session(disk, dies_at=polls, **changes).run()
    disk.kill()
    return disk


@pytest.mark.req("JRN-2", "JRN-5")
@pytest.mark.parametrize("fsync", FSYNC_POLICIES)
def test_no_record_claims_more_bytes_than_a_power_loss_leaves(fsync: FsyncPolicy) -> None:
    """What is claimed to be synced and is missing later passes for damage."""
    disk = Disk()
    looked = 0

    def look(number: int, name: str, path: str) -> None:
        nonlocal looked
        if disk.stat(PATH) is None:
            return
        records = [each.record for each in scan(disk.read(PATH)).records]
        claimed = max((each.durable for each in records if isinstance(each, Commit | Checkpoint)), default=0)
        lost = disk.copy().crash(lambda ways: 1)
        assert claimed <= (len(lost.read(PATH)) if lost.stat(PATH) else 0)
        looked += claimed > 0

    disk.on_operation = look
    options = JournalOptions(fsync=fsync, checkpoint_ms=150)
    Session(disk, options=options, dies_at=20).run()
    disk.kill()
    Session(disk, options=options).run()
    assert looked > 10


@pytest.mark.req("JRN-3")
def test_a_new_journal_is_in_place_before_the_sinks_are_emptied() -> None:
    """With the old journal and empty sinks, the next recovery would find nothing that it could resume from."""
    disk = Disk()
    Session(disk).run()
    log = log_of(disk)
    job_on(disk).open(start_over=True)
    placed = log.index(("rename", PATH))
    assert log[placed + 1] == ("sync_directory", ".")
    assert placed + 1 < log.index(("truncate", ROWS))


@pytest.mark.req("JRN-3", "JRN-5")
def test_a_journal_is_cut_after_its_name_is_durable_and_synced_before_it_goes_on() -> None:
    disk = killed()
    file = disk.open(PATH)
    file.append(b"torn")
    file.close()
    log = log_of(disk)
    assert Session(disk, dies_at=0).opened.is_resumed
    cut = log.index(("truncate", PATH))
    assert log[cut - 1 : cut + 4] == [
        ("sync_directory", "."),
        ("truncate", PATH),
        ("sync", PATH),
        ("append", PATH),
        ("sync", PATH),
    ]


@pytest.mark.req("JRN-2", "JRN-3")
def test_trust_is_restored_after_the_new_journal_is_durable_and_for_good() -> None:
    disk = failed_at(syncs("batch").of_files[6], "batch")
    log = log_of(disk)
    Session(disk, dies_at=0)
    placed, trusted = log.index(("rename", PATH)), log.index(("unlink", WORD))
    assert log[placed - 1] == ("sync", f"{PATH}.new")
    assert ("sync_directory", ".") in log[placed:trusted]
    assert log[trusted + 1] == ("sync_directory", ".")


@pytest.mark.req("JRN-2", "JRN-3")
def test_where_cutting_fails_no_more_is_trusted_than_was_to_be_kept() -> None:
    """The sinks hold less than the journal claims, so the journal is cut far back, and the sync of the cut fails. The
    old bytes beyond the cut may reappear, and they were synced once."""
    disk = killed(options=JournalOptions(checkpoint_ms=10_000))
    rows = disk.read(ROWS).splitlines(keepends=True)
    file = disk.open(ROWS)
    file.truncate(len(b"".join(rows[: len(rows) // 2])))
    file.close()
    candidates = read_journal(disk, PATH)[1].candidates
    kept = [one for one in candidates if not one.marks or one.marks["manifest"][1] <= disk.stat(ROWS).size]  # type: ignore[union-attr]
    claimed = max(one.record.durable for one in scan(disk.read(PATH)).records if isinstance(one.record, Commit))
    assert claimed > kept[-1].offset
    trial = disk.copy()
    log = log_of(trial)
    Session(trial, dies_at=0)
    cut = log.index(("truncate", PATH))
    disk.faults = DiskFaults(fail_at={disk.operations + cut + 1: EIO})
    with pytest.raises(InfrastructureError):
        Session(disk, dies_at=0)
    assert int(disk.read(WORD)) <= kept[-1].offset


@pytest.mark.req("JRN-3")
@pytest.mark.parametrize(("taken", "is_end"), [(0, False), (3, False), (10, False), (None, True)])
def test_an_iteration_that_is_left_early_has_not_ended_in_its_journal(
    tmp_path: Path, taken: int | None, is_end: bool
) -> None:
    path = tmp_path / "run.journal"
    results = imap(str, range(10), journal=path, where="inline")
    list(islice(results, taken))
    results.close()
    assert read_journal(SystemFilesystem(), str(path))[1].is_end is is_end
