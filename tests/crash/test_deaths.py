"""The process dies at every durable operation of a complete run, without a power loss."""

import pytest

from inorder.journal.writer import FsyncPolicy
from inorder.sim.crash.case import draw_case, new_disk
from inorder.sim.crash.process import CrashedProcess
from inorder.sim.crash.runs import crash_seed
from inorder.sim.disk.disk import Disk
from inorder.sim.disk.operations import PowerLoss
from tests.crash.cases import BY_POLICY, SEEDS, trial_of


@pytest.mark.req("COM-1", "COM-2", "JRN-3", "JRN-7")
@BY_POLICY
def test_a_death_at_any_moment_repeats_nothing_that_was_committed(policy: FsyncPolicy) -> None:
    """What is committed is not given to a worker again, nor to a sink; what a reader sees meanwhile is never wrong."""
    deaths = 0
    for seed in SEEDS:
        with trial_of(seed, policy) as trial:
            trial.try_every_death()
            deaths += trial.deaths
    assert deaths >= 350


@pytest.mark.req("JRN-3", "JRN-7")
@BY_POLICY
def test_what_a_dead_process_left_unsynced_is_safe_once_the_next_one_builds_upon_it(policy: FsyncPolicy) -> None:
    """The machine lives on, the next process recovers and goes on, and then the power goes."""
    losses = 0
    for seed in SEEDS[:4]:
        with trial_of(seed, policy) as trial:
            trial.try_every_death(again=1.0)
            losses += trial.losses
    assert losses >= 200


@pytest.mark.req("JRN-3", "JRN-4")
@BY_POLICY
def test_a_recovery_that_is_done_twice_restores_the_same_as_once(policy: FsyncPolicy) -> None:
    """Windows and the retries granted in them included: the first recovery writes them down anew for the second."""
    for seed in SEEDS:
        for at in range(0, 120, 3):
            disk = new_disk()
            until(disk, at, CrashedProcess(draw_case(seed, policy), disk))
            first, second = (recovered(seed, policy, disk) for _ in range(2))
            assert first == second, f"draw_case({seed}, {policy!r}), died before operation {at}"


@pytest.mark.req("JRN-3")
def test_a_result_is_adopted_although_a_process_died_while_it_was_copied_back() -> None:
    """Found by a soak: the part of the copy that was left counted as the result, and its item was computed again."""
    assert crash_seed(1268).broken_promise is None


def until(disk: Disk, at: int, process: CrashedProcess) -> None:
    """Live until just before an operation, or to the end."""

    def listen(number: int, name: str, path: str) -> None:
        if number == at:
            raise PowerLoss

    disk.on_operation = listen
    try:
        process.run()
    except PowerLoss:
        disk.kill()
    disk.on_operation = None


def recovered(seed: int, policy: FsyncPolicy, disk: Disk) -> object:
    """What the next process goes on from; it dies as soon as it knows."""
    process = CrashedProcess(draw_case(seed, policy), disk)

    def die(end: int) -> None:
        raise PowerLoss

    with pytest.raises(PowerLoss):
        process.run(on_opened=die)
    disk.kill()
    return process.resume_point
