"""The disk fails while the power is on: the run stops with one clear line, harms nothing, and can be run again."""

from collections.abc import Iterator
from errno import EIO, ENOSPC, EROFS

import pytest

from inorder.errors import InfrastructureError
from inorder.journal.writer import Policy
from inorder.sim.crash_life import Life
from inorder.sim.crash_story import new_disk
from inorder.sim.crashes import Trial
from inorder.sim.disk import Disk
from inorder.sim.operations import DiskFaults
from tests.crash.stories import BY_POLICY, trial_of

SEEDS = (1, 3, 6)
ERRORS = {EIO: "Input/output error", ENOSPC: "No space left on device", EROFS: "Read-only file system"}


def stops_clearly(trial: Trial, disk: Disk, code: int) -> Life:
    """The run ends with one line for the operator, and a reader finds nothing damaged."""
    life = Life(trial.story, disk)
    with pytest.raises(InfrastructureError) as caught:
        life.live(may_cancel=True)
    said = str(caught.value)
    assert caught.value.exit_code == 1
    assert ERRORS[code] in said
    assert "\n" not in said
    life.check_books()
    trial.look(disk)
    return life


def heals(trial: Trial, disk: Disk, life: Life) -> None:
    """Once the trouble is gone the same run goes on, loses nothing, and ends as it must."""
    disk.kill()
    disk.faults = DiskFaults()
    trial.heal(disk, life.acknowledged)


@BY_POLICY
@pytest.mark.parametrize("code", ERRORS)
def test_an_operation_that_fails_stops_the_run_and_a_rerun_completes_it(policy: Policy, code: int) -> None:
    """Every write, sync, rename, removal and new name of it, one after the other; a failed write leaves a piece."""
    for seed in SEEDS:
        with trial_of(seed, policy) as trial:
            for number in range(trial.undisturbed()):
                disk = new_disk()
                disk.faults = DiskFaults(fail_at={number: code}, short_writes={number: number % 50})
                heals(trial, disk, stops_clearly(trial, disk, code))


@BY_POLICY
def test_a_full_disk_stops_the_run_and_one_with_room_completes_it(policy: Policy) -> None:
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
        life = Life(trial.story, disk)
        try:
            life.live(may_cancel=True)
        except InfrastructureError:
            yield capacity
        else:
            return


@BY_POLICY
def test_a_write_that_fails_in_the_process_that_goes_on_is_healed_by_the_one_after_it(policy: Policy) -> None:
    for seed in SEEDS:
        with trial_of(seed, policy) as trial:
            half = half_way(trial)
            whole = half.copy()
            Life(trial.story, whole).live()
            for number in range(half.operations, whole.operations):
                disk = half.copy()
                disk.faults = DiskFaults(fail_at={number: EIO}, short_writes={number: 20})
                heals(trial, disk, stops_clearly(trial, disk, EIO))


@BY_POLICY
def test_a_read_that_fails_in_the_process_that_goes_on_is_healed_by_the_one_after_it(policy: Policy) -> None:
    for seed in SEEDS:
        with trial_of(seed, policy) as trial:
            half = half_way(trial)
            failed = 0
            for number in range(100):
                disk = half.copy()
                disk.faults = DiskFaults(fail_reads_at={number: EIO})
                life = Life(trial.story, disk)
                try:
                    life.live()
                except InfrastructureError as error:
                    failed += 1
                    assert ERRORS[EIO] in str(error)
                    heals(trial, disk, life)
            assert failed >= 2


def half_way(trial: Trial) -> Disk:
    """A disk that a process has left in the middle of the run."""
    operations = trial.undisturbed()
    disk = new_disk()
    disk.faults = DiskFaults(fail_at={operations * 2 // 3: EIO})
    with pytest.raises(InfrastructureError):
        Life(trial.story, disk).live(may_cancel=True)
    disk.kill()
    disk.faults = DiskFaults()
    return disk
