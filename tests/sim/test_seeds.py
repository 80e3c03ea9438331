"""Thousands of simulations, each with its own faults."""

import pytest

from inorder.sim.coverage import ALL, find_marks
from inorder.sim.world import run_seed

SEEDS = 5_000
CHUNK = 500


@pytest.mark.slow
@pytest.mark.req("CMP-1", "CMP-2", "COM-1", "COM-2", "INV-3", "LED-4", "LED-6", "LED-7", "RTY-2", "WIN-4", "WIN-5")
@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_every_seed_keeps_every_promise(first: int) -> None:
    for seed in range(first, first + CHUNK):
        report = run_seed(seed)
        assert report.broken_promise is None, f"{report.broken_promise}; replay with: python -m inorder.sim run {seed}"


@pytest.mark.slow
def test_everything_that_should_happen_sometimes_does() -> None:
    missing = set(ALL)
    for seed in range(SEEDS // 2):
        missing -= set(find_marks(run_seed(seed)))
        if not missing:
            return
    assert missing == set()


@pytest.mark.slow
def test_no_mark_is_hit_that_is_not_on_the_list() -> None:
    hit = set().union(*(find_marks(run_seed(seed)) for seed in range(300)))
    assert hit <= set(ALL)
