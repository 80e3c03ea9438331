"""The same seed gives the same transcript."""

import os
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from inorder.sim.crash.case import draw_case
from inorder.sim.scenario import Scenario, draw_scenario
from inorder.sim.world import run_seed

_TELL = """
from inorder.sim.world import run_seed
from hashlib import sha256
digest = sha256()
for seed in range(60):
    digest.update("\\n".join(run_seed(seed, keep_log=True).transcript()).encode())
print(digest.hexdigest())
"""


def _told_with(hash_seed: str, place: Path) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run(
        [sys.executable, "-c", _TELL], env=environment, cwd=place, capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.mark.process
def test_the_same_seed_gives_the_same_transcript_under_any_hash_seed(tmp_path: Path) -> None:
    told = {_told_with(hash_seed, tmp_path) for hash_seed in ("0", "1", "4242")}
    assert len(told) == 1


def test_different_seeds_give_different_transcripts() -> None:
    assert run_seed(1, keep_log=True).transcript() != run_seed(2, keep_log=True).transcript()


@pytest.mark.parametrize("seed", [7, 77, 777])
def test_keeping_the_log_changes_nothing(seed: int) -> None:
    assert run_seed(seed).summary == run_seed(seed, keep_log=True).summary


def _sum_of_items(scenario: Scenario) -> float:
    return sum(item.cost + item.failures + item.result_bytes for item in scenario.items)


def test_a_seed_draws_the_worlds_that_it_always_drew() -> None:
    """Tests expect certain things of certain seeds. What is drawn in addition, as hand-overs are, has a `Random` of its
    own."""
    scenarios = [draw_scenario(seed) for seed in range(100)]
    cases = [draw_case(seed) for seed in range(100)]
    drawn = [(_sum_of_items(each), each.workers, each.memory_samples) for each in scenarios]
    assert zlib.crc32(repr(drawn).encode()) == 2798784233
    crashed = [(_sum_of_items(each.scenario), each.scenario.workers, each.sync_each_max) for each in cases]
    assert zlib.crc32(repr(crashed).encode()) == 2592800190
