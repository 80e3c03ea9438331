"""Crash cases that several tests share."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from inorder.journal.writer import FSYNC_POLICIES, FsyncPolicy
from inorder.sim.crash.case import draw_case
from inorder.sim.crash.runs import Trial
from inorder.sim.disk.disk import Disk
from inorder.sim.referee import PromiseBroken

SEEDS = range(1, 8)
BY_POLICY = pytest.mark.parametrize("policy", FSYNC_POLICIES)


@contextmanager
def trial_of(seed: int, policy: FsyncPolicy, disk: Disk | None = None) -> Iterator[Trial]:
    """A trial of one case. A broken promise fails the test, with the seed."""
    trial = Trial(draw_case(seed, policy), disk)
    try:
        yield trial
    except PromiseBroken as broken_promise:
        pytest.fail(f"draw_case({seed}, {policy!r}): {broken_promise}")
