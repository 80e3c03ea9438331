"""The disk fails without a power loss: the run stops with a one-line error, and a rerun completes it."""

import contextlib
from collections.abc import Iterator
from errno import EIO, ENOSPC, EROFS

import pytest

from inorder.errors import InfrastructureError
from inorder.journal.writer import FsyncPolicy
from inorder.runtime.recovery import DISTRUST_SUFFIX
from inorder.sim.crash.case import JOURNAL, new_disk
from inorder.sim.crash.process import CrashedProcess
from inorder.sim.crash.runs import Handover, Trial
from inorder.sim.disk.disk import Disk
from inorder.sim.disk.operations import DiskFaults
from tests.crash.cases import BY_POLICY, trial_of

SEEDS = (1, 3, 6)
ERRORS = {EIO: "Input/output error", ENOSPC: "No space left on device", EROFS: "Read-only file system"}


def stops_clearly(trial: Trial, disk: Disk, code: int, *, is_first: bool = True) -> CrashedProcess:
    """The run ends with one line for the operator, and a reader finds nothing damaged."""
    process = CrashedProcess(trial.case, disk)
    with pytest.raises(InfrastructureError) as caught:
        process.run(may_cancel=is_first)
    said = str(caught.value)
    assert caught.value.exit_code == 1
    assert ERRORS[code] in said
    assert "\n" not in said
    process.check_books()
    trial.check_what_readers_see(disk)
    return process


def heals(trial: Trial, disk: Disk, process: CrashedProcess) -> None:
    """Once the trouble is gone the same run goes on, loses nothing, and ends as it must. Where a sync has failed, what
    was not safe before it is done again: it reads well, and may be nowhere but in memory."""
    disk.kill()
    disk.faults = DiskFaults()
    is_distrusted = disk.stat(f"{JOURNAL}{DISTRUST_SUFFIX}") is not None
    trial.recover(Handover(disk, kept=process.promised if is_distrusted else process.acknowledged))


@pytest.mark.parametrize(
    ("policy", "code"),
    [("always", EIO), ("batch", EIO), ("interval", EIO), ("off", EIO), ("batch", ENOSPC), ("batch", EROFS)],
)
def test_an_operation_that_fails_stops_the_run_and_a_rerun_completes_it(policy: FsyncPolicy, code: int) -> None:
    """Every write, sync, rename, removal and new name of it, one after the other; a failed write leaves a piece."""
    for seed in SEEDS:
        with trial_of(seed, policy) as trial:
            for number in range(trial.run_undisturbed()):
                disk = new_disk()
                disk.faults = DiskFaults(fail_at={number: code}, short_writes={number: number % 50})
                heals(trial, disk, stops_clearly(trial, disk, code))


@BY_POLICY
def test_a_full_disk_stops_the_run_and_one_with_room_completes_it(policy: FsyncPolicy) -> None:
    for seed in SEEDS:
        with trial_of(seed, policy) as trial:
            capacities = list(too_small(trial))
            assert len(capacities) >= 20
            for capacity in capacities:
                disk = new_disk()
                disk.faults = DiskFaults(capacity_bytes=capacity)
                heals(trial, disk, stops_clearly(trial, disk, ENOSPC))


def too_small(trial: Trial) -> Iterator[int]:
    """Sizes of disks on which the run does not get to its end."""
    for capacity in range(0, 10_000, 37):
        disk = new_disk()
        disk.faults = DiskFaults(capacity_bytes=capacity)
        process = CrashedProcess(trial.case, disk)
        try:
            process.run(may_cancel=True)
        except InfrastructureError:
            yield capacity
        else:
            return


@BY_POLICY
def test_a_write_that_fails_in_the_process_that_goes_on_is_healed_by_the_one_after_it(policy: FsyncPolicy) -> None:
    for seed in SEEDS:
        with trial_of(seed, policy) as trial:
            half = half_way(trial)
            whole = half.copy()
            CrashedProcess(trial.case, whole).run()
            for number in range(half.operations, whole.operations):
                disk = half.copy()
                disk.faults = DiskFaults(fail_at={number: EIO}, short_writes={number: 20})
                heals(trial, disk, stops_clearly(trial, disk, EIO, is_first=False))


@BY_POLICY
def test_a_read_that_fails_in_the_process_that_goes_on_is_healed_by_the_one_after_it(policy: FsyncPolicy) -> None:
    for seed in SEEDS:
        with trial_of(seed, policy) as trial:
            half = half_way(trial)
            failed = 0
            for number in range(100):
                disk = half.copy()
                disk.faults = DiskFaults(fail_reads_at={number: EIO})
                process = CrashedProcess(trial.case, disk)
                with contextlib.suppress(InfrastructureError):
                    process.run()
                failed += process.summary is None
                heals(trial, disk, process)
            assert failed >= 2


@pytest.mark.req("JRN-7")
@BY_POLICY
def test_a_failed_sync_and_then_a_restart_of_the_machine_lose_nothing_that_was_safe(policy: FsyncPolicy) -> None:
    for seed in SEEDS:
        with trial_of(seed, policy) as trial:
            for number in syncs_of(trial):
                disk = new_disk()
                disk.faults = DiskFaults(fail_at={number: EIO})
                process = stops_clearly(trial, disk, EIO)
                for found in disk.states(4, number):
                    trial.recover(Handover(disk).after_power_loss(process, found))


@pytest.mark.xfail(reason="a folder whose name could not be synced stays in limbo, whatever is published in it later")
@BY_POLICY
def test_a_failed_sync_and_then_a_rerun_on_the_same_machine_can_be_trusted_when_the_power_goes(
    policy: FsyncPolicy,
) -> None:
    for seed in SEEDS:
        with trial_of(seed, policy) as trial:
            for number in syncs_of(trial):
                disk = new_disk()
                disk.faults = DiskFaults(fail_at={number: EIO})
                heals(trial, disk, stops_clearly(trial, disk, EIO))
                for found in disk.states(12, number):
                    trial.recover(Handover(found, has_lost_power=True))


def syncs_of(trial: Trial) -> list[int]:
    """The numbers of all operations that make something safe."""
    disk = new_disk()
    syncs: list[int] = []
    disk.on_operation = lambda number, name, path: syncs.append(number) if name.startswith("sync") else None
    CrashedProcess(trial.case, disk).run(may_cancel=True)
    return syncs


def half_way(trial: Trial) -> Disk:
    """A disk that a process has left in the middle of the run."""
    operations = trial.run_undisturbed()
    disk = new_disk()
    disk.faults = DiskFaults(fail_at={operations * 2 // 3: EIO})
    with pytest.raises(InfrastructureError):
        CrashedProcess(trial.case, disk).run(may_cancel=True)
    disk.kill()
    disk.faults = DiskFaults()
    return disk
