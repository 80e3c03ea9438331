"""Stories for the tests that crash them."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from inorder.journal.writer import FSYNC_POLICIES, FsyncPolicy
from inorder.sim.crash.runs import Trial
from inorder.sim.crash.story import draw_story
from inorder.sim.disk.disk import Disk
from inorder.sim.referee import PromiseBroken

SEEDS = range(1, 8)
BY_POLICY = pytest.mark.parametrize("policy", FSYNC_POLICIES)


@contextmanager
def trial_of(seed: int, policy: FsyncPolicy, disk: Disk | None = None) -> Iterator[Trial]:
    """A story to be tried. A promise that it breaks is told with its seed."""
    trial = Trial(draw_story(seed, policy), disk)
    try:
        yield trial
    except PromiseBroken as broken_promise:
        pytest.fail(f"draw_story({seed}, {policy!r}): {broken_promise}")
