"""Every interleaving of a small scope."""

import subprocess
import sys
from pathlib import Path

import pytest

from inorder.sim.explore import Chooser, Finding, PossibleEvent, Scope, explore


def _explored(scope: Scope) -> int:
    count = 0
    for finding in explore(scope):
        count += 1
        assert finding is None, _told(finding)
    return count


def _told(finding: Finding) -> str:
    return "\n".join([finding.broken_promise, *finding.choices, *finding.transcript])


@pytest.mark.process
@pytest.mark.timeout(600)
@pytest.mark.req("LED-4", "LED-6", "COM-2", "CAN-1", "RTY-2")
def test_four_items_two_workers_two_faults(tmp_path: Path) -> None:
    # In a process of its own, where nothing measures coverage: 28,000 runs of the kernel.
    command = [sys.executable, "-m", "inorder.sim", "explore", "--faults", "2", "--batch-limit", "1"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert int(done.stdout.split()[0]) > 20_000


def test_batches_of_two_with_one_fault() -> None:
    assert _explored(Scope(items=4, workers=2, faults=1, batch_limit=2)) > 500


@pytest.mark.slow
@pytest.mark.req("CAN-3")
def test_an_error_budget_of_none_at_all() -> None:
    assert _explored(Scope(items=3, workers=2, faults=2, batch_limit=2, error_budget=0)) > 1_000


def test_without_faults_every_order_of_completion_is_tried() -> None:
    assert _explored(Scope(items=3, workers=3, faults=0, batch_limit=1)) == 6


def test_the_chooser_makes_every_choice_once() -> None:
    made = []
    prefix: list[int] | None = []
    while prefix is not None:
        chooser = Chooser(prefix)
        first = chooser.choose([PossibleEvent(name, False, list) for name in "ab"])
        second = chooser.choose([PossibleEvent(name, False, list) for name in ("xyz" if first.name == "a" else "u")])
        made.append(first.name + second.name)
        prefix = chooser.next_prefix()
    assert made == ["ax", "ay", "az", "bu"]
