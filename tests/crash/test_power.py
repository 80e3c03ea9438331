"""The power is lost at every durable operation of a complete run, and every state is recovered."""

from collections import Counter

import pytest

from inorder.journal.writer import FSYNC_POLICIES, FsyncPolicy
from inorder.runtime.recovery import read_journal
from inorder.sim.crash.case import JOURNAL, MANIFEST, draw_case, new_disk, predict_files
from inorder.sim.crash.process import CrashedProcess
from inorder.sim.crash.runs import Handover, Trial
from tests.crash.cases import BY_POLICY, SEEDS, trial_of

STATES = 13
LOSSES_MIN = {1: 800, 2: 800, 3: 900, 4: 600, 5: 900, 6: 500, 7: 550}
"""For each case, by seed: 5,000 for each policy, 20,000 in all."""
AGAIN = 0.05


@pytest.mark.req("COM-2", "JRN-3", "JRN-7")
@pytest.mark.parametrize("seed", SEEDS)
@BY_POLICY
def test_power_lost_at_any_moment_leaves_a_run_that_goes_on_to_the_same_bytes(policy: FsyncPolicy, seed: int) -> None:
    with trial_of(seed, policy) as trial:
        trial.try_every_power_loss(STATES, again=AGAIN)
        assert trial.recovered > trial.losses // 4, "mostly the same disk was found again and again"
        assert trial.losses >= LOSSES_MIN[seed]


@BY_POLICY
def test_one_misfortune_after_the_other_changes_nothing(policy: FsyncPolicy) -> None:
    for seed in range(100, 112):
        with trial_of(seed, policy) as trial:
            for number in range(10):
                trial.try_random_crashes(number)
            assert min(trial.losses, trial.deaths + trial.failures) > 0


@pytest.mark.req("CAN-1")
@pytest.mark.parametrize("policy", ["always", "batch", "interval"])
def test_a_cancelled_run_that_has_returned_loses_nothing_with_the_power(policy: FsyncPolicy) -> None:
    cancelled = 0
    for seed in range(60):
        case = draw_case(seed, policy)
        disk = new_disk()
        process = CrashedProcess(case, disk)
        process.run(may_cancel=True)
        if process.summary is None or process.summary.stop_kind != "cancelled":
            continue
        cancelled += 1
        assert process.summary.stopped_at == process.acknowledged
        assert not read_journal(disk, JOURNAL)[1].is_end
        with trial_of(seed, policy) as trial:
            for found in disk.states(6, seed):
                left = Handover(found, kept=process.acknowledged, has_lost_power=True)
                assert trial.recover(left) == process.acknowledged
    assert cancelled >= 5


def test_a_run_that_begins_anew_over_the_rows_of_another_leaves_none_of_them() -> None:
    disk = new_disk()
    file = disk.open(MANIFEST)
    file.append(b'{"row":"of another run"}\n' * 40)
    with trial_of(4, "batch", disk) as trial:
        trial.try_every_power_loss(STATES)


def test_what_should_happen_in_these_stories_sometimes_does() -> None:
    seen: Counter[str] = Counter()
    for policy in FSYNC_POLICIES:
        for seed in SEEDS:
            case = draw_case(seed, policy)
            disk, log = new_disk(), []
            disk.on_operation = lambda number, name, path, log=log: log.append(f"{name} {path}")
            process = CrashedProcess(case, disk)
            process.run(may_cancel=True)
            assert process.summary is not None
            wanted = predict_files(case)
            seen[f"{policy}: compacted"] += log.count(f"rename {JOURNAL}") > 1
            seen[f"{policy}: a checkpoint on the way"] += process.checkpoints > 1
            seen[f"{policy}: stopped: {process.summary.stop_kind}"] += 1
            seen[f"{policy}: failed"] += wanted.summary.failed > 0
            seen[f"{policy}: skipped"] += wanted.summary.skipped > 0
            seen[f"{policy}: retried"] += wanted.summary.retries > 0
            seen[f"{policy}: out of order"] += process.given != sorted(process.given)
            seen[f"{policy}: {case.scenario.workers} workers"] += 1
    wanted_marks = ("compacted", "a checkpoint on the way", "failed", "skipped", "retried", "out of order")
    endings = ("stopped: None", "stopped: cancelled", "stopped: error budget")
    for policy in FSYNC_POLICIES:
        for mark in (*wanted_marks, *endings, "1 workers", "3 workers", "4 workers"):
            assert seen[f"{policy}: {mark}"], mark


def test_the_same_disk_is_healed_in_the_same_way() -> None:
    """Which is why a disk that is found a second time is not healed again."""
    for policy in FSYNC_POLICIES:
        case = draw_case(3, policy)
        ends = []
        for _ in range(2):
            disk = new_disk()
            Trial(case).recover(Handover(disk))
            ends.append((disk.fingerprint(), disk.operations))
        assert ends[0] == ends[1]
